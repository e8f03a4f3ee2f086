// Tests `mic-mcp geography warm`: it fills the cache that other processes of this machine use, and reports missing lists.
import { expect, test } from "vitest";
import { runInProcess as run } from "../support/command.ts";
import { answer, type Step, stubForTest } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { runOnTerminal, terminalsMissing } from "../support/terminal.ts";
import { testUnless } from "../support/unless.ts";
import { answerGeography } from "./playground.ts";

/** Serves three states; `respond` may replace the answer for a state's districts. */
async function serveStates(respond: (code: string) => Step | undefined = () => undefined) {
  const stub = await stubForTest();
  stub.respond(({ target }) => {
    const code = /state=([A-Z]+)/.exec(target)?.[1];
    return (code && respond(code)) || answerGeography(target);
  });
  const folder = await folderForTest();
  return { stub, env: { MIC_BASE_URL: stub.baseUrl, MIC_STATE_DIR: folder, MIC_KEYCHAIN: "off" } };
}

test("after geography warm, another process answers without a request", async () => {
  const { stub, env } = await serveStates();
  const warmed = await run(["geography", "warm"], { env });
  expect(warmed).toMatchObject({ code: 0, stdout: "3 of 3 lists loaded. Vintage: not stated, complete.\n" });
  expect(stub.requests).toHaveLength(4);
  const { stdout } = await run(["call", "find_district", "name=District KL"], { env });
  expect(stdout).toContain("District KL in State KL (KL): 4 mandals.");
  expect(stub.requests).toHaveLength(4);
});

test("geography warm exits with 1 and names the lists that cannot be read, and the next run reads only these", async () => {
  let isBroken = true;
  const { stub, env } = await serveStates((code) => (isBroken && code === "KL" ? answer(400) : undefined));
  const { code, stdout } = await run(["geography", "warm"], { env });
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringMatching(/^2 of 3 lists loaded\. .*; 1 missing: KL \(HTTP 400\)\.\n$/),
  });
  const { stdout: json } = await run(["geography", "warm", "--json"], { env });
  expect(JSON.parse(json)).toMatchObject({ coverage: { statesTotal: 3, statesRead: 2, complete: false } });
  isBroken = false;
  const { length } = stub.requests;
  expect(await run(["geography", "warm"], { env })).toMatchObject({ code: 0 });
  expect(stub.requests.slice(length).map(({ target }) => target.slice(-8))).toEqual(["state=KL"]);
});

test("the command geography without warm is refused, and the error shows the right command", async () => {
  const { code, stderr } = await run(["geography", "cool"], { env: {} });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("Run mic-mcp geography warm.") });
});

testUnless(terminalsMissing, "a terminal shows a progress bar with the time left while lists are loaded", async () => {
  const asked = new Set<string>();
  const { env } = await serveStates((code) => {
    if (asked.size > 0) return undefined;
    asked.add(code);
    return answer(429, { status: "PLAYGROUND_RATE_LIMITED" }, { "retry-after": "3" });
  });
  const terminal = runOnTerminal({ ...env, HOME: env.MIC_STATE_DIR }, ["geography", "warm"]);
  expect(await terminal.exit).toBe(0);
  expect(terminal.screen()).toMatch(/\[#*-+\] \d of 3 lists loaded; about \d s more/);
  expect(terminal.screen()).toContain("3 of 3 lists loaded.");
});
