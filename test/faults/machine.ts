// A server process for the schedules: the real actions, tokens, tools, journal and transport, with named points at which a schedule
// injects a failure, on a clock that advances when the code sleeps. A machine that crashes never continues.
import { createHash } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { setImmediate as tick } from "node:timers/promises";
import { createActions } from "../../src/actions/actions.ts";
import { type Journal, openJournal } from "../../src/actions/journal.ts";
import { actionsOfService } from "../../src/actions/of-service.ts";
import type { Database } from "../../src/actions/store/database.ts";
import { createIdentity } from "../../src/auth/identity.ts";
import { createRedactor } from "../../src/auth/redaction.ts";
import { noTokenStore } from "../../src/auth/token-store.ts";
import { createTokens } from "../../src/auth/tokens.ts";
import type { Emulator } from "../../src/emulator/index.ts";
import { Failure, type FailureFacts } from "../../src/failure.ts";
import { createGeography } from "../../src/geography/geography.ts";
import { CALL_LIMIT_MS, type Timing } from "../../src/service/attempts.ts";
import { createService } from "../../src/service/call.ts";
import { createDownloads } from "../../src/service/downloads.ts";
import { wireTarget } from "../../src/service/encode.ts";
import {
  createTransport,
  type Transport,
  TransportError,
  type WireAnswer,
  type WireRequest,
} from "../../src/service/transport.ts";
import type { DefinedTool } from "../../src/toolkit/define-tool.ts";
import { createOffers } from "../../src/toolkit/jobs/offers.ts";
import { createRetries } from "../../src/toolkit/jobs/retries.ts";
import type { Ports } from "../../src/toolkit/ports.ts";
import type { ToolCall } from "../../src/toolkit/tool-call.ts";
import { problem } from "../contract/samples.ts";
import type { ManualClock } from "../support/emulator.ts";

/** What happens to one request of an action. */
export const STRIKES = [
  "pass",
  "refused connection",
  "lost request",
  "lost answer",
  "late request",
  "slow answer",
  "truncated answer",
  "broken answer",
  "page",
  "page after commit",
  "in progress",
  "limit",
  "503",
  "503 after commit",
  "conflict",
  "refusal",
  "expired token",
  "outage",
  "outage after commit",
  "cancelled before",
  "cancelled after",
  "crash before send",
  "crash after commit",
] as const;
export type Strike = (typeof STRIKES)[number];

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
  expireTokens(): Promise<void>;
  queueFault(operationId: string, fault: object): Promise<void>;
}

const never = new AbortController().signal;
const LIMITS = { maxBytes: 1_000_000, timeoutMs: 20_000, signal: never };

export function makeWorld(emulator: Emulator, clock: ManualClock, database: Database): World {
  const transport = createTransport();
  const { baseUrl, clientId, clientSecret } = emulator;
  const admin = async (method: "GET" | "POST", path: string, body?: object): Promise<unknown> => {
    const answer = await transport.exchange(
      {
        method,
        ...wireTarget(baseUrl, `/__emulator/${path}`),
        headers: body ? { "content-type": "application/json" } : {},
        ...(body && { body: Buffer.from(JSON.stringify(body)) }),
      },
      LIMITS,
    );
    if (answer.status >= 400) throw new Error(`the emulator's admin says ${answer.status}: ${answer.body}`);
    return JSON.parse(answer.body.toString());
  };
  const late: WireRequest[] = [];
  return {
    emulator,
    clock,
    database,
    transport,
    service: createIdentity({
      given: { baseUrl, credentials: { clientId, clientSecret }, workspaceId: undefined },
      keychain: undefined,
      required: false,
      redactor: createRedactor(),
      now: clock.now,
    }),
    sent: [],
    late,
    gone: new Set(),
    async executions(key) {
      const all = await admin("GET", "executions");
      if (!Array.isArray(all)) throw new Error("the emulator lists no executions");
      return all.filter((each) => each.idempotencyKey === key).reduce((sum, each) => sum + each.executions, 0);
    },
    async arrive() {
      for (const request of late.splice(0)) await transport.exchange(request, LIMITS);
    },
    expireTokens: async () => void (await admin("POST", "faults", { fault: { kind: "expire-token" } })),
    queueFault: async (operationId, fault) => void (await admin("POST", "faults", { operationId, fault })),
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

const answer = (status: number, body: object, headers: Readonly<Record<string, string>> = {}): WireAnswer => ({
  status,
  headers: { "content-type": "application/problem+json", ...headers },
  body: Buffer.from(JSON.stringify(body)),
});
const refusal = (status: number, code: string, retryable: boolean, headers = {}): WireAnswer =>
  answer(status, { ...problem, status, code, retryable }, headers);

/** From something in between. */
const page: WireAnswer = { status: 200, headers: { "content-type": "text/html" }, body: Buffer.from("<html>") };

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
        for (let turn = 0; turn < 5; turn++) await tick();
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
      isGone: (owner) => world.gone.has(owner),
      redact: (text) => text,
      onTrouble: () => undefined,
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
      const commit = () => world.transport.exchange(request, LIMITS);
      const lost = (message: string) => new TransportError(message, { sent: true });
      const tooLate = () => {
        world.clock.advance(limits.timeoutMs);
        return new TransportError("no complete answer", { sent: true, timedOut: true });
      };
      switch (strike) {
        case "pass":
          return await commit();
        case "refused connection":
          throw new TransportError("connect ECONNREFUSED", { sent: false });
        case "outage":
          outage = strike;
          throw lost("socket hang up");
        case "lost request":
          throw lost("socket hang up");
        case "outage after commit":
          outage = strike;
          await commit();
          throw lost("read ECONNRESET");
        case "lost answer":
          await commit();
          throw lost("read ECONNRESET");
        case "late request":
          world.late.push(request);
          throw tooLate();
        case "slow answer":
          await commit();
          throw tooLate();
        case "truncated answer":
          await world.queueFault(script.tool.endpoint?.id ?? "", { kind: "truncate" });
          return await world.transport.exchange(request, LIMITS).catch(() => {
            throw lost("terminated");
          });
        case "broken answer":
          await world.queueFault(script.tool.endpoint?.id ?? "", {
            kind: "body",
            body: '{"data":{},"meta":{"requestId":"r"}}',
          });
          return await commit();
        case "page":
          return page;
        case "page after commit":
          await commit();
          return page;
        case "in progress":
          return refusal(409, "IDEMPOTENCY_IN_PROGRESS", true, { "retry-after": "1" });
        case "limit":
          return refusal(429, "LIMIT", true, { "retry-after": "600" });
        case "503":
          return refusal(503, "DOWN", true);
        case "503 after commit":
          await commit();
          return refusal(503, "DOWN", true);
        case "conflict":
          return refusal(409, "CONFLICT", false);
        case "refusal":
          // A service refuses what it has not executed; what it has executed, or is about to, it answers from its memory.
          return isFirst ? refusal(422, "NO", false) : await commit();
        case "expired token":
          await world.expireTokens();
          return await commit();
        case "cancelled before":
          client.abort();
          throw client.signal.reason;
        case "cancelled after":
          await commit();
          client.abort();
          throw client.signal.reason;
        case "crash after commit":
          await commit();
          return await this.#die();
      }
    };

    const transport = { ...world.transport, exchange };
    const service = createService({
      baseUrl: world.service.baseUrl,
      tokens: this.#tokens,
      transport,
      timing: this.#timing,
    });
    const serviceName = async () => script.owner;
    const actions = actionsOfService({
      actions: this.#actions,
      journal: () => this.#journal,
      serviceName,
    });
    const ports: Ports = {
      service,
      actions,
      files: { kind: "folder", folder: "", save: createDownloads(service).save },
      offers: createOffers(),
      retries: createRetries(),
      geography: createGeography({ service, perMinute: 600, timing: this.#timing }),
    };
    const toolCall: ToolCall = {
      tool: script.tool.name,
      isOffered: () => true,
      act: async () => undefined,
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
