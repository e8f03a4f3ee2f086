// What a caller may do, by the scopes of his token: a call that takes more is refused before anything is done, and the client is told
// which scopes to ask for.
import { describe, expect, onTestFinished, test } from "vitest";
import { callerServiceOf } from "../../src/teams/commands/serve.ts";
import { legacySpeaker, modernSpeaker, post, resultOf } from "../mcp/http/raw.ts";
import { composed } from "../support/composed.ts";
import { deploymentForTest, TEAM } from "./bench.ts";

async function reader() {
  const deployment = await deploymentForTest();
  const { provider, resource, url } = deployment;
  const authorization = `Bearer ${await provider.token(resource, { scope: "mic:read" })}`;
  return { ...deployment, authorization, modern: modernSpeaker(url, {}, { authorization }) };
}

const STEP_UP = /^Bearer error="insufficient_scope".*, scope="mic:read mic:act", resource_metadata="/;

describe("with mic:read alone", () => {
  test("an action of 2026-07-28 is 403, with all scopes that it takes", async () => {
    const { modern, calls } = await reader();
    const { status, headers } = await modern.call(1, "act", {}).answer;
    expect([status, headers["www-authenticate"]]).toEqual([403, expect.stringMatching(STEP_UP)]);
    expect(calls).toEqual([]);
    await resultOf(modern.call(2, "look", {}), 2);
  });

  test("an action of an older revision is, too, wherever it stands in a batch; and so is one without an id", async () => {
    const { url, authorization, calls } = await reader();
    const { headers } = await legacySpeaker(url, {}, { authorization });
    const message = (id: number | undefined, name: string) => ({
      jsonrpc: "2.0",
      ...(id !== undefined && { id }),
      method: "tools/call",
      params: { name, arguments: {} },
    });
    for (const body of [message(1, "act"), [message(1, "look"), message(2, "act")], message(undefined, "act")]) {
      const answer = await post(url, body, headers).answer;
      expect([answer.status, answer.headers["www-authenticate"]]).toEqual([403, expect.stringMatching(STEP_UP)]);
    }
    expect(calls).toEqual([]);
  });

  test("a header that names another tool than the body is no way around it", async () => {
    const { url, authorization, calls } = await reader();
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "act", arguments: {} } };
    const headers = {
      authorization,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "look",
    };
    expect((await post(url, message, headers).answer).status).toBe(403);
    expect(calls).toEqual([]);
  });

  test("cancelling a task takes mic:act, and looking at one does not", async () => {
    const { modern } = await reader();
    expect((await modern.request(1, "tasks/cancel", { taskId: "x" }).answer).status).toBe(403);
    expect((await modern.request(2, "tasks/get", { taskId: "x" }).answer).status).not.toBe(403);
  });

  test("all tools are listed: so a client can step up", async () => {
    const { modern } = await reader();
    expect(await resultOf(modern.request(1, "tools/list"), 1)).toMatchObject({
      tools: [{ name: "look" }, { name: "act" }, { name: "wait" }],
    });
  });
});

test("without mic:read nothing is served, mic:act or not", async () => {
  const { url, provider, resource } = await deploymentForTest();
  for (const scope of ["openid", "mic:act", ""]) {
    const authorization = `Bearer ${await provider.token(resource, { scope })}`;
    const { status, headers } = await modernSpeaker(url, {}, { authorization }).call(1, "look", {}).answer;
    expect([status, headers["www-authenticate"]]).toEqual([403, expect.stringMatching(/scope="mic:read",/)]);
  }
});

test("a team's path takes tokens for itself and for the deployment, and names itself in its challenge", async () => {
  const { url, provider, resource, calls } = await deploymentForTest();
  const at = async (path: string, audience: string) => {
    const authorization = `Bearer ${await provider.token(audience)}`;
    return (await modernSpeaker(url + path, {}, { authorization }).call(1, "look", {}).answer).status;
  };
  const own = `${resource}/${TEAM}`;
  expect([await at(`/${TEAM}`, own), await at(`/${TEAM}`, resource), await at("", resource)]).toEqual([200, 200, 200]);
  expect(calls.map(({ team }) => team)).toEqual([TEAM, TEAM, undefined]);
  expect([await at("", own), await at("/blue", own)]).toEqual([401, 401]);
  // It is asked for, and not there.
  expect(await at("/blue", resource)).toBe(404);
  const { headers } = await modernSpeaker(own).call(1, "look", {}).answer;
  expect(headers["www-authenticate"]).toContain(`/.well-known/oauth-protected-resource/mcp/${TEAM}"`);
});

test("of the product's tools, those that change nothing at the service take mic:read, all others mic:act", () => {
  const { runtime, close } = composed({});
  onTestFinished(close);
  const { rightFor } = callerServiceOf(runtime);
  const rights = runtime.tools.map(({ name, effect }) => {
    const right = rightFor({ method: "tools/call", params: { name } });
    return { name, isRight: right === (["read", "save", "export"].includes(effect) ? "read" : "act") };
  });
  expect(rights.length).toBeGreaterThan(20);
  expect(rights.filter(({ isRight }) => !isRight)).toEqual([]);
});
