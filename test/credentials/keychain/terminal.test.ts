// Tests `mic-mcp login` on a real terminal as a user sees it: it prompts for everything and never shows the secret.
import { expect } from "vitest";
import { basicHeader } from "../../../src/credentials/oauth.ts";
import { keychainMissing } from "../../support/secret-service.ts";
import { stubForTest } from "../../support/stub.ts";
import { CTRL_C, CTRL_D, CTRL_U, ENTER, runOnTerminal, terminalsMissing } from "../../support/terminal.ts";
import { describeUnless } from "../../support/unless.ts";
import { client, nothing, readSettings, refusedClient, storeLogin, test } from "./session.ts";

describeUnless(terminalsMissing ?? keychainMissing, "login on a terminal", () => {
  test("login on a terminal asks for each setting, and shows no secret", async ({ session, stub }) => {
    const terminal = runOnTerminal(session.env, ["login"]);
    await terminal.answer("Base URL", stub.baseUrl + ENTER);
    await terminal.answer("Client id", `mistyped${CTRL_U}${client.clientId}${ENTER}`);
    await terminal.answer("Client secret", client.clientSecret + ENTER);
    await terminal.answer("workspace", `micws_1${ENTER}`);
    expect(await terminal.exit).toBe(0);
    expect(terminal.screen()).toContain("Logged in");
    expect(terminal.screen()).toContain(client.clientId);
    expect(terminal.screen()).not.toContain(client.clientSecret);
    expect(stub.tokenRequests[0]?.headers.authorization).toBe(basicHeader(client));
    expect(await readSettings(session)).toMatchObject({ workspaceId: { value: "micws_1", from: "keychain" } });
  });

  test("login on a terminal accepts pasted values, and shows no secret", async ({ session, stub }) => {
    const terminal = runOnTerminal(session.env, ["login"]);
    const paste = [stub.baseUrl, client.clientId, client.clientSecret, "micws_1", ""].join(ENTER);
    await terminal.answer("Base URL", paste);
    expect(await terminal.exit).toBe(0);
    expect(terminal.screen()).not.toContain(client.clientSecret);
    expect(await readSettings(session)).toMatchObject({ clientId: { value: client.clientId, from: "keychain" } });
  });

  test("login on a terminal asks only for the settings that the flags omit", async ({ session, stub }) => {
    const flags = ["--base-url", stub.baseUrl, "--client-id", client.clientId, "--workspace-id", "micws_1"];
    // With --secret-stdin on a terminal, the user is asked for the secret, which is not shown.
    const terminal = runOnTerminal(session.env, ["login", ...flags, "--secret-stdin"]);
    await terminal.answer("Client secret", client.clientSecret + ENTER);
    expect(await terminal.exit).toBe(0);
    expect(terminal.screen()).not.toMatch(/Base URL|Client id|Default workspace/);
    expect(terminal.screen()).not.toContain(client.clientSecret);
  });

  test.for([
    ["Ctrl-C", CTRL_C],
    ["Ctrl-D", CTRL_D],
  ] as const)("login on a terminal stores nothing if the user leaves with %s", async ([_, keys], { session }) => {
    const terminal = runOnTerminal(session.env, ["login"]);
    await terminal.answer("Base URL", `https://service.example${ENTER}`);
    await terminal.answer("Client id", client.clientId + ENTER);
    await terminal.answer("Client secret", keys);
    expect(await terminal.exit).toBe(1);
    expect(terminal.screen()).toContain("Nothing was stored");
    expect(terminal.screen()).not.toMatch(/Warning|\n\s+at /);
    expect(await readSettings(session)).toMatchObject(nothing);
  });

  test("login on a terminal asks again for invalid values", async ({ session, stub }) => {
    stub.respondToToken(() => refusedClient);
    const refused = runOnTerminal(session.env, ["login"]);
    await refused.answer("Base URL", `service.example${ENTER}`);
    await refused.shows("base URL must be");
    await refused.answer("base URL must be", stub.baseUrl + ENTER);
    await refused.answer("Client id", ENTER);
    await refused.answer("client id must be", client.clientId + ENTER);
    await refused.answer("Client secret", client.clientSecret + ENTER);
    await refused.answer("workspace", `not a workspace${ENTER}`);
    await refused.answer("workspace id must be", ENTER);
    expect(await refused.exit).toBe(1);
    expect(refused.screen()).toContain("invalid_client");
    expect(refused.screen()).not.toContain(client.clientSecret);
    expect(await readSettings(session)).toMatchObject(nothing);
  });

  test("login on a terminal does not ask again after a paste, because this would show the pasted secret", async ({
    session,
  }) => {
    const terminal = runOnTerminal(session.env, ["login"]);
    await terminal.answer("Base URL", ["service.example", client.clientId, client.clientSecret].join(ENTER));
    expect(await terminal.exit).toBe(2);
    expect(terminal.screen()).toContain("base URL must be");
    expect(terminal.screen()).not.toContain(client.clientSecret);
    expect(await readSettings(session)).toMatchObject(nothing);
  });

  test("login on a terminal offers the stored values, but none of them for another API", async ({ session }) => {
    const [stub, other] = [await stubForTest(), await stubForTest()];
    await storeLogin(session, { baseUrl: stub.baseUrl, workspaceId: "micws_1" });
    const kept = runOnTerminal(session.env, ["login"]);
    await kept.answer(`[${stub.baseUrl}]`, ENTER);
    await kept.answer(`[${client.clientId}]`, ENTER);
    await kept.answer("keep the stored secret", ENTER);
    await kept.answer("[micws_1]", ENTER);
    expect(await kept.exit).toBe(0);
    expect(stub.tokenRequests.at(-1)?.headers.authorization).toBe(basicHeader(client));
    expect(await readSettings(session)).toMatchObject({ workspaceId: { value: "micws_1" } });

    const none = runOnTerminal(session.env, ["login", "--client-id", client.clientId]);
    await none.answer("Base URL", ENTER);
    await none.answer("keep the stored secret", ENTER);
    await none.answer("[micws_1]", `-${ENTER}`);
    expect(await none.exit).toBe(0);
    expect(await readSettings(session)).toMatchObject({ workspaceId: { from: "not set" } });

    const elsewhere = runOnTerminal(session.env, ["login"]);
    await elsewhere.answer("Base URL", other.baseUrl + ENTER);
    await elsewhere.answer("Client id: ", client.clientId + ENTER);
    await elsewhere.answer("Client secret (not shown): ", CTRL_C);
    expect(await elsewhere.exit).toBe(1);
    expect(other.tokenRequests).toEqual([]);
  });
});
