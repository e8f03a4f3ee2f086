// A server process for the schedules: the real actions, tokens, tools, journal and transport, with named points at which a schedule
// injects a failure, on a clock that advances when the code sleeps. A machine that crashes never continues.
import { createHash } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { setImmediate as tick } from "node:timers/promises";
import { createActions } from "../../src/actions/actions.ts";
import { type Journal, openJournal } from "../../src/actions/journal.ts";
import { createServiceActions } from "../../src/actions/service-actions.ts";
import type { Database } from "../../src/actions/store/database.ts";
import { CALL_LIMIT_MS, type Timing } from "../../src/api-client/attempts.ts";
import { createApiClient } from "../../src/api-client/client.ts";
import { createDownloads } from "../../src/api-client/downloads.ts";
import {
  createTransport,
  type Transport,
  TransportError,
  type WireRequest,
  type WireResponse,
} from "../../src/api-client/transport.ts";
import { Failure, type FailureFacts } from "../../src/core/failure.ts";
import { createIdentity } from "../../src/credentials/identity.ts";
import { createRedactor } from "../../src/credentials/redaction.ts";
import { noTokenStore } from "../../src/credentials/token-store.ts";
import { createTokens } from "../../src/credentials/tokens.ts";
import type { Emulator } from "../../src/emulator/index.ts";
import { createGeography } from "../../src/geography/geography.ts";
import { createRecipeOfferCache, createRetryCache } from "../../src/toolkit/caches.ts";
import type { DefinedTool } from "../../src/toolkit/define-tool.ts";
import type { Ports, ToolCall } from "../../src/toolkit/tool-call.ts";
import { problem } from "../contract/samples.ts";
import { Service } from "../emulator/service.ts";
import type { ManualClock } from "../support/emulator.ts";

const refusal = (status: number, code: string, retryable: boolean, headers = {}): WireResponse => ({
  status,
  headers: { "content-type": "application/problem+json", ...headers },
  body: Buffer.from(JSON.stringify({ ...problem, status, code, retryable })),
});
/** From something in between. */
const page: WireResponse = { status: 200, headers: { "content-type": "text/html" }, body: Buffer.from("<html>") };
const down = refusal(503, "DOWN", true);
const lost = (message: string): TransportError => new TransportError(message, { sent: true });

/** What happens to one request of an action. */
interface StrikeRule {
  /** The API executes it. */
  readonly commits?: true;
  /** What comes back instead of the API's answer. */
  readonly end?: WireResponse | TransportError | "timeout" | "cancel" | "crash";
  /** So do all further requests of the call. */
  readonly isOutage?: true;
  /** The API answers so. */
  readonly fault?: { readonly kind: string; readonly body?: string };
}
const RULES = {
  pass: { commits: true },
  "refused connection": { end: new TransportError("connect ECONNREFUSED", { sent: false }) },
  "lost request": { end: lost("socket hang up") },
  "lost answer": { commits: true, end: lost("read ECONNRESET") },
  "late request": { end: "timeout" },
  "slow answer": { commits: true, end: "timeout" },
  "truncated answer": { commits: true, fault: { kind: "truncate" } },
  "broken answer": { commits: true, fault: { kind: "body", body: '{"data":{},"meta":{"requestId":"r"}}' } },
  page: { end: page },
  "page after commit": { commits: true, end: page },
  "in progress": { end: refusal(409, "IDEMPOTENCY_IN_PROGRESS", true, { "retry-after": "1" }) },
  limit: { end: refusal(429, "LIMIT", true, { "retry-after": "600" }) },
  unavailable: { end: down },
  "unavailable after commit": { commits: true, end: down },
  conflict: { end: refusal(409, "CONFLICT", false) },
  // The API refuses what it has not executed; what it has executed, or is about to, it answers from its memory.
  refusal: { end: refusal(422, "NO", false) },
  "expired token": { commits: true, fault: { kind: "expire-token" } },
  outage: { end: lost("socket hang up"), isOutage: true },
  "outage after commit": { commits: true, end: lost("read ECONNRESET"), isOutage: true },
  "cancelled before": { end: "cancel" },
  "cancelled after": { commits: true, end: "cancel" },
  "crash before send": { end: "crash" },
  "crash after commit": { commits: true, end: "crash" },
} satisfies Record<string, StrikeRule>;
export type Strike = keyof typeof RULES;
const isStrike = (name: string): name is Strike => Object.hasOwn(RULES, name);
export const STRIKES = Object.keys(RULES).filter(isStrike);

/** What happens to one write of the journal. */
export const WRITES = ["take", "resolve"] as const;
export const ENDS = ["crash before", "crash after", "fails before", "fails after"] as const;
export interface JournalStrike {
  readonly at: (typeof WRITES)[number];
  readonly how: (typeof ENDS)[number];
}

export interface Sent {
  readonly key: string;
  readonly bytes: string;
}

/** What all machines of a run share: service, clock, journal, tokens, and what was sent. */
export interface World {
  readonly emulator: Emulator;
  readonly clock: ManualClock;
  readonly database: Database;
  readonly transport: Transport;
  readonly service: ReturnType<typeof createIdentity>;
  readonly sent: Sent[];
  /** On their way, given up by their sender. */
  readonly late: WireRequest[];
  /** Owners that a look at the process table would show to be gone. */
  readonly gone: Set<string>;
  executions(key: string): Promise<number>;
  arrive(): Promise<void>;
  fault(fault: NonNullable<StrikeRule["fault"]>, operationId: string): Promise<unknown>;
}

const never = new AbortController().signal;
const LIMITS = { maxBytes: 1_000_000, timeoutMs: 20_000, signal: never };

export function makeWorld(emulator: Emulator, clock: ManualClock, database: Database): World {
  const transport = createTransport();
  const { baseUrl, clientId, clientSecret } = emulator;
  const service = new Service(emulator, clock);
  const late: WireRequest[] = [];
  return {
    emulator,
    clock,
    database,
    transport,
    service: createIdentity({
      settings: { baseUrl, credentials: { clientId, clientSecret }, workspaceId: undefined },
      keychain: undefined,
      required: false,
      redactor: createRedactor(),
      now: clock.now,
    }),
    sent: [],
    late,
    gone: new Set(),
    executions: (key) => service.executions(key),
    async arrive() {
      for (const request of late.splice(0)) await transport.exchange(request, LIMITS);
    },
    fault: (fault, operationId) => service.fault(fault, fault.kind === "expire-token" ? {} : { operationId }),
  };
}

/** One call, as a schedule has it. */
export interface Script {
  readonly tool: DefinedTool;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Whose keys; each run has its own. */
  readonly owner: string;
  readonly strikes: readonly Strike[];
  readonly journal: JournalStrike | undefined;
}

/** What came of a call. */
export type Outcome =
  | { readonly kind: "crash" }
  | { readonly kind: "value"; readonly key: string; readonly replayed: boolean }
  | { readonly kind: "failure"; readonly facts: FailureFacts };

export interface Call {
  readonly outcome: Outcome;
  /** What this call sent. */
  readonly sent: readonly Sent[];
}

let machines = 0;

export class Machine {
  readonly owner = `machine-${++machines}`;
  readonly #world: World;
  readonly #timing: Timing;
  readonly #crash = new EventEmitter();
  readonly #crashed: Promise<"crash">;
  readonly #journal: Promise<Journal>;
  readonly #actions: ReturnType<typeof createActions>;
  readonly #tokens: ReturnType<typeof createTokens>;
  #strike: JournalStrike | undefined;
  crashed = false;

  constructor(world: World) {
    this.#world = world;
    this.#crashed = once(this.#crash, "crash").then(() => "crash" as const);
    const { clock } = world;
    this.#timing = {
      now: clock.now,
      random: () => 0.5,
      sleep: async (ms, signal) => {
        // What is under way elsewhere gets a little real time for each piece of virtual time.
        for (let tickCount = 0; tickCount < 5; tickCount++) await tick();
        if (this.crashed) return await this.#die();
        signal.throwIfAborted();
        clock.advance(ms);
      },
    };
    this.#journal = openJournal(world.database, {
      owner: this.owner,
      now: clock.now,
    }).then((real) => this.#struck(real));
    this.#actions = createActions({
      journal: () => this.#journal,
      timing: this.#timing,
      monotonicMs: clock.now,
      isOwnerDead: (owner) => world.gone.has(owner),
      redact: (text) => text,
      onJournalError: () => undefined,
    });
    this.#tokens = createTokens({
      identity: world.service,
      store: noTokenStore,
      transport: world.transport,
      timing: this.#timing,
      redactor: createRedactor(),
    });
  }

  /** Stops here for ever. */
  #die<T>(): Promise<T> {
    this.crashed = true;
    this.#crash.emit("crash");
    return new Promise(() => undefined);
  }

  #struck(real: Journal): Journal {
    const at =
      <A extends readonly unknown[], R>(write: JournalStrike["at"], act: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        if (this.crashed) return await this.#die();
        const strike = this.#strike;
        if (strike?.at !== write) return await act(...args);
        if (strike.how === "crash before") return await this.#die();
        if (strike.how === "fails before") throw new Error("database or disk is full");
        const result = await act(...args);
        if (strike.how === "crash after") return await this.#die();
        throw new Error(`the connection broke after ${String(result)}`);
      };
    return {
      ...real,
      insert: at("take", real.insert),
      claim: at("take", real.claim),
      resolve: at("resolve", real.resolve),
    };
  }

  /** Drops a strike at the journal that no write has reached. */
  calm(): void {
    this.#strike = undefined;
  }

  async call(script: Script): Promise<Call> {
    this.#strike = script.journal ?? this.#strike;
    const world = this.#world;
    const client = new AbortController();
    const strikes = [...script.strikes];
    const sent: Sent[] = [];
    let outage: Strike | undefined;

    const exchange: Transport["exchange"] = async (request, limits) => {
      if (this.crashed) return await this.#die();
      const key = request.headers["idempotency-key"];
      if (key === undefined) return await world.transport.exchange(request, limits);
      const strike = outage ?? strikes.shift() ?? "pass";
      if (strike === "crash before send") return await this.#die();
      const { path, headers, body = Buffer.alloc(0) } = request;
      const bytes = createHash("sha256")
        .update(JSON.stringify([request.method, path, headers["if-match"] ?? ""]))
        .update(body)
        .digest("hex");
      const isFirst = world.sent.every((each) => each.key !== key);
      sent.push({ key, bytes });
      world.sent.push({ key, bytes });
      const { commits, end, isOutage, fault }: StrikeRule =
        strike === "refusal" && !isFirst ? RULES.pass : RULES[strike];
      if (isOutage) outage = strike;
      if (fault) await world.fault(fault, script.tool.endpoint?.id ?? "");
      if (strike === "late request") world.late.push(request);
      const answer = commits && (await world.transport.exchange(request, LIMITS).catch(() => lost("terminated")));
      const ending = end ?? answer;
      if (ending === "crash") return await this.#die();
      if (ending === "timeout") {
        world.clock.advance(limits.timeoutMs);
        throw new TransportError("no complete answer", { sent: true, timedOut: true });
      }
      if (ending === "cancel") {
        client.abort();
        throw client.signal.reason;
      }
      if (ending === undefined || ending instanceof TransportError) throw ending;
      return ending;
    };

    const transport = { ...world.transport, exchange };
    const service = createApiClient({
      baseUrl: world.service.baseUrl,
      tokens: this.#tokens,
      transport,
      timing: this.#timing,
    });
    const serviceName = async () => script.owner;
    const actions = createServiceActions({
      actions: this.#actions,
      journal: () => this.#journal,
      serviceName,
    });
    const ports: Ports = {
      service,
      actions,
      files: { kind: "folder", folder: "", save: createDownloads(service).save },
      offers: createRecipeOfferCache(),
      retries: createRetryCache(),
      geography: createGeography({ service, perMinute: 600, timing: this.#timing }),
    };
    const toolCall: ToolCall = {
      tool: script.tool.name,
      isOffered: () => true,
      callActionTool: async () => undefined,
      context: { signal: client.signal, deadlineAt: world.clock.now() + CALL_LIMIT_MS },
      report: () => undefined,
    };
    const work = script.tool
      .create(ports)
      .invoke(script.arguments, toolCall)
      .then(
        ({ action }): Outcome => ({
          kind: "value",
          key: String(action?.idempotencyKey),
          replayed: action?.replayed === true,
        }),
        (error: unknown): Outcome => {
          if (error instanceof Failure) return { kind: "failure", facts: error.facts };
          if (!client.signal.aborted) throw error;
          return {
            kind: "failure",
            facts: { kind: "cancelled", message: "cancelled", retryable: true, sideEffect: "none" },
          };
        },
      );
    const ended = await Promise.race([work, this.#crashed]);
    return { outcome: ended === "crash" ? { kind: "crash" } : ended, sent };
  }
}
