// Tests a caller's rights, which the token's scopes give: a call that needs more is refused and names the scopes.
import { expect, onTestFinished, test } from "vitest";
import { createCallerService } from "../../src/teams/commands/serve.ts";
import { connectLegacyClient, createModernClient, post, resultOf } from "../mcp/http/raw-client.ts";
import { composeForTest } from "../support/compose.ts";
import { deploymentForTest, TEAM } from "./in-process-deployment.ts";

const STEP_UP_RESPONSE = [
  403,
  expect.stringMatching(/^Bearer error="insufficient_scope".*, scope="mic:read mic:act", resource_metadata="/),
];
const challengeIn = ({ status, headers }: { status: number; headers: NodeJS.Dict<string | string[]> }) => [
  status,
  headers["www-authenticate"],
];
const toolCall = (name: string) => ({ jsonrpc: "2.0", method: "tools/call", params: { name, arguments: {} } });

const READ = { scope: "mic:read" };

test("an action without mic:act is 403 with all scopes that it needs, in any revision, in a batch or without an id", async () => {
  const { connectAs, url, bearer, calls } = await deploymentForTest();
  const modern = await connectAs(READ);
  expect(challengeIn(await modern.call(1, "act", {}).answer)).toEqual(STEP_UP_RESPONSE);
  const { headers } = await connectLegacyClient(url, {}, await bearer(READ));
  const act = { ...toolCall("act"), id: 1 };
  for (const body of [act, [{ ...toolCall("look"), id: 2 }, act], toolCall("act")])
    expect(challengeIn(await post(url, body, headers).answer)).toEqual(STEP_UP_RESPONSE);
  expect(calls).toEqual([]);
  await resultOf(modern.call(2, "look", {}), 2);
});

test("a header that names another tool than the body does not change the required scopes", async () => {
  const { url, bearer, calls } = await deploymentForTest();
  const names = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "look" };
  const { status } = await post(url, { ...toolCall("act"), id: 1 }, { ...(await bearer(READ)), ...names }).answer;
  expect(status).toBe(403);
  expect(calls).toEqual([]);
});

test("canceling a task needs mic:act and reading it does not, and all tools are listed so that a client can step up", async () => {
  const modern = await (await deploymentForTest()).connectAs(READ);
  expect((await modern.request(1, "tasks/cancel", { taskId: "x" }).answer).status).toBe(403);
  expect((await modern.request(2, "tasks/get", { taskId: "x" }).answer).status).not.toBe(403);
  expect(await resultOf(modern.request(3, "tools/list"), 3)).toMatchObject({
    tools: [{ name: "look" }, { name: "act" }, { name: "wait" }],
  });
});

test("a token without mic:read gets nothing, with or without mic:act", async () => {
  const { connectAs } = await deploymentForTest();
  for (const scope of ["openid", "mic:act", ""])
    expect(challengeIn(await (await connectAs({ scope })).call(1, "look", {}).answer)).toEqual([
      403,
      expect.stringMatching(/scope="mic:read",/),
    ]);
});

test("a team's path accepts tokens for itself and for the deployment, and names itself in its challenge", async () => {
  const { url, provider, resource, calls } = await deploymentForTest();
  const statusFor = async (path: string, audience: string) => {
    const authorization = `Bearer ${await provider.issueToken(audience)}`;
    return (await createModernClient(url + path, {}, { authorization }).call(1, "look", {}).answer).status;
  };
  const own = `${resource}/${TEAM}`;
  expect([
    await statusFor(`/${TEAM}`, own),
    await statusFor(`/${TEAM}`, resource),
    await statusFor("", resource),
  ]).toEqual([200, 200, 200]);
  expect(calls.map(({ team }) => team)).toEqual([TEAM, TEAM, undefined]);
  expect([await statusFor("", own), await statusFor("/blue", own)]).toEqual([401, 401]);
  // The caller is authenticated, but the team does not exist.
  expect(await statusFor("/blue", resource)).toBe(404);
  const { headers } = await createModernClient(own).call(1, "look", {}).answer;
  expect(headers["www-authenticate"]).toContain(`/.well-known/oauth-protected-resource/mcp/${TEAM}"`);
});

test("tools that change nothing at the API need mic:read, and all other tools need mic:act", () => {
  const { runtime, close } = composeForTest({});
  onTestFinished(close);
  const { rightFor } = createCallerService(runtime);
  const wrong = runtime.tools.filter(
    ({ name, effect }) =>
      rightFor({ method: "tools/call", params: { name } }) !== (["read", "save"].includes(effect) ? "read" : "act"),
  );
  expect(runtime.tools.length).toBeGreaterThan(20);
  expect(wrong).toEqual([]);
});
