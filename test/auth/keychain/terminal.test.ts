// `mic-mcp login` as a person meets it, on a real terminal (util-linux's script makes one): asked for everything, the secret
// never shown.
import { spawn } from "node:child_process";
import { accessSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { basicHeader } from "../../../src/auth/oauth.ts";
import { entryArguments } from "../../support/mcp.ts";
import { describeWithKeychain, type Session, sessionForTest } from "../../support/secret-service.ts";
import { stubForTest } from "../../support/stub.ts";
import { client, nothing, refusedClient, statusOf } from "./session.ts";

const SCRIPT = "/usr/bin/script";
const hasTerminals = ((): boolean => {
  try {
    accessSync(SCRIPT);
    return true;
  } catch {
    return false;
  }
})();

/** The program on a terminal of its own; `screen` is all that was ever shown on it. */
function onTerminal(session: Session, args: readonly string[]) {
  const command = [process.execPath, ...entryArguments(), ...args].map((word) => `'${word}'`).join(" ");
  const child = spawn(SCRIPT, ["--quiet", "--flush", "--return", "--command", command, "/dev/null"], {
    env: { PATH: process.env["PATH"] ?? "", TERM: "xterm", SHELL: "/bin/sh", ...session.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let screen = "";
  child.stdout.on("data", (chunk: Buffer) => {
    screen += chunk.toString();
  });
  const exit = new Promise<number | null>((resolve) => child.once("close", resolve));
  return {
    screen: () => screen,
    exit,
    /** Waits for a question and answers it. */
    async answer(question: string, keys: string) {
      await expect.poll(() => screen, { timeout: 10_000 }).toContain(question);
      child.stdin.write(keys);
    },
  };
}

const told = hasTerminals ? "login on a terminal" : "login on a terminal (skipped: script missing here)";
const ENTER = "\r";
const CTRL_C = "\u0003";
const CTRL_D = "\u0004";
const CTRL_U = "\u0015";

describeWithKeychain(told, () => {
  test.skipIf(!hasTerminals)("asks for everything and shows all but the secret", async () => {
    const session = await sessionForTest();
    const stub = await stubForTest();
    const terminal = onTerminal(session, ["login"]);
    await terminal.answer("Base URL", stub.baseUrl + ENTER);
    await terminal.answer("Client id", `mistyped${CTRL_U}${client.clientId}${ENTER}`);
    await terminal.answer("Client secret", client.clientSecret + ENTER);
    await terminal.answer("workspace", `micws_1${ENTER}`);
    expect(await terminal.exit).toBe(0);
    expect(terminal.screen()).toContain("Logged in");
    expect(terminal.screen()).toContain(client.clientId);
    expect(terminal.screen()).not.toContain(client.clientSecret);
    expect(stub.tokenRequests[0]?.headers.authorization).toBe(basicHeader(client));
    expect(await statusOf(session)).toMatchObject({ workspaceId: { value: "micws_1", from: "keychain" } });
  });

  test.skipIf(!hasTerminals)("takes everything pasted at once, and does not show the secret then either", async () => {
    const session = await sessionForTest();
    const stub = await stubForTest();
    const terminal = onTerminal(session, ["login"]);
    const paste = [stub.baseUrl, client.clientId, client.clientSecret, "micws_1", ""].join(ENTER);
    await terminal.answer("Base URL", paste);
    expect(await terminal.exit).toBe(0);
    expect(terminal.screen()).not.toContain(client.clientSecret);
    expect(await statusOf(session)).toMatchObject({ clientId: { value: client.clientId, from: "keychain" } });
  });

  test.skipIf(!hasTerminals)("asks only for what the flags leave out", async () => {
    const session = await sessionForTest();
    const stub = await stubForTest();
    const flags = ["--base-url", stub.baseUrl, "--client-id", client.clientId, "--workspace-id", "micws_1"];
    // Who asks for the secret on stdin and has a terminal there is asked for it, unseen.
    const terminal = onTerminal(session, ["login", ...flags, "--secret-stdin"]);
    await terminal.answer("Client secret", client.clientSecret + ENTER);
    expect(await terminal.exit).toBe(0);
    expect(terminal.screen()).not.toMatch(/Base URL|Client id|Default workspace/);
    expect(terminal.screen()).not.toContain(client.clientSecret);
  });

  test.skipIf(!hasTerminals).each([
    ["Ctrl-C", CTRL_C],
    ["Ctrl-D", CTRL_D],
  ])("left half-way with %s stores nothing", async (_, keys) => {
    const session = await sessionForTest();
    const terminal = onTerminal(session, ["login"]);
    await terminal.answer("Base URL", `https://service.example${ENTER}`);
    await terminal.answer("Client id", client.clientId + ENTER);
    await terminal.answer("Client secret", keys);
    expect(await terminal.exit).toBe(1);
    expect(terminal.screen()).toContain("nothing was stored");
    expect(terminal.screen()).not.toMatch(/Warning|\n\s+at /);
    expect(await statusOf(session)).toMatchObject(nothing);
  });

  test.skipIf(!hasTerminals)("says at once what cannot be right, and what the service refuses", async () => {
    const session = await sessionForTest();
    const stub = await stubForTest();
    stub.respondToToken(() => refusedClient);
    const mistyped = onTerminal(session, ["login"]);
    await mistyped.answer("Base URL", `service.example${ENTER}`);
    expect(await mistyped.exit).toBe(2);
    expect(mistyped.screen()).toContain("base URL must be");
    const refused = onTerminal(session, ["login", "--base-url", stub.baseUrl, "--client-id", client.clientId]);
    await refused.answer("Client secret", client.clientSecret + ENTER);
    await refused.answer("workspace", ENTER);
    expect(await refused.exit).toBe(1);
    expect(refused.screen()).toContain("invalid_client");
    expect(await statusOf(session)).toMatchObject(nothing);
  });
});
