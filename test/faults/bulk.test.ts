// Tests the tools for many rows under sequences of failures, in one process with virtual time: each row ends in exactly one group, nothing
// runs twice, the counts equal the API's record, and an agent that follows every next step and stated time makes few calls in an outage.
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { openJournal } from "../../src/actions/journal.ts";
import { CALL_LIMIT_MS, type CallContext } from "../../src/api-client/attempts.ts";
import { createApiClient } from "../../src/api-client/client.ts";
import {
  createTransport,
  type SendLimits,
  TransportError,
  type WireRequest,
  type WireResponse,
} from "../../src/api-client/transport.ts";
import { Failure, toReport } from "../../src/core/failure.ts";
import { TOOL_NAMES, type ToolName } from "../../src/core/tool-names.ts";
import { agentReader, renderResult } from "../../src/toolkit/results.ts";
import type { ToolContext } from "../../src/toolkit/tool-context.ts";
import { tools } from "../../tools/index.ts";
import { createTestActions } from "../actions/samples.ts";
import { createTestTokens } from "../api-client/client.ts";
import { problem } from "../contract/samples.ts";
import { Service } from "../emulator/service.ts";
import { createRetryableJob, FILE, fileId, readJob, submitJob } from "../emulator/work.ts";
import type { OperationId } from "../operations.ts";
import { createManualClock, emulatorForTest, type ManualClock } from "../support/emulator.ts";
import { rowOfEachJob } from "../support/job-rows.ts";
import { runCount } from "../support/thorough.ts";
import { createBatchArguments, createRunArguments } from "../tools/bench.ts";
import { createPorts, createVirtualTiming, letOthersWork, openFastJournal } from "./virtual-server.ts";

const refusal = (status: number, code: string, headers: Readonly<Record<string, string>> = {}): WireResponse => ({
  status,
  headers: { "content-type": "application/problem+json", ...headers },
  body: Buffer.from(JSON.stringify({ ...problem, status, code, fieldErrors: [], retryable: status >= 429 })),
});

/** The effect on one request: "pass", or how it fails. `lost`: the API executes it. */
type Effect = "pass" | "refused" | "unavailable" | "quota" | "unauthorized" | "no connection" | "lost" | "hang";

const RESPONSES: Readonly<Partial<Record<Effect, WireResponse>>> = {
  refused: refusal(403, "NO_RIGHT"),
  unavailable: refusal(503, "DOWN"),
  quota: refusal(429, "QUOTA", { "retry-after": "9000" }),
  unauthorized: refusal(401, "BAD_TOKEN"),
};

type Args = Readonly<Record<string, unknown>>;

const LIMITS = { maxBytes: 1_000_000, timeoutMs: 20_000 };

/** A server with virtual time. `effectOf` decides how each request ends. */
async function serverForTest(clock: ManualClock, effectOf: (request: WireRequest) => Effect) {
  const emulator = await emulatorForTest({ clock });
  const transport = createTransport();
  onTestFinished(() => transport.close());
  const timing = createVirtualTiming(clock);
  async function exchange(
    request: WireRequest,
    limits: Pick<SendLimits, "timeoutMs" | "signal">,
  ): Promise<WireResponse> {
    const effect = effectOf(request);
    const response = RESPONSES[effect];
    if (response) return response;
    if (effect === "no connection") throw new TransportError("connect ECONNREFUSED", { sent: false });
    if (effect === "hang") {
      // Requests in flight hang at the same time.
      const endsAt = clock.now() + Math.ceil(limits.timeoutMs);
      await letOthersWork();
      clock.advance(Math.max(0, endsAt - clock.now()));
      throw new TransportError("no complete answer", { sent: true, timedOut: true });
    }
    const passed = await transport.exchange(request, { ...LIMITS, signal: limits.signal });
    if (effect === "lost") throw new TransportError("read ECONNRESET", { sent: true });
    return passed;
  }
  const wire = { ...transport, exchange };
  const api = createApiClient({ ...createTestTokens(emulator, wire, timing), transport: wire, timing });
  const journal = await openJournal(await openFastJournal(), { owner: "one", now: clock.now });
  const serviceName = JSON.stringify(["https://service.example", "client-1"]);
  const actions = createTestActions(journal, serviceName, { timing, monotonicMs: clock.now });
  const shared = createPorts(api, actions, timing);

  const contextOf = (tool: ToolName, limits: CallContext): ToolContext => ({
    ...shared,
    ...limits,
    tool,
    isOffered: () => true,
    callActionTool: async (name, args, own) => await toolOf(name).run(args, contextOf(toolOf(name).name, own)),
    report: () => undefined,
  });

  async function run(name: ToolName, args: Args) {
    const limits = { signal: new AbortController().signal, deadlineAt: clock.now() + CALL_LIMIT_MS };
    try {
      const result = await toolOf(name).run({ ...args }, contextOf(name, limits));
      const { structured } = renderResult(result, agentReader({ isOffered: () => true }));
      return { ...Result.parse(structured), structured, failure: undefined };
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const failure = toReport(error.facts);
      const { message, next } = failure;
      return { ...Result.parse({ summary: `${message} ${next}` }), structured: {}, failure };
    }
  }
  return {
    emulator,
    run,
    /** A new client, since a token expires in virtual time. */
    get service() {
      return new Service(emulator, clock);
    },
  };
}
type Server = Awaited<ReturnType<typeof serverForTest>>;

function toolOf(name: string) {
  const found = tools.find((tool) => tool.name === name);
  if (!found) throw new Error(`there is no tool ${name}`);
  return found;
}

const Result = z.looseObject({
  summary: z.string(),
  nextStep: z.object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) }).optional(),
});

const isToken = ({ path }: WireRequest): boolean => path.includes("/oauth/token");
const isSubmission = ({ method, path }: WireRequest): boolean => method === "POST" && path.endsWith("/jobs");

async function batchFor(server: Server, key: string) {
  const args = await createBatchArguments(server.service, [0, 1, 2, 3, 4]);
  return { ...args, idempotencyKey: key, waitSeconds: 45 };
}

const MINUTE_MS = 60_000;

const isJobRead = ({ method, path }: WireRequest): boolean => method === "GET" && /\/jobs\/[^/]+$/.test(path);
const isRetry = ({ path }: WireRequest): boolean => path.endsWith("/retries");
const isCancellation = ({ method, path }: WireRequest): boolean => method === "POST" && path.endsWith("/cancellations");
const isRegistration = ({ method, path }: WireRequest): boolean => method === "POST" && path.endsWith("/inputs");

/** A row of a result. */
interface Group {
  readonly row: string;
  /** The id of what the API made for it. */
  readonly made?: string | undefined;
  readonly isUnknown?: boolean;
}

/** A tool for many rows that makes something for each. */
interface Subject {
  readonly tool: ToolName;
  /** The operation that makes it. */
  readonly operation: OperationId;
  isAffected(request: WireRequest): boolean;
  /** Prepares a call with its rows. `fail`: sets the effect on all affected requests, or none. */
  prepare(
    server: Server,
    name: string,
    fail: (effect: Effect | undefined) => void,
  ): Promise<{ args: Args; rows: readonly string[] }>;
  groupsOf(structured: unknown): readonly Group[];
  /** Returns the number of rows for which something was made, if the summary states it. */
  countMade(summary: string): number | undefined;
  /** True if a later call does not list what an earlier one has made. */
  readonly listsOnce?: boolean;
  /** True if any row may have run before the first call. */
  readonly startsUnknown?: boolean;
}

const RunResult = z.object({
  results: z.array(z.looseObject({ file: z.string(), state: z.string(), jobId: z.string().optional() })),
  notSent: z.object({ count: z.number(), files: z.array(z.string()) }).default({ count: 0, files: [] }),
});
const RetryResult = z.object({
  results: z.preprocess(
    rowOfEachJob,
    z.array(z.looseObject({ jobId: z.string(), outcome: z.string(), newJobId: z.string().optional() })),
  ),
  notSent: z.object({ count: z.number(), jobIds: z.array(z.string()) }).default({ count: 0, jobIds: [] }),
});
const CancelResult = z.object({
  results: z.preprocess(rowOfEachJob, z.array(z.looseObject({ jobId: z.string(), outcome: z.string() }))),
  notSent: z.object({ jobIds: z.array(z.string()) }).default({ jobIds: [] }),
});
const ResolveResult = z.object({
  results: z.array(
    z.looseObject({ idempotencyKey: z.string(), outcome: z.string(), createdId: z.string().optional() }),
  ),
});

const numberIn =
  (pattern: RegExp) =>
  (summary: string): number | undefined => {
    const [, count] = pattern.exec(summary) ?? [];
    return count === undefined ? undefined : Number(count);
  };

/** "5 files: 3 NOT_SENT, 1 PREPARING, 1 UNKNOWN." */
function countRunFiles(summary: string): number | undefined {
  const files = numberIn(/(\d+) files?: /)(summary);
  const others = [...summary.matchAll(/(\d+) (?:NOT_SENT|NOT_RUN|UNKNOWN)\b/g)].map(([, count]) => Number(count));
  return files === undefined ? undefined : others.reduce((left, count) => left - count, files);
}

/** "5 jobs: 3 CANCELLED, 1 not sent, 1 unknown (DOWN)." */
function countCanceled(summary: string): number | undefined {
  const jobs = numberIn(/(\d+) jobs: /)(summary);
  const others = [...summary.matchAll(/(\d+) (?:rejected|not sent|unknown)\b/g)].map(([, count]) => Number(count));
  return jobs === undefined ? undefined : others.reduce((left, count) => left - count, jobs);
}

const COUNT = 5;
const numbers = [...Array(COUNT).keys()];

const SUBJECTS: readonly Subject[] = [
  {
    ...{ tool: "run_jobs", operation: "createMicJob", countMade: countRunFiles },
    isAffected: (request) => isSubmission(request) || isJobRead(request),
    async prepare(server, name) {
      const args = await batchFor(server, name);
      return { args, rows: args.files };
    },
    groupsOf(structured) {
      const { results, notSent } = RunResult.parse(structured);
      expect(notSent.count).toBe(notSent.files.length);
      const shown = results.map(({ file, state, jobId }) => ({
        row: file,
        made: jobId,
        isUnknown: state === "UNKNOWN",
      }));
      return [...shown, ...notSent.files.map((row) => ({ row }))];
    },
  },
  {
    ...{ tool: "retry_jobs", operation: "retryMicJob", countMade: numberIn(/Retried (\d+) of/) },
    isAffected: (request) => isRetry(request) || isJobRead(request),
    async prepare(server, name) {
      const jobs = await Promise.all(numbers.map(() => createRetryableJob(server.service)));
      const jobIds = jobs.map(({ id }) => id);
      const how = { retryMode: "SAFE_RESUME", reason: "Once more", idempotencyKey: name, waitSeconds: 45 };
      return { args: { jobIds, ...how }, rows: jobIds };
    },
    groupsOf(structured) {
      const { results, notSent } = RetryResult.parse(structured);
      expect(notSent.count).toBe(notSent.jobIds.length);
      const shown = results.map(({ jobId, outcome, newJobId }) => {
        expect(newJobId !== undefined).toBe(outcome === "retried");
        return { row: jobId, made: newJobId, isUnknown: outcome === "unknown" };
      });
      return [...shown, ...notSent.jobIds.map((row) => ({ row }))];
    },
  },
  {
    ...{ tool: "cancel_jobs", operation: "cancelMicJob", countMade: countCanceled },
    isAffected: (request) => isCancellation(request) || isJobRead(request),
    async prepare({ service }, name) {
      const jobs = await Promise.all(numbers.map(() => submitJob(service, FILE.pauses)));
      // A paused job keeps its version.
      service.clock.advance(MINUTE_MS);
      const jobIds = jobs.map(({ id }) => id);
      return { args: { jobIds, reason: "No longer needed", idempotencyKey: name, waitSeconds: 45 }, rows: jobIds };
    },
    groupsOf(structured) {
      const { results, notSent } = CancelResult.parse(structured);
      const shown = results.map(({ jobId, outcome }) => ({
        row: jobId,
        made: ["canceled", "requested"].includes(outcome) ? jobId : undefined,
        isUnknown: outcome === "unknown",
      }));
      return [...shown, ...notSent.jobIds.map((row) => ({ row }))];
    },
  },
  {
    ...{
      tool: "resolve_actions",
      operation: "createMicPublicInput",
      countMade: numberIn(/^(?:Stopped.* )?(\d+) of \d+ actions? resolved/),
    },
    ...{ listsOnce: true, startsUnknown: true },
    isAffected: isRegistration,
    async prepare(server, name, fail) {
      const { workspaceId } = server.emulator;
      const rows = numbers.map((at) => `${name.replace(" ", "-")}-${at}`);
      for (const [at, idempotencyKey] of rows.entries()) {
        fail(at % 2 === 0 ? "lost" : "unavailable");
        const referenceId = fileId(server.service, at);
        const args = { inputKind: "M4_FILE", referenceId, workspaceId, idempotencyKey };
        expect((await server.run("register_input", args)).failure).toMatchObject({ sideEffect: "unknown" });
      }
      fail(undefined);
      return { args: {}, rows };
    },
    groupsOf: (structured) =>
      ResolveResult.parse(structured).results.map(({ idempotencyKey: row, outcome, createdId }) => {
        expect(["resolved", "still unknown"]).toContain(outcome);
        expect(createdId !== undefined).toBe(outcome === "resolved");
        return { row, made: createdId, isUnknown: outcome !== "resolved" };
      }),
  },
];

/** Calls that have no rows of their own, or make nothing. */
const OTHER_CALLS: readonly (Pick<Subject, "tool" | "prepare"> & { readonly operation?: OperationId })[] = [
  {
    ...{ tool: "run_job", operation: "createMicJob" },
    async prepare({ service }, name) {
      const args = await createRunArguments(service, FILE.succeeds);
      return { args: { ...args, idempotencyKey: name, waitSeconds: 45 }, rows: [name] };
    },
  },
  {
    tool: "get_job",
    async prepare({ service }) {
      const { id: jobId } = await submitJob(service, FILE.succeeds);
      return { args: { jobId, waitSeconds: 45 }, rows: [jobId] };
    },
  },
  {
    tool: "wait_for_jobs",
    async prepare({ service }) {
      const jobs = await Promise.all(numbers.map(() => submitJob(service, FILE.succeeds)));
      const jobIds = jobs.map(({ id }) => id);
      return { args: { jobIds, waitSeconds: 45 }, rows: jobIds };
    },
  },
];

type Call = z.infer<typeof Call>;
const Call = z.object({ tool: z.enum(TOOL_NAMES), arguments: z.record(z.string(), z.unknown()) });

/** Returns what a result says about the next call: the time to wait, in milliseconds, and the call, if it names one. */
function parseAdvice({ summary, nextStep }: z.infer<typeof Result>): { waitMs: number; next: Call | undefined } {
  const [, minutes, seconds] = /\bin (a|\d+) min|Wait (\d+) s/.exec(summary) ?? [];
  const waitMs =
    seconds === undefined ? (minutes === "a" ? 1 : Number(minutes ?? 0)) * MINUTE_MS : Number(seconds) * 1_000;
  const [, tool, args = ""] = /\b([a-z]+_[a-z_]+) (\{.*?\})/.exec(summary) ?? [];
  const named = nextStep ?? (tool === undefined ? undefined : { tool, arguments: JSON.parse(args) });
  return { waitMs, next: named && Call.parse(named) };
}

/** Which requests fail in an outage. Tools without an operation write nothing. */
const SCOPES: Readonly<Record<string, (request: WireRequest) => boolean>> = {
  "all requests": () => true,
  "reads only": ({ method }) => method === "GET",
  "writes only": (request) => request.method === "POST" && !isToken(request),
};

/** The first two differ most: the API executes no request, or all of them. */
const OUTAGES = ["unavailable", "lost", "no connection", "hang"] as const;

for (const { tool, operation, prepare } of [...SUBJECTS, ...OTHER_CALLS])
  for (const [scope, isAffected] of Object.entries(SCOPES).slice(0, runCount(1, operation ? 3 : 2)))
    for (const kind of OUTAGES.slice(0, scope === "all requests" ? runCount(2, 4) : 2))
      test(`an outage (${kind}, ${scope}) costs ${tool} at most 25 calls in 8 h, and 2 in a minute`, async () => {
        for (const [minutes, maxCalls] of [
          [480, 25],
          [1, 2],
        ] as const) {
          const clock = createManualClock();
          let outage: ((request: WireRequest) => Effect) | undefined;
          const server = await serverForTest(clock, (request) => outage?.(request) ?? "pass");
          const { args, rows } = await prepare(server, "outage-of-hours", (effect) => {
            outage = effect && ((request) => (isRegistration(request) ? effect : "pass"));
          });
          const endsAt = clock.now() + minutes * MINUTE_MS;
          outage = (request) =>
            clock.now() < endsAt && isAffected(request) && !(kind === "lost" && isToken(request)) ? kind : "pass";
          const own: Call = { tool, arguments: args };
          let calls = 0;
          let isDone = false;
          for (let call = own; !isDone && clock.now() < endsAt; calls += 1) {
            const result = await server.run(call.tool, call.arguments);
            const { waitMs, next } = parseAdvice(result);
            clock.advance(waitMs);
            isDone = waitMs === 0 && next === undefined;
            call = next ?? call;
          }
          expect(calls).toBeLessThanOrEqual(maxCalls);
          clock.advance(30 * MINUTE_MS);
          for (let more = 0; more < 3; more += 1) await server.run(tool, args);
          const { summary, failure } = await server.run(tool, args);
          expect(failure).toBeUndefined();
          expect(summary).not.toMatch(
            /NOT_RUN|NOT_READ|UNKNOWN|[1-9]\d* (is|are) still unknown|[1-9]\d* not sent|Stopped/,
          );
          if (operation) expect(await server.service.countEffects(operation)).toBe(rows.length);
        }
      });

const EFFECTS = ["pass", "refused", "unavailable", "quota", "unauthorized", "no connection", "lost", "hang"] as const;
const effect = fc.constantFrom<Effect[]>("pass", ...EFFECTS);
const script = fc.record({
  effects: fc.array(effect, { maxLength: 24 }),
  /** The effect on all later requests of the first two calls: an outage, or a refusal of all rows. */
  later: effect,
  /** The row that always gets a 503 in the first three calls. */
  unavailable: fc.option(fc.nat(COUNT - 1), { nil: undefined }),
});
type Script = typeof script extends fc.Arbitrary<infer T> ? T : never;

const NO_FAILURES: Script = { effects: [], later: "pass", unavailable: undefined };

/** Decides the effect on each request that a script affects. */
function createDirector() {
  let [current, effects, rows, call] = [NO_FAILURES, [...NO_FAILURES.effects], [""], 0];
  let always: Effect | undefined;
  return {
    start(next: Script): void {
      [current, effects, rows, call] = [next, [...next.effects], [], 0];
    },
    fail(next: Effect | undefined): void {
      always = next;
    },
    beginCall(): number {
      call += 1;
      return call;
    },
    effectOf({ headers, path }: WireRequest): Effect {
      if (always !== undefined) return always;
      const row = headers["idempotency-key"] ?? path;
      if (!rows.includes(row)) rows.push(row);
      if (call <= 3 && rows.indexOf(row) === current.unavailable) return "unavailable";
      return effects.shift() ?? (call <= 2 ? current.later : "pass");
    },
  };
}

/** Each effect on all requests or on the first, and a row that always gets a 503. */
const EXAMPLES: readonly [Script][] = [
  ...EFFECTS.map((later): [Script] => [{ ...NO_FAILURES, later }]),
  ...EFFECTS.map((first): [Script] => [{ ...NO_FAILURES, effects: [first] }]),
  [{ ...NO_FAILURES, unavailable: 0 }],
];
const OPTIONS = {
  examples: [...EXAMPLES],
  seed: Number(process.env["FAULT_SEED"] ?? 20_261_121),
  numRuns: EXAMPLES.length + Number(process.env["FAULT_RUNS"] ?? 24) / 4,
};
/** The time between two calls. An action stays in the deduplication window for all calls of a run. */
const PAUSE_MS = 10 * MINUTE_MS;
const MAX_CALLS = 60;

for (const {
  tool,
  operation,
  isAffected,
  prepare,
  groupsOf,
  countMade,
  listsOnce = false,
  startsUnknown = false,
} of SUBJECTS)
  test(`${tool} puts each row in one group, counts as the API does, and runs nothing twice, for any sequence of failures`, async () => {
    const director = createDirector();
    const clock = createManualClock();
    const server = await serverForTest(clock, (request) => (isAffected(request) ? director.effectOf(request) : "pass"));
    const executions = () => server.service.countEffects(operation);
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(script, async (each) => {
        runs += 1;
        director.start(NO_FAILURES);
        const ranBefore = startsUnknown ? await executions() : Number.NaN;
        const { args, rows } = await prepare(server, `property ${runs}`, director.fail);
        const before = startsUnknown ? ranBefore : await executions();
        director.start(each);
        const made = new Map<string, string>();
        const maybe = new Set(startsUnknown ? rows : []);
        for (;;) {
          const calls = director.beginCall();
          const alreadyMade = new Set(made.keys());
          const executedBefore = await executions();
          const { summary, structured, failure, nextStep } = await server.run(tool, args);
          const executed = (await executions()) - before;
          if (failure) {
            expect(failure.sideEffect, summary).toBe("none");
            expect(executed + before, summary).toBe(executedBefore);
          } else {
            const groups = groupsOf(structured);
            const expected = listsOnce ? rows.filter((row) => !alreadyMade.has(row)) : rows;
            expect(groups.map(({ row }) => row).sort(), summary).toEqual([...expected].sort());
            for (const { row, made: id, isUnknown } of groups) {
              if (id !== undefined) expect(made.get(row) ?? id).toBe(id);
              if (id !== undefined) made.set(row, id);
              if (isUnknown) maybe.add(row);
            }
            const stated = countMade(summary);
            const shown = groups.filter(({ made: id }) => id !== undefined).length;
            if (stated !== undefined) expect(stated, summary).toBe(shown);
          }
          // Something was made for each row that was reported so, and for no other, except those reported as unknown.
          expect(made.size, summary).toBeLessThanOrEqual(executed);
          expect(executed, summary).toBeLessThanOrEqual(new Set([...made.keys(), ...maybe]).size);
          const isFinished = nextStep?.tool !== tool && !/Call again/.test(summary) && failure === undefined;
          if (made.size === rows.length && isFinished) break;
          expect(calls, summary).toBeLessThan(MAX_CALLS);
          clock.advance(PAUSE_MS);
        }
        expect(await executions()).toBe(before + rows.length);
        expect(new Set(made.values()).size).toBe(rows.length);
      }),
      OPTIONS,
    );
  });

const WaitResult = z.object({
  jobs: z.array(
    z.looseObject({
      id: z.string(),
      state: z.string().optional(),
      error: z.string().optional(),
      retriedBy: z.string().optional(),
    }),
  ),
});
const ENDED = ["SUCCEEDED", "FAILED", "CANCELLED"];

test("wait_for_jobs: each job is in one row with the state of its latest retry, for any sequence of failures", async () => {
  const director = createDirector();
  const clock = createManualClock();
  const server = await serverForTest(clock, (request) => (isJobRead(request) ? director.effectOf(request) : "pass"));
  await fc.assert(
    fc.asyncProperty(script, async (each) => {
      director.start(NO_FAILURES);
      const { service } = server;
      const files = [FILE.succeeds, FILE.failsForGood, FILE.pauses];
      const jobs = await Promise.all([createRetryableJob(service), ...files.map((file) => submitJob(service, file))]);
      const jobIds = jobs.map(({ id }) => id);
      const retry = { jobIds: jobIds.slice(0, 1), retryMode: "SAFE_RESUME", reason: "Once more", waitSeconds: 0 };
      const { results } = RetryResult.parse((await server.run("retry_jobs", retry)).structured);
      const latest = new Map(results.map(({ jobId, newJobId = "" }) => [jobId, newJobId]));
      director.start(each);
      for (;;) {
        const calls = director.beginCall();
        const { summary, structured, failure } = await server.run("wait_for_jobs", { jobIds, waitSeconds: 45 });
        if (failure) expect(failure.sideEffect).toBe("none");
        const rows = failure ? [] : WaitResult.parse(structured).jobs;
        if (!failure) expect(rows.map(({ id }) => id)).toEqual(jobIds);
        for (const { id, state, retriedBy } of rows.filter((row) => row.state !== undefined)) {
          expect(retriedBy).toBe(latest.get(id));
          if (ENDED.includes(state ?? "")) expect((await readJob(server.service, retriedBy ?? id)).state).toBe(state);
        }
        if (
          !failure &&
          rows.every(({ state = "", error }) => error === undefined && [...ENDED, "PAUSED"].includes(state))
        ) {
          expect(rows.map(({ state }) => state)).toEqual(["SUCCEEDED", "SUCCEEDED", "FAILED", "PAUSED"]);
          expect(rows[0]?.retriedBy).toBe(latest.get(jobIds[0] ?? ""));
          expect(summary).toContain("2 SUCCEEDED (1 by a retry)");
          break;
        }
        expect(calls, summary).toBeLessThan(MAX_CALLS);
        clock.advance(PAUSE_MS);
      }
    }),
    OPTIONS,
  );
});
