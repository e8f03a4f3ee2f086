// Simulates a server process for the schedules: the real actions, tokens, tools, journal and transport, with named points at
// which a schedule injects a failure, on a clock that advances when the code sleeps. A server that crashes never continues.
import { createHash } from "node:crypto";
import { createActions } from "../../src/actions/actions.ts";
import { type Journal, openJournal } from "../../src/actions/journal.ts";
import { CALL_LIMIT_MS } from "../../src/api-client/attempts.ts";
import { createApiClient } from "../../src/api-client/client.ts";
import {
  createTransport,
  type Transport,
  TransportError,
  type WireRequest,
  type WireResponse,
} from "../../src/api-client/transport.ts";
import { Failure, type FailureReport, toReport } from "../../src/core/failure.ts";
import type { Emulator } from "../../src/emulator/index.ts";
import type { Database } from "../../src/store/database.ts";
import type { Tool } from "../../src/toolkit/define-tool.ts";
import type { ToolContext } from "../../src/toolkit/tool-context.ts";
import { createTestContext } from "../actions/samples.ts";
import { createTestTokens } from "../api-client/client.ts";
import { problem } from "../contract/samples.ts";
import { Service } from "../emulator/service.ts";
import type { ManualClock } from "../support/emulator.ts";
import { createLatch } from "../support/latch.ts";
import { createPorts, createVirtualTiming } from "./virtual-server.ts";

const refusal = (status: number, code: string, retryable: boolean, headers = {}): WireResponse => ({
  status,
  headers: { "content-type": "application/problem+json", ...headers },
  body: Buffer.from(JSON.stringify({ ...problem, status, code, retryable })),
});
/** An answer from a proxy. */
const htmlPage: WireResponse = { status: 200, headers: { "content-type": "text/html" }, body: Buffer.from("<html>") };
const down = refusal(503, "DOWN", true);
const connectionLost = (message: string): TransportError => new TransportError(message, { sent: true });

interface FailureRule {
  readonly commits?: true;
  readonly end?: WireResponse | TransportError | "timeout" | "cancel" | "crash";
  /** All further requests of the call have the same effect. */
  readonly isOutage?: true;
  readonly fault?: { readonly kind: string; readonly body?: string };
}
const RULES = {
  pass: { commits: true },
  "refused connection": { end: new TransportError("connect ECONNREFUSED", { sent: false }) },
  "lost request": { end: connectionLost("socket hang up") },
  "lost answer": { commits: true, end: connectionLost("read ECONNRESET") },
  "late request": { end: "timeout" },
  "slow answer": { commits: true, end: "timeout" },
  "truncated answer": { commits: true, fault: { kind: "truncate" } },
  "broken answer": { commits: true, fault: { kind: "body", body: '{"data":{},"meta":{"requestId":"r"}}' } },
  page: { end: htmlPage },
  "page after commit": { commits: true, end: htmlPage },
  "in progress": { end: refusal(409, "IDEMPOTENCY_IN_PROGRESS", true, { "retry-after": "1" }) },
  limit: { end: refusal(429, "LIMIT", true, { "retry-after": "600" }) },
  unavailable: { end: down },
  "unavailable after commit": { commits: true, end: down },
  conflict: { end: refusal(409, "CONFLICT", false) },
  // The API refuses requests that it has not executed. For those that it has executed, it replays the stored answer.
  refusal: { end: refusal(422, "NO", false) },
  "expired token": { commits: true, fault: { kind: "expire-token" } },
  outage: { end: connectionLost("socket hang up"), isOutage: true },
  "outage after commit": { commits: true, end: connectionLost("read ECONNRESET"), isOutage: true },
  "cancelled before": { end: "cancel" },
  "cancelled after": { commits: true, end: "cancel" },
  "crash before send": { end: "crash" },
  "crash after commit": { commits: true, end: "crash" },
} satisfies Record<string, FailureRule>;
type InjectedFailure = keyof typeof RULES;
const isInjectedFailure = (name: string): name is InjectedFailure => Object.hasOwn(RULES, name);
export const INJECTED_FAILURES = Object.keys(RULES).filter(isInjectedFailure);

/** Writes of the journal at which a failure can be injected. */
export const WRITES = ["take", "resolve"] as const;
export const WRITE_FAILURES = ["crash before", "crash after", "fails before", "fails after"] as const;
interface JournalFailure {
  readonly write: (typeof WRITES)[number];
  readonly mode: (typeof WRITE_FAILURES)[number];
}

type SentRequest = Readonly<Record<"key" | "bytes", string>>;

const never = new AbortController().signal;
const LIMITS = { maxBytes: 1_000_000, timeoutMs: 20_000, signal: never };

/** The shared state of all servers of a run: API, clock, journal and sent requests. */
export function makeWorld(emulator: Emulator, clock: ManualClock, database: Database) {
  const transport = createTransport();
  const service = new Service(emulator, clock);
  const delayedRequests: WireRequest[] = [];
  const sent: SentRequest[] = [];
  return {
    ...{ emulator, clock, database, transport, sent, delayedRequests },
    deadOwners: new Set<string>(),
    executions: (key: string) => service.countExecutions(key),
    async deliverDelayed() {
      for (const request of delayedRequests.splice(0)) await transport.exchange(request, LIMITS);
    },
    fault: (fault: NonNullable<FailureRule["fault"]>, operationId: string) =>
      service.injectFault(fault, fault.kind === "expire-token" ? {} : { operationId }),
  };
}
export type World = ReturnType<typeof makeWorld>;

interface CallScript {
  readonly tool: Tool;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Scope of the keys; each run has its own. */
  readonly owner: string;
  readonly failures: readonly InjectedFailure[];
  readonly journal: JournalFailure | undefined;
}

type Outcome =
  | { readonly kind: "crash" }
  | { readonly kind: "value"; readonly key: string }
  | { readonly kind: "failure"; readonly facts: FailureReport };

let serverCount = 0;

export function createSimulatedServer(world: World) {
  const { clock } = world;
  const owner = `machine-${++serverCount}`;
  const crash = createLatch();
  let isCrashed = false;
  let journalFailure: JournalFailure | undefined;

  /** Stops the simulated server for good: the promise never resolves. */
  function halt<T>(): Promise<T> {
    isCrashed = true;
    crash.release();
    return new Promise(() => undefined);
  }

  const timing = createVirtualTiming(clock, () => (isCrashed ? halt() : undefined));

  function withFailures(real: Journal): Journal {
    const failAt =
      <A extends readonly unknown[], R>(write: JournalFailure["write"], act: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        if (isCrashed) return await halt();
        const failure = journalFailure;
        if (failure?.write !== write) return await act(...args);
        if (failure.mode === "crash before") return await halt();
        if (failure.mode === "fails before") throw new Error("database or disk is full");
        const result = await act(...args);
        if (failure.mode === "crash after") return await halt();
        throw new Error(`the connection broke after ${String(result)}`);
      };
    return {
      ...real,
      insert: failAt("take", real.insert),
      claim: failAt("take", real.claim),
      resolve: failAt("resolve", real.resolve),
    };
  }

  const openedJournal = openJournal(world.database, { owner, now: clock.now }).then(withFailures);
  const isOwnerDead = (other: string) => world.deadOwners.has(other);
  const actionContext = createTestContext(openedJournal, { timing, monotonicMs: clock.now, isOwnerDead });
  const own = createTestTokens(world.emulator, world.transport, timing);

  async function call(script: CallScript) {
    journalFailure = script.journal ?? journalFailure;
    const client = new AbortController();
    const failures = [...script.failures];
    const sent: SentRequest[] = [];
    let outage: InjectedFailure | undefined;

    const exchange: Transport["exchange"] = async (request, limits) => {
      if (isCrashed) return await halt();
      const key = request.headers["idempotency-key"];
      if (key === undefined) return await world.transport.exchange(request, limits);
      const failure = outage ?? failures.shift() ?? "pass";
      if (failure === "crash before send") return await halt();
      const { path, headers, body = Buffer.alloc(0) } = request;
      const bytes = createHash("sha256")
        .update(JSON.stringify([request.method, path, headers["if-match"] ?? ""]))
        .update(body)
        .digest("hex");
      const isFirst = world.sent.every((each) => each.key !== key);
      sent.push({ key, bytes });
      world.sent.push({ key, bytes });
      const { commits, end, isOutage, fault }: FailureRule =
        failure === "refusal" && !isFirst ? RULES.pass : RULES[failure];
      if (isOutage) outage = failure;
      if (fault) await world.fault(fault, script.tool.endpoint?.id ?? "");
      if (failure === "late request") world.delayedRequests.push(request);
      const answer =
        commits && (await world.transport.exchange(request, LIMITS).catch(() => connectionLost("terminated")));
      const effect = end ?? answer;
      if (effect === "crash") return await halt();
      if (effect === "timeout") {
        clock.advance(limits.timeoutMs);
        throw new TransportError("no complete answer", { sent: true, timedOut: true });
      }
      if (effect === "cancel") {
        client.abort();
        throw client.signal.reason;
      }
      if (effect === undefined || effect instanceof TransportError) throw effect;
      return effect;
    };

    const api = createApiClient({ ...own, timing, transport: { ...world.transport, exchange } });
    const actions = createActions(actionContext, { serviceName: async () => script.owner });
    const ctx: ToolContext = {
      ...createPorts(api, actions, timing),
      tool: script.tool.name,
      isOffered: () => true,
      callActionTool: async () => undefined,
      ...{ signal: client.signal, deadlineAt: clock.now() + CALL_LIMIT_MS },
      report: () => undefined,
    };
    const ended = script.tool.run(script.arguments, ctx).then(
      ({ action }): Outcome => ({ kind: "value", key: String(action?.idempotencyKey) }),
      (error: unknown): Outcome => {
        if (error instanceof Failure) return { kind: "failure", facts: toReport(error.facts) };
        if (!client.signal.aborted) throw error;
        const message = "cancelled";
        return { kind: "failure", facts: { kind: "cancelled", message, retryable: true, sideEffect: "none" } };
      },
    );
    const crashed = crash.released.then((): Outcome => ({ kind: "crash" }));
    return { outcome: await Promise.race([ended, crashed]), sent };
  }

  return {
    owner,
    isCrashed: () => isCrashed,
    call,
    /** Removes an injected journal failure that no write has reached. */
    clearJournalFailure(): void {
      journalFailure = undefined;
    },
  };
}

export type CallRecord = Awaited<ReturnType<ReturnType<typeof createSimulatedServer>["call"]>>;
