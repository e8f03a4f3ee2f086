// Simulates callers of a deployment: each makes one action after another and repeats it until it succeeds.
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/v4";
import { type ClientRevision, connectHttp, type TestClient } from "./mcp.ts";
import { createSeededRandom, type SeededRandom } from "./random.ts";

export interface Caller {
  readonly name: string;
  readonly url: string;
  readonly token: string;
  readonly revision: ClientRevision;
  /** Sends explicit idempotency keys, which other callers use too. */
  readonly isKeyed: boolean;
  readonly fileIds: readonly string[];
}

const newCounts = () => ({
  /** Actions that were reported as done, and those that were not before the deadline. */
  succeeded: 0,
  timedOut: 0,
  calls: 0,
  /** Calls without a valid protocol response. */
  protocolErrors: 0,
  toolFailures: 0,
  /** Actions that were reported as done by an earlier call. */
  replayed: 0,
  /** Results that belong to another caller or another action. */
  mismatched: 0,
  reads: 0,
  /** Normalized messages of all errors, each once. */
  reasons: new Set<string>(),
});
export type LoadCounts = ReturnType<typeof newCounts>;

/** Longer than an instance waits for the lease of a killed one. */
const CALL_MS = 50_000;
const DRAIN_TIMEOUT_MS = 120_000;

const RegisterInputResult = z.looseObject({ data: z.looseObject({ id: z.string() }) });

const normalizeMessage = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll(/[0-9a-f]{8,}|\d+/g, "…").slice(0, 160);

/** `readShare`: share of reads among all steps. `actionsPerCaller`: default until `finish`. */
export function startLoad({
  callers,
  seed,
  readShare = 0.3,
  actionsPerCaller = Number.POSITIVE_INFINITY,
}: {
  readonly callers: readonly Caller[];
  readonly seed: number;
  readonly readShare?: number;
  readonly actionsPerCaller?: number;
}) {
  const counts = newCounts();
  const durationsMs: Record<"actions" | "reads", number[]> = { actions: [], reads: [] };
  /** Ids that were returned, each with its caller and action. */
  const wishById = new Map<string, string>();
  let isFinishing = false;
  let deadlineAt = Number.POSITIVE_INFINITY;

  async function runCaller({ name, url, token, revision, isKeyed, fileIds }: Caller, random: SeededRandom) {
    let client: TestClient | undefined;
    let failures = 0;
    let latest: string | undefined;

    async function close(): Promise<void> {
      await client?.close().catch(() => undefined);
      client = undefined;
    }

    /** Returns the result unless the call failed. */
    async function call(kind: keyof typeof durationsMs, tool: string, args: Readonly<Record<string, unknown>>) {
      counts.calls += 1;
      const startedAt = performance.now();
      try {
        client ??= await connectHttp(revision, url, { token });
        const result = await client.callTool(tool, args, { signal: AbortSignal.timeout(CALL_MS) });
        failures = 0;
        if (!result.isError) {
          durationsMs[kind].push(performance.now() - startedAt);
          return result;
        }
        counts.toolFailures += 1;
        counts.reasons.add(`${result.error?.kind}: ${normalizeMessage(result.text)}`);
      } catch (error) {
        counts.protocolErrors += 1;
        counts.reasons.add(`${revision}: ${normalizeMessage(error)}`);
        failures += 1;
        // Reuse the same connection first, as hosts do.
        if (failures % 3 === 0 || client === undefined) await close();
      }
      return undefined;
    }

    async function read(): Promise<void> {
      if (latest !== undefined && random.nextInteger(2) === 1) await call("reads", "get_input", { inputId: latest });
      else await call("reads", "list_actions", { limit: 5 });
      counts.reads += 1;
    }

    /** Repeats an action until it is reported as done, and returns the id of the resource; undefined after the deadline. */
    async function act(wish: string, args: Readonly<Record<string, unknown>>): Promise<string | undefined> {
      for (;;) {
        const result = await call("actions", "register_input", args);
        if (result) {
          const { idempotencyKey: key } = args;
          // An identical action was unresolved, so the call resolved that one. The text asks to call again.
          if (key !== undefined && result.action?.idempotencyKey !== key) continue;
          const { id } = RegisterInputResult.parse(result.structured).data;
          counts.succeeded += 1;
          if (result.action?.replayed) counts.replayed += 1;
          if ((wishById.get(id) ?? wish) !== wish) counts.mismatched += 1;
          wishById.set(id, wish);
          return id;
        }
        if (Date.now() > deadlineAt) {
          counts.timedOut += 1;
          return undefined;
        }
        await sleep(50 + random.nextInteger(150));
      }
    }

    for (let n = 1; n <= actionsPerCaller && !isFinishing; n++) {
      while (random.next() < readShare && !isFinishing) await read();
      if (isFinishing) break;
      // The first registration of a file has no key. A repeated one needs an explicit key.
      const isNamed = n > fileIds.length;
      latest = await act(`${name} ${n}`, {
        inputKind: "M4_FILE",
        referenceId: fileIds[n % fileIds.length],
        clientReference: `${name}, wish ${n}`,
        ...(isNamed && { idempotencyKey: `${name.replaceAll(/[^A-Za-z0-9]/g, "-")}-wish-${n}` }),
        // The same keys for all keyed callers.
        ...(isKeyed && { idempotencyKey: `wish-number-${n}` }),
      });
    }
    await close();
  }

  const all = Promise.all(callers.map((caller, index) => runCaller(caller, createSeededRandom(seed + index))));
  // `finish` reports the rejection.
  all.catch(() => undefined);
  return {
    counts,
    durationsMs,
    /** Starts no new actions, and waits until all current ones are reported as done or have timed out. */
    async finish(timeoutMs = DRAIN_TIMEOUT_MS): Promise<LoadCounts> {
      isFinishing = actionsPerCaller === Number.POSITIVE_INFINITY;
      deadlineAt = Date.now() + timeoutMs;
      await all;
      return counts;
    },
  };
}

const Executions = z.array(z.looseObject({ operationId: z.string(), executions: z.number() }));

/** Returns how often the emulator has executed this operation, by its own records. */
export async function countExecutions(baseUrl: string, operationId: string): Promise<number> {
  const answer = await fetch(`${baseUrl}/__emulator/executions`);
  return Executions.parse(await answer.json())
    .filter((each) => each.operationId === operationId)
    .reduce((sum, { executions }) => sum + executions, 0);
}

/** The operation that callers of `startLoad` perform. */
export const LOAD_OPERATION_ID = "createMicPublicInput";
