// Tests calls of `mic-mcp call` that are stopped by Ctrl-C or --timeout, at each request and in each tool that waits after its action: the output
// states what the journal and the API have, never another effect.
import { expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod/v4";
import { createJobBody, FILE, findOneInputOffer, registerInput } from "../emulator/work.ts";
import { runCount } from "../support/thorough.ts";
import { userForTest } from "./test-user.ts";

type User = Awaited<ReturnType<typeof userForTest>>;

const Actions = z.looseObject({
  actions: z.array(
    z.looseObject({
      tool: z.string(),
      state: z.string(),
      createdId: z.string().optional(),
      idempotencyKey: z.string(),
    }),
  ),
});

async function jobWords(user: User) {
  const body = createJobBody(user.service, await findOneInputOffer(user.service), "");
  const file = user.service.emulator.fileIds[FILE.succeeds];
  const port = body.inputBindings[0]?.port;
  const words = [
    `recipeVersionId=${body.recipeVersionId}`,
    `parameterValues=${JSON.stringify(body.parameterValues)}`,
    "waitSeconds=40",
  ];
  return { words, port, file };
}

/** The command of a tool, its action as the journal names it, and the duration of a stage that it needs. */
const TOOLS = {
  run_job: {
    action: "submit_job",
    stageMs: 60_000,
    async words(user: User) {
      const { words, port, file } = await jobWords(user);
      return [...words, `inputs=${JSON.stringify([{ port, referenceId: file }])}`];
    },
  },
  run_jobs: {
    action: "submit_job",
    stageMs: 60_000,
    async words(user: User) {
      const { words, file } = await jobWords(user);
      return [...words, `files=${file}`];
    },
  },
  retry_job: {
    action: "retry_job",
    stageMs: 20,
    words: async (user: User) => [
      `jobId=${await user.failedJob()}`,
      ...["retryMode=SAFE_RESUME", "reason=again", "waitSeconds=40"],
    ],
  },
  retry_jobs: {
    action: "retry_job",
    stageMs: 20,
    words: async (user: User) => [
      `jobIds=${await user.failedJob()}`,
      ...["retryMode=SAFE_RESUME", "reason=again", "waitSeconds=40"],
    ],
  },
  cancel_job: {
    action: "cancel_job",
    stageMs: 60_000,
    words: async (user: User) => [`jobId=${await user.job(FILE.succeeds)}`, "reason=stop", "waitSeconds=40", "--yes"],
  },
  cancel_jobs: {
    action: "cancel_job",
    stageMs: 60_000,
    words: async (user: User) => [`jobIds=${await user.job(FILE.succeeds)}`, "reason=stop", "waitSeconds=40", "--yes"],
  },
  request_file_processing: {
    action: "request_file_processing",
    stageMs: 60_000,
    async words(user: User) {
      const { id: inputId } = await registerInput(user.service, FILE.succeeds);
      const { recipe } = await findOneInputOffer(user.service);
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
      const hash = `recipeVersionHash=${recipe.versionHash}`;
      return [
        `inputId=${inputId}`,
        `recipeVersionId=${recipe.versionId}`,
        hash,
        "purpose=test",
        `expiresAt=${expiresAt}`,
      ];
    },
  },
} as const;

/** Whether and how the API answers the request at which the call is stopped. */
const ANSWERS = {
  answered: undefined,
  "not answered": { kind: "hang" },
  "executed but not answered": { kind: "hang", afterCommit: true },
} as const;

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

const MAX_REQUESTS = 9;
const NO_EFFECT = /Nothing was changed|No job was created|nothing was sent/i;

const namesOf = <T extends object>(table: T): readonly (keyof T)[] =>
  z.array(z.custom<keyof T>()).parse(Object.keys(table));

/** Stops the call at its nth request. Returns false if the call ended before. */
async function stopCallAt(
  nth: number,
  tool: keyof typeof TOOLS,
  answer: keyof typeof ANSWERS,
  way: keyof typeof WAYS,
): Promise<boolean> {
  const { action, stageMs, words } = TOOLS[tool];
  const user = await userForTest(stageMs);
  const { service } = user;
  const args = await words(user);
  const before = (await service.requests()).length;
  const fault = ANSWERS[answer];
  if (nth > 1) await service.injectFault({ kind: "delay", delayMs: 0 }, { times: nth - 1 });
  if (fault) await service.injectFault(fault);
  const { flags, stop } = WAYS[way]();
  let hasEnded = false;
  const running = user.type("call", tool, ...args, ...flags).finally(() => {
    hasEnded = true;
  });
  const isReached = async () => (await service.requests()).length - before >= nth;
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
  const executions = made ? ((await user.executions(OPERATIONS[action])).get(made.idempotencyKey) ?? 0) : 0;
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

const OPERATIONS = {
  submit_job: "createMicJob",
  retry_job: "retryMicJob",
  cancel_job: "cancelMicJob",
  request_file_processing: "requestMicSharedFileProcessing",
} as const;

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
