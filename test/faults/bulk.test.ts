// Tests run_jobs under sequences of failures, in one process with virtual time: each file ends in exactly one group, no job runs twice, the
// counts equal the API's record, and an agent that follows every next step and every stated time makes few calls during an outage.
import { setImmediate as tick } from "node:timers/promises";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { createActionContext, createActions } from "../../src/actions/actions.ts";
import { openJournal } from "../../src/actions/journal.ts";
import { migrateSchema } from "../../src/actions/schema.ts";
import { CALL_LIMIT_MS, type Timing } from "../../src/api-client/attempts.ts";
import { createApiClient } from "../../src/api-client/client.ts";
import { createDownloads } from "../../src/api-client/downloads.ts";
import {
  createTransport,
  type SendLimits,
  TransportError,
  type WireRequest,
  type WireResponse,
} from "../../src/api-client/transport.ts";
import { Failure } from "../../src/core/failure.ts";
import { createIdentity } from "../../src/credentials/identity.ts";
import { createRedactor } from "../../src/credentials/redaction.ts";
import { createTokens } from "../../src/credentials/tokens.ts";
import { createGeography } from "../../src/geography/geography.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { createRecipeOfferCache, createRetryCache } from "../../src/toolkit/caches.ts";
import type { ToolContext } from "../../src/toolkit/tool-context.ts";
import { runJobs } from "../../tools/run-jobs.ts";
import { problem } from "../contract/samples.ts";
import { Service } from "../emulator/service.ts";
import { FILE } from "../emulator/work.ts";
import { createManualClock, emulatorForTest, type ManualClock } from "../support/emulator.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { createRunArguments } from "../tools/bench.ts";

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

const LIMITS = { maxBytes: 1_000_000, timeoutMs: 20_000 };

/** A server with virtual time. `effectOf` decides how each request ends. */
async function serverForTest(clock: ManualClock, effectOf: (request: WireRequest) => Effect) {
  const emulator = await emulatorForTest({ clock });
  const transport = createTransport();
  const database = await openSqlite(await folderForTest());
  onTestFinished(async () => {
    await transport.close();
    await database.close();
  });
  await migrateSchema(database);
  await database.query("PRAGMA synchronous = OFF");
  const timing: Timing = {
    now: clock.now,
    clockMs: clock.now,
    random: () => 0.5,
    async sleep(ms, signal) {
      for (let ticks = 0; ticks < 5; ticks += 1) await tick();
      signal.throwIfAborted();
      clock.advance(Math.ceil(ms));
    },
  };
  async function exchange(
    request: WireRequest,
    limits: Pick<SendLimits, "timeoutMs" | "signal">,
  ): Promise<WireResponse> {
    const effect = effectOf(request);
    const response = RESPONSES[effect];
    if (response) return response;
    if (effect === "no connection") throw new TransportError("connect ECONNREFUSED", { sent: false });
    if (effect === "hang") {
      clock.advance(Math.ceil(limits.timeoutMs));
      throw new TransportError("no complete answer", { sent: true, timedOut: true });
    }
    const passed = await transport.exchange(request, { ...LIMITS, signal: limits.signal });
    if (effect === "lost") throw new TransportError("read ECONNRESET", { sent: true });
    return passed;
  }
  const { baseUrl, clientId, clientSecret } = emulator;
  const redactor = createRedactor();
  const identity = createIdentity({
    settings: { baseUrl, credentials: { clientId, clientSecret }, workspaceId: undefined },
    ...{ keychain: undefined, required: false, redactor, now: clock.now },
  });
  const wire = { ...transport, exchange };
  const api = createApiClient({
    baseUrl: identity.baseUrl,
    tokens: createTokens({ identity, transport: wire, timing, redactor }),
    ...{ transport: wire, timing },
  });
  const journal = openJournal(database, { owner: "one", now: clock.now });
  const context = createActionContext({
    ...{ journal: () => journal, timing, monotonicMs: clock.now, isOwnerDead: () => false },
    ...{ redact: (text: string) => text, onJournalError: () => undefined },
  });
  const shared = {
    api,
    actions: createActions(context, { serviceName: async () => "api" }),
    files: { kind: "folder", folder: "", save: createDownloads(api).save } as const,
    offers: createRecipeOfferCache(),
    retries: createRetryCache(),
    geography: createGeography({ service: api, perMinute: 600, timing }),
  };

  /** Calls run_jobs. A failure has no structured result. */
  async function run(args: Readonly<Record<string, unknown>>) {
    const ctx: ToolContext = {
      ...shared,
      tool: "run_jobs",
      isOffered: () => true,
      callActionTool: async () => undefined,
      signal: new AbortController().signal,
      deadlineAt: clock.now() + CALL_LIMIT_MS,
      report: () => undefined,
    };
    try {
      const { structured } = await runJobs.run({ ...args }, ctx);
      return { ...Result.parse(structured), failure: undefined };
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const { message, next } = error.facts;
      return { ...Result.parse({ summary: `${message} ${next}`, results: [] }), failure: error.facts };
    }
  }
  return { emulator, service: new Service(emulator, clock), run };
}

const Row = z.looseObject({ file: z.string(), state: z.string(), jobId: z.string().optional() });
const Result = z.looseObject({
  summary: z.string(),
  results: z.array(Row),
  notSent: z.object({ count: z.number(), files: z.array(z.string()) }).optional(),
  nextStep: z.object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) }).optional(),
});

const isToken = ({ path }: WireRequest): boolean => path.includes("/oauth/token");
const isSubmission = ({ method, path }: WireRequest): boolean => method === "POST" && path.endsWith("/jobs");

async function batchFor(server: Awaited<ReturnType<typeof serverForTest>>, key: string) {
  const { inputs: _, ...common } = await createRunArguments(server.service, FILE.succeeds);
  return { ...common, files: [...server.emulator.fileIds].slice(0, 5), idempotencyKey: key, waitSeconds: 45 };
}

const MINUTE_MS = 60_000;

for (const kind of ["unavailable", "no connection", "hang", "lost"] as const)
  for (const [name, fails] of [
    ["all requests", () => true],
    ["submissions only", isSubmission],
  ] as const)
    for (const [minutes, maxCalls] of [
      [480, 25],
      [1, 2],
    ] as const)
      test(`an outage (${kind}, ${name}) of ${minutes} min costs at most ${maxCalls} calls`, async () => {
        const clock = createManualClock();
        let endsAt = Number.NEGATIVE_INFINITY;
        const server = await serverForTest(clock, (request) =>
          clock.now() < endsAt && fails(request) && !(kind === "lost" && isToken(request)) ? kind : "pass",
        );
        const args = await batchFor(server, `outage ${kind}`);
        endsAt = clock.now() + minutes * MINUTE_MS;
        let calls = 0;
        while (clock.now() < endsAt) {
          const { summary, nextStep } = await server.run(args);
          calls += 1;
          const wait = /\(in (\d+) min\)|in (?:a|(\d+)) minutes?/.exec(summary);
          expect(nextStep === undefined || wait === null, summary).toBe(true);
          if (!nextStep) clock.advance(Number(wait?.[1] ?? wait?.[2] ?? 1) * MINUTE_MS);
        }
        expect(calls).toBeLessThanOrEqual(maxCalls);
        for (let more = 0; more < 3; more += 1) await server.run(args);
        expect(await server.service.countEffects("createMicJob")).toBeLessThanOrEqual(args.files.length);
        const { summary } = await server.run(args);
        expect(summary).not.toMatch(/NOT_RUN|UNKNOWN|Stopped/);
      });

const isJobRead = ({ method, path }: WireRequest): boolean => method === "GET" && /\/jobs\/[^/]+$/.test(path);

const script = fc.record({
  /** Effects on the first requests that submit or read jobs. */
  effects: fc.array(
    fc.constantFrom<Effect[]>(
      ...([
        "pass",
        "pass",
        "refused",
        "unavailable",
        "quota",
        "unauthorized",
        "no connection",
        "lost",
        "hang",
      ] as const),
    ),
    { maxLength: 24 },
  ),
  /** The submission that always gets a 503 in the first three calls. */
  unavailable: fc.option(fc.nat(4), { nil: undefined }),
});

test("each file is in one group, the counts match the API's record, and no file runs twice, for any sequence of failures", async () => {
  const clock = createManualClock();
  let effects: Effect[] = [];
  let unavailable: number | undefined;
  let calls = 0;
  let keys: string[] = [];
  const server = await serverForTest(clock, (request) => {
    if (!isSubmission(request) && !isJobRead(request)) return "pass";
    const key = request.headers["idempotency-key"] ?? "";
    if (key !== "" && !keys.includes(key)) keys.push(key);
    if (calls <= 3 && unavailable !== undefined && key !== "" && keys.indexOf(key) === unavailable)
      return "unavailable";
    return effects.shift() ?? "pass";
  });
  let runs = 0;
  const executions = () => server.service.countEffects("createMicJob");
  await fc.assert(
    fc.asyncProperty(script, async (each) => {
      runs += 1;
      [effects, unavailable, calls, keys] = [[...each.effects], each.unavailable, 0, []];
      const args = await batchFor(server, `property ${runs}`);
      const ranBefore = await executions();
      const jobOf = new Map<string, string>();
      const maybe = new Set<string>();
      for (;;) {
        calls += 1;
        const before = await executions();
        const { summary, results, notSent, failure, nextStep } = await server.run(args);
        const made = (await executions()) - ranBefore;
        if (failure) {
          expect(failure.sideEffect, summary).toBe("none");
          expect(made + ranBefore, summary).toBe(before);
        } else {
          const files = [...results.map(({ file }) => file), ...(notSent?.files ?? [])];
          expect([...files].sort(), summary).toEqual([...args.files].sort());
          expect(notSent?.count ?? 0).toBe(notSent?.files.length ?? 0);
          for (const { file, jobId, state } of results) {
            if (jobId !== undefined) expect(jobOf.get(file) ?? jobId).toBe(jobId);
            if (jobId !== undefined) jobOf.set(file, jobId);
            if (state === "UNKNOWN") maybe.add(file);
          }
          const counted = /(\d+) files? ran/.exec(summary);
          const ran = results.filter(({ jobId }) => jobId !== undefined).length;
          if (counted) expect(Number(counted[1]), summary).toBe(ran);
        }
        // A job was executed for each file that was reported as run, and for no other, except those reported as unknown.
        expect(jobOf.size, summary).toBeLessThanOrEqual(made);
        expect(made, summary).toBeLessThanOrEqual(new Set([...jobOf.keys(), ...maybe]).size);
        const isFinished = nextStep?.tool !== "run_jobs" && !/Call again/.test(summary) && failure === undefined;
        if (jobOf.size === args.files.length && isFinished) break;
        expect(calls, summary).toBeLessThan(60);
        clock.advance(10_000_000);
      }
      expect(await executions()).toBe(ranBefore + args.files.length);
      expect(new Set(jobOf.values()).size).toBe(args.files.length);
    }),
    { seed: Number(process.env["FAULT_SEED"] ?? 20_261_121), numRuns: Number(process.env["FAULT_RUNS"] ?? 40) / 2 },
  );
});
