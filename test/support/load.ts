// Callers at work on a deployment: each wants one thing after another, asks until it is told, and the service's own records say how
// often each thing was done.
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/v4";
import { type ClientRevision, connectHttp, type TestClient } from "./mcp.ts";
import { createSeededRandom, type SeededRandom } from "./random.ts";
import type { CallResult } from "./results.ts";

/** One who calls. */
export interface Caller {
  readonly name: string;
  readonly url: string;
  readonly token: string;
  readonly revision: ClientRevision;
  /** Names its actions itself, by keys that others use, too. */
  readonly isKeyed: boolean;
  /** Files of the team's workspace. */
  readonly fileIds: readonly string[];
}

export interface LoadCounts {
  /** Things wanted and told as done. */
  succeeded: number;
  /** Wanted, and not told when patience was over. */
  timedOut: number;
  /** Requests that agents made. */
  calls: number;
  /** Those that got no answer of the protocol. */
  protocolErrors: number;
  /** Those that got a tool's failure. */
  toolFailures: number;
  /** Told as done by an earlier call. */
  replayed: number;
  /** Told something that was told to another, or for another wish. */
  mismatched: number;
  reads: number;
  /** Sentences of what was broken or refused, each once. */
  readonly reasons: Set<string>;
}

export interface Load {
  readonly counts: LoadCounts;
  /** Milliseconds of each call that was answered, the latest 100,000. */
  readonly durationsMs: { readonly actions: number[]; readonly reads: number[] };
  /** Nobody wants anything new; everybody is told of what is under way, or has run out of patience. */
  finish(timeoutMs?: number): Promise<LoadCounts>;
}

export interface LoadOptions {
  readonly callers: readonly Caller[];
  readonly seed: number;
  /** Of all steps, how many are reads; default 0.3. */
  readonly readShare?: number;
  /** How many things one caller wants; default: until `finish`. */
  readonly actionsPerCaller?: number;
}

/** Longer than an instance's wait for the lease of one that was killed. */
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

  /** Undefined where there was no answer. */
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
      // As hosts do: the same connection first.
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
  /** Ids told so far, and for which wish of whom. */
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

/** What was made, once somebody says so. */
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
    // The first time for a file without a key; again only under a key of its own.
    const isNamed = n > caller.fileIds.length;
    const args = {
      inputKind: "M4_FILE",
      referenceId: caller.fileIds[n % caller.fileIds.length],
      clientReference: `${caller.name}, wish ${n}`,
      ...(isNamed && { idempotencyKey: `${caller.name.replaceAll(/[^A-Za-z0-9]/g, "-")}-wish-${n}` }),
      // The same for all who give keys.
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
  // Whoever finishes hears of it.
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

/** How often the service did this, by its own count. */
export async function countExecutions(baseUrl: string, operationId: string): Promise<number> {
  const answer = await fetch(`${baseUrl}/__emulator/executions`);
  return Executions.parse(await answer.json())
    .filter((each) => each.operationId === operationId)
    .reduce((sum, { executions }) => sum + executions, 0);
}

/** What callers of `startLoad` do. */
export const LOAD_OPERATION_ID = "createMicPublicInput";
