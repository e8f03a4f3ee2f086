// Callers at work on a deployment: each wants one thing after another, asks until it is told, and the service's own records say how
// often each thing was done.
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/v4";
import { type ClientFace, type ClientRevision, connectHttp } from "./mcp.ts";
import { type Chance, chanceFrom } from "./random.ts";
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
  broken: number;
  /** Those that got a tool's failure. */
  refused: number;
  /** Told as done by an earlier call. */
  replayed: number;
  /** Told something that was told to another, or for another wish. */
  crossed: number;
  reads: number;
  /** Sentences of what was broken or refused, each once. */
  readonly why: Set<string>;
}

export interface Load {
  readonly counts: LoadCounts;
  /** Milliseconds of each call that was answered, the latest 100,000. */
  readonly spans: { readonly actions: number[]; readonly reads: number[] };
  /** Nobody wants anything new; everybody is told of what is under way, or has run out of patience. */
  finish(patienceMs?: number): Promise<LoadCounts>;
}

export interface LoadOptions {
  readonly callers: readonly Caller[];
  readonly seed: number;
  /** Of all steps, how many are reads; default 0.3. */
  readonly reading?: number;
  /** How many things one caller wants; default: until `finish`. */
  readonly wishes?: number;
}

/** Longer than an instance's wait for the lease of one that was killed. */
const CALL_MS = 50_000;
const PATIENCE_MS = 120_000;
const SPANS = 100_000;

const Made = z.looseObject({ data: z.looseObject({ id: z.string() }) });

const sentence = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll(/[0-9a-f]{8,}|\d+/g, "…").slice(0, 160);

class Agent {
  readonly #caller: Caller;
  readonly #counts: LoadCounts;
  #client: ClientFace | undefined;
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
      this.#counts.refused += 1;
      this.#counts.why.add(`${result.error?.kind}: ${sentence(result.text)}`);
      return result;
    } catch (error) {
      this.#counts.broken += 1;
      this.#counts.why.add(`${revision}: ${sentence(error)}`);
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

interface Work {
  readonly chance: Chance;
  readonly counts: LoadCounts;
  readonly spans: Load["spans"];
  /** Ids told so far, and for which wish of whom. */
  readonly wishById: Map<string, string>;
  readonly reading: number;
  readonly isOver: () => boolean;
  readonly patienceEndsAt: () => number;
}

function note(list: number[], startedAt: number): void {
  if (list.length < SPANS) list.push(performance.now() - startedAt);
}

async function readSomething(agent: Agent, id: string | undefined, { chance, counts, spans }: Work): Promise<void> {
  const startedAt = performance.now();
  const inputs = id === undefined || chance.below(2) === 0 ? undefined : { inputId: id };
  const result = inputs ? await agent.call("get_input", inputs) : await agent.call("list_actions", { limit: 5 });
  counts.reads += 1;
  if (result && !result.isError) note(spans.reads, startedAt);
}

/** What was made, once somebody says so. */
async function fulfil(agent: Agent, wish: string, args: Readonly<Record<string, unknown>>, work: Work) {
  const { counts, spans, wishById, chance } = work;
  for (;;) {
    const startedAt = performance.now();
    const result = await agent.call("register_input", args);
    const made = result && !result.isError ? Made.parse(result.structured).data.id : undefined;
    if (made === undefined) {
      if (Date.now() > work.patienceEndsAt()) {
        counts.timedOut += 1;
        return undefined;
      }
      await sleep(50 + chance.below(150));
      continue;
    }
    note(spans.actions, startedAt);
    counts.succeeded += 1;
    if (result?.action?.replayed) counts.replayed += 1;
    if ((wishById.get(made) ?? wish) !== wish) counts.crossed += 1;
    wishById.set(made, wish);
    return made;
  }
}

async function live(caller: Caller, wishes: number, work: Work): Promise<void> {
  const agent = new Agent(caller, work.counts);
  let latest: string | undefined;
  for (let n = 1; n <= wishes && !work.isOver(); n++) {
    while (work.chance.next() < work.reading && !work.isOver()) await readSomething(agent, latest, work);
    if (work.isOver()) break;
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
    latest = await fulfil(agent, `${caller.name} ${n}`, args, work);
  }
  await agent.close();
}

export function startLoad({ callers, seed, reading = 0.3, wishes = Number.POSITIVE_INFINITY }: LoadOptions): Load {
  const counts: LoadCounts = {
    succeeded: 0,
    timedOut: 0,
    calls: 0,
    broken: 0,
    refused: 0,
    replayed: 0,
    crossed: 0,
    reads: 0,
    why: new Set(),
  };
  const spans: Load["spans"] = { actions: [], reads: [] };
  const wishById = new Map<string, string>();
  let over = false;
  let patienceEndsAt = Number.POSITIVE_INFINITY;
  const work = {
    ...{ counts, spans, wishById, reading },
    isOver: () => over,
    patienceEndsAt: () => patienceEndsAt,
  };
  const lives = callers.map((caller, index) => live(caller, wishes, { ...work, chance: chanceFrom(seed + index) }));
  const all = Promise.all(lives);
  // Whoever finishes hears of it.
  all.catch(() => undefined);
  return {
    counts,
    spans,
    async finish(patienceMs = PATIENCE_MS) {
      over = wishes === Number.POSITIVE_INFINITY;
      patienceEndsAt = Date.now() + patienceMs;
      await all;
      return counts;
    },
  };
}

const Executions = z.array(
  z.looseObject({ clientId: z.string().optional(), operationId: z.string(), executions: z.number() }),
);

/** How often the service did this, by its own count. */
export async function executionsAt(baseUrl: string, operationId: string): Promise<number> {
  const answer = await fetch(`${baseUrl}/__emulator/executions`);
  return Executions.parse(await answer.json())
    .filter((each) => each.operationId === operationId)
    .reduce((sum, { executions }) => sum + executions, 0);
}

/** What callers of `startLoad` do. */
export const OF_THE_LOAD = "createMicPublicInput";
