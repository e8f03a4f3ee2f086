// Simulates callers of a deployment: each makes one action after another and repeats it until it succeeds.
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/v4";
import { type ClientRevision, connectHttp, type TestClient } from "./mcp.ts";
import { createSeededRandom, type SeededRandom } from "./random.ts";
import type { CallResult } from "./results.ts";

/** A simulated caller. */
export interface Caller {
  readonly name: string;
  readonly url: string;
  readonly token: string;
  readonly revision: ClientRevision;
  /** Sends explicit idempotency keys, which other callers use too. */
  readonly isKeyed: boolean;
  /** Files of the team's workspace. */
  readonly fileIds: readonly string[];
}

export interface LoadCounts {
  /** Actions that were reported as done. */
  succeeded: number;
  /** Actions that were not reported as done before the deadline. */
  timedOut: number;
  /** Calls that agents made. */
  calls: number;
  /** Calls without a valid protocol response. */
  protocolErrors: number;
  /** Calls that returned a tool error. */
  toolFailures: number;
  /** Actions that were reported as done by an earlier call. */
  replayed: number;
  /** Results that belong to another caller or another action. */
  mismatched: number;
  reads: number;
  /** Normalized messages of all errors, each once. */
  readonly reasons: Set<string>;
}

export interface Load {
  readonly counts: LoadCounts;
  /** Durations in ms of the first 100,000 answered calls of each kind. */
  readonly durationsMs: { readonly actions: number[]; readonly reads: number[] };
  /** Starts no new actions, and waits until all current ones are reported as done or have timed out. */
  finish(timeoutMs?: number): Promise<LoadCounts>;
}

export interface LoadOptions {
  readonly callers: readonly Caller[];
  readonly seed: number;
  /** Share of reads among all steps (default 0.3). */
  readonly readShare?: number;
  /** Number of actions per caller (default: until `finish`). */
  readonly actionsPerCaller?: number;
}

/** Longer than an instance waits for the lease of a killed one. */
const CALL_MS = 50_000;
const DRAIN_TIMEOUT_MS = 120_000;
const MAX_DURATIONS = 100_000;

const RegisterInputResult = z.looseObject({ data: z.looseObject({ id: z.string() }) });

const normalizeMessage = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll(/[0-9a-f]{8,}|\d+/g, "…").slice(0, 160);

class Agent {
  readonly #caller: Caller;
  readonly #counts: LoadCounts;
  #client: TestClient | undefined;
  #failures = 0;

  constructor(caller: Caller, counts: LoadCounts) {
    this.#caller = caller;
    this.#counts = counts;
  }

  /** Undefined if there was no answer. */
  async call(tool: string, args: Readonly<Record<string, unknown>>): Promise<CallResult | undefined> {
    this.#counts.calls += 1;
    const { revision, url, token } = this.#caller;
    try {
      this.#client ??= await connectHttp(revision, url, { token });
      const result = await this.#client.callTool(tool, args, { signal: AbortSignal.timeout(CALL_MS) });
      this.#failures = 0;
      if (!result.isError) return result;
      this.#counts.toolFailures += 1;
      this.#counts.reasons.add(`${result.error?.kind}: ${normalizeMessage(result.text)}`);
      return result;
    } catch (error) {
      this.#counts.protocolErrors += 1;
      this.#counts.reasons.add(`${revision}: ${normalizeMessage(error)}`);
      this.#failures += 1;
      // Reuse the same connection first, as hosts do.
      if (this.#failures % 3 === 0 || this.#client === undefined) await this.close();
      return undefined;
    }
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.close().catch(() => undefined);
  }
}

interface LoadState {
  readonly random: SeededRandom;
  readonly counts: LoadCounts;
  readonly durationsMs: Load["durationsMs"];
  /** Ids that were returned, each with its caller and action. */
  readonly wishById: Map<string, string>;
  readonly readShare: number;
  readonly isOver: () => boolean;
  readonly deadlineAt: () => number;
}

function recordDuration(list: number[], startedAt: number): void {
  if (list.length < MAX_DURATIONS) list.push(performance.now() - startedAt);
}

async function performRead(
  agent: Agent,
  id: string | undefined,
  { random, counts, durationsMs }: LoadState,
): Promise<void> {
  const startedAt = performance.now();
  const inputs = id === undefined || random.nextInteger(2) === 0 ? undefined : { inputId: id };
  const result = inputs ? await agent.call("get_input", inputs) : await agent.call("list_actions", { limit: 5 });
  counts.reads += 1;
  if (result && !result.isError) recordDuration(durationsMs.reads, startedAt);
}

/** Repeats an action until it is reported as done, and returns the id of the resource; undefined after the deadline. */
async function performWish(agent: Agent, wish: string, args: Readonly<Record<string, unknown>>, state: LoadState) {
  const { counts, durationsMs, wishById, random } = state;
  for (;;) {
    const startedAt = performance.now();
    const result = await agent.call("register_input", args);
    const resourceId = result && !result.isError ? RegisterInputResult.parse(result.structured).data.id : undefined;
    if (resourceId === undefined) {
      if (Date.now() > state.deadlineAt()) {
        counts.timedOut += 1;
        return undefined;
      }
      await sleep(50 + random.nextInteger(150));
      continue;
    }
    recordDuration(durationsMs.actions, startedAt);
    counts.succeeded += 1;
    if (result?.action?.replayed) counts.replayed += 1;
    if ((wishById.get(resourceId) ?? wish) !== wish) counts.mismatched += 1;
    wishById.set(resourceId, wish);
    return resourceId;
  }
}

async function runCaller(caller: Caller, actionsPerCaller: number, state: LoadState): Promise<void> {
  const agent = new Agent(caller, state.counts);
  let latest: string | undefined;
  for (let n = 1; n <= actionsPerCaller && !state.isOver(); n++) {
    while (state.random.next() < state.readShare && !state.isOver()) await performRead(agent, latest, state);
    if (state.isOver()) break;
    // The first registration of a file has no key. A repeated one needs an explicit key.
    const isNamed = n > caller.fileIds.length;
    const args = {
      inputKind: "M4_FILE",
      referenceId: caller.fileIds[n % caller.fileIds.length],
      clientReference: `${caller.name}, wish ${n}`,
      ...(isNamed && { idempotencyKey: `${caller.name.replaceAll(/[^A-Za-z0-9]/g, "-")}-wish-${n}` }),
      // The same keys for all keyed callers.
      ...(caller.isKeyed && { idempotencyKey: `wish-number-${n}` }),
    };
    latest = await performWish(agent, `${caller.name} ${n}`, args, state);
  }
  await agent.close();
}

export function startLoad({
  callers,
  seed,
  readShare = 0.3,
  actionsPerCaller = Number.POSITIVE_INFINITY,
}: LoadOptions): Load {
  const counts: LoadCounts = {
    succeeded: 0,
    timedOut: 0,
    calls: 0,
    protocolErrors: 0,
    toolFailures: 0,
    replayed: 0,
    mismatched: 0,
    reads: 0,
    reasons: new Set(),
  };
  const durationsMs: Load["durationsMs"] = { actions: [], reads: [] };
  const wishById = new Map<string, string>();
  let isFinishing = false;
  let deadlineAt = Number.POSITIVE_INFINITY;
  const state = {
    ...{ counts, durationsMs, wishById, readShare },
    isOver: () => isFinishing,
    deadlineAt: () => deadlineAt,
  };
  const runs = callers.map((caller, index) =>
    runCaller(caller, actionsPerCaller, { ...state, random: createSeededRandom(seed + index) }),
  );
  const all = Promise.all(runs);
  // `finish` reports the rejection.
  all.catch(() => undefined);
  return {
    counts,
    durationsMs,
    async finish(timeoutMs = DRAIN_TIMEOUT_MS) {
      isFinishing = actionsPerCaller === Number.POSITIVE_INFINITY;
      deadlineAt = Date.now() + timeoutMs;
      await all;
      return counts;
    },
  };
}

const Executions = z.array(
  z.looseObject({ clientId: z.string().optional(), operationId: z.string(), executions: z.number() }),
);

/** Returns how often the emulator has executed this operation, by its own records. */
export async function countExecutions(baseUrl: string, operationId: string): Promise<number> {
  const answer = await fetch(`${baseUrl}/__emulator/executions`);
  return Executions.parse(await answer.json())
    .filter((each) => each.operationId === operationId)
    .reduce((sum, { executions }) => sum + executions, 0);
}

/** The operation that callers of `startLoad` perform. */
export const LOAD_OPERATION_ID = "createMicPublicInput";
