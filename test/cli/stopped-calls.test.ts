// Tests calls of `mic-mcp call` that are stopped by Ctrl-C or --timeout, at each request and in each tool that waits after its action: the output
// states what the journal and the API have, never another effect.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { runCount } from "../support/thorough.ts";
import { Actions, ANSWERS, argumentsOf, namesOf, TOOLS } from "./interrupted-calls.ts";
import { userForTest } from "./test-user.ts";

/** Replaces the timer of --timeout by one that the test ends. */
function stopByTimeout(): { readonly flags: readonly string[]; readonly stop: () => void } {
  const timeout = new AbortController();
  vi.spyOn(AbortSignal, "timeout").mockReturnValueOnce(timeout.signal);
  return {
    flags: ["--timeout", "600"],
    stop: () => timeout.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")),
  };
}

const stopBySignal = (signal: NodeJS.Signals) => () => {
  const others = process.listeners(signal);
  return {
    flags: [],
    stop: () => {
      for (const listener of process.listeners(signal)) if (!others.includes(listener)) listener(signal);
    },
  };
};

const WAYS = { SIGINT: stopBySignal("SIGINT"), SIGTERM: stopBySignal("SIGTERM"), "--timeout": stopByTimeout } as const;

/** Counts the requests that begin at servers of this process. The emulator's own list of requests is read over HTTP, which takes much more time. */
let begun = 0;
const countRequest = () => void begun++;
beforeAll(() => subscribe("http.server.request.start", countRequest));
afterAll(() => void unsubscribe("http.server.request.start", countRequest));

const MAX_REQUESTS = 9;
const NO_EFFECT = /Nothing was changed|No job was created|nothing was sent/i;

/** Stops the call at its nth request. Returns false if the call ended before. */
async function stopCallAt(
  nth: number,
  tool: keyof typeof TOOLS,
  answer: keyof typeof ANSWERS,
  way: keyof typeof WAYS,
): Promise<boolean> {
  const { action, operationId, stageMs } = TOOLS[tool];
  const user = await userForTest(stageMs);
  const { service } = user;
  const args = Object.entries((await argumentsOf(tool, user))(40)).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const before = (await service.requests()).length;
  const fault = ANSWERS[answer];
  if (nth > 1) await service.injectFault({ kind: "delay", delayMs: 0 }, { times: nth - 1 });
  if (fault) await service.injectFault(fault);
  const { flags, stop } = WAYS[way]();
  const begunBefore = begun;
  let hasEnded = false;
  const running = user.type("call", tool, ...args, "--yes", ...flags).finally(() => {
    hasEnded = true;
  });
  const isReached = async () => begun - begunBefore >= nth && (await service.requests()).length - before >= nth;
  while (!hasEnded && !(await isReached())) await new Promise((resolve) => setTimeout(resolve, 10));
  if (hasEnded) return false;
  stop();
  const { code, stdout, stderr } = await running;
  const text = `${stdout}${stderr}`;
  await service.admin("DELETE", "faults");

  const { actions } = Actions.parse(JSON.parse((await user.type("actions", "--json")).stdout));
  const made = actions.find((each) => each.tool === action);
  const about = `${tool}, request ${nth} ${answer}, ${way}: exit code ${code}\n${text}\n${JSON.stringify(made)}`;
  expect(text, about).not.toMatch(/internal|mic-mcp itself failed/);
  if (made?.state === "succeeded") {
    expect(text, about).toContain(made.createdId);
    expect(text, about).not.toMatch(NO_EFFECT);
    // The wait may end just before the stop.
    if (code === 0) expect(text, about).toContain("SUCCEEDED");
    else expect(text, about).toMatch(/Stopped.*; .* continue/);
    expect([0, 6], about).toContain(code);
    return true;
  }
  const executions = made ? ((await user.executions(operationId)).get(made.idempotencyKey) ?? 0) : 0;
  if (made?.state === "unknown" || made?.state === "in_progress") {
    // A tool for many rows names the call that resolves all of them.
    expect(text.includes(made.idempotencyKey) || /no job (runs|is retried|is canceled) twice/.test(text), about).toBe(
      true,
    );
    expect(text, about).not.toMatch(NO_EFFECT);
  } else expect(executions, about).toBe(0);
  expect(code, about).not.toBe(0);
  if (code === 1)
    expect(text, about).toMatch(
      way === "--timeout" ? /\((timeout|outcome_unknown)\)/ : /\((cancelled|outcome_unknown)\)/,
    );
  return true;
}

const rows = namesOf(TOOLS).flatMap((tool) => namesOf(ANSWERS).map((answer) => [tool, answer] as const));

test.each(rows)(
  "%s, stopped at any request that is %s, reports the effect of its action",
  async (tool, answer) => {
    const ways = namesOf(WAYS);
    onTestFinished(() => void vi.restoreAllMocks());
    for (let nth = 1; nth <= MAX_REQUESTS; nth++) {
      // Each way at each request only in the thorough run.
      const some = runCount(1, ways.length);
      for (const way of ways.filter((_, index) => (index + nth) % ways.length < some))
        if (!(await stopCallAt(nth, tool, answer, way))) return;
    }
  },
  60_000,
);
