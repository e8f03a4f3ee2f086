// Simulates processes that share a journal for the action machine: each has a name, and waiting advances their common clock. The
// test supplies the answer to each request.
import { EventEmitter, once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as tick } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { type ActionCall, createActions, type PerformedAction } from "../../src/actions/actions.ts";
import { type Journal, openJournal, type StoredAction } from "../../src/actions/journal.ts";
import { openSqlite } from "../../src/actions/store/sqlite.ts";
import { Failure, type FailureFacts } from "../../src/core/failure.ts";

const SERVICE = "service";

/** A request that was sent, and whether an earlier attempt may have taken effect. */
export interface SentRequest {
  readonly by: string;
  readonly key: string;
  readonly body: string;
  /** An earlier attempt may have taken effect. */
  readonly lost: boolean;
}

type SendAnswer = () => Promise<unknown>;

export interface CallOptions {
  readonly arguments?: Readonly<Record<string, unknown>>;
  readonly key?: string;
  readonly proposedKey?: string;
  readonly isDerivedKey?: boolean;
  /** Answers the request of this call, if it sends one. */
  readonly answer?: SendAnswer;
}

/** Result or failure of a call. */
export type CallOutcome = { readonly result: PerformedAction } | { readonly facts: FailureFacts };

export interface Worker {
  call(options?: CallOptions): Promise<CallOutcome>;
}

export interface WorkerFixture {
  readonly clock: { nowMs: number };
  readonly sent: readonly SentRequest[];
  /** Owners that count as dead. */
  readonly deadOwners: Set<string>;
  /** Resolves after this number of further sleeps. */
  waitForSleeps(times: number): Promise<void>;
  readonly journal: Journal;
  startWorker(owner: string, change?: (journal: Journal) => Journal): Promise<Worker>;
  find(key: string): Promise<StoredAction | undefined>;
}

export const createRefusal = (kind: FailureFacts["kind"], facts: Partial<FailureFacts> = {}): Failure =>
  new Failure({ kind, message: "Refused.", retryable: false, sideEffect: "none", ...facts });

/** Opens the fixture for the running test only. */
export async function openWorkerFixture(): Promise<WorkerFixture> {
  const folder = await mkdtemp(join(tmpdir(), "mic-mcp-workers-"));
  const clock = { nowMs: 1_800_000_000_000 };
  const sent: SentRequest[] = [];
  const deadOwners = new Set<string>();
  const journals: Journal[] = [];
  const waited = new EventEmitter();
  let sleepCount = 0;
  onTestFinished(async () => {
    for (const journal of journals) await journal.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function openJournalAs(owner: string): Promise<Journal> {
    const options = { owner, now: () => clock.nowMs };
    const journal = await openJournal(await openSqlite(folder), options);
    journals.push(journal);
    return journal;
  }
  const journal = await openJournalAs("nobody");

  return {
    clock,
    sent,
    deadOwners,
    journal,
    waitForSleeps: async (times) => void (await once(waited, String(sleepCount + times))),
    find: (key) => journal.find(SERVICE, key),
    async startWorker(owner, change = (real) => real) {
      const own = change(await openJournalAs(owner));
      const actions = createActions({
        journal: async () => own,
        timing: {
          now: () => clock.nowMs,
          random: () => 0.5,
          async sleep(ms) {
            // Let concurrent work of other processes advance.
            for (let n = 0; n < 5; n++) await tick();
            clock.nowMs += ms;
            waited.emit(String(++sleepCount));
          },
        },
        monotonicMs: () => clock.nowMs,
        isOwnerDead: (other) => deadOwners.has(other),
        redact: (text) => text,
        onJournalError: () => undefined,
      });
      return {
        async call({
          arguments: args = { recipeVersionId: "recipe-1" },
          key,
          proposedKey,
          isDerivedKey,
          answer = async () => "made",
        } = {}) {
          const call: ActionCall = {
            service: SERVICE,
            tool: "submit_job",
            arguments: args,
            traits: { aboutArgument: "recipeVersionId", identifyingArguments: ["recipeVersionId"] },
            explicitKey: key,
            proposedKey,
            isDerivedKey,
            prepare: async () => ({ path: "/jobs", ifMatch: "", body: JSON.stringify(args) }),
            async send({ body }, sentKey, { mayHaveTakenEffect = false, onAttempt }) {
              sent.push({ by: owner, key: sentKey, body, lost: mayHaveTakenEffect });
              onAttempt?.();
              return { value: await answer(), drift: [], replayed: false };
            },
            resourceId: () => undefined,
            verificationAdvice: "Look.",
            context: { signal: new AbortController().signal, deadlineAt: clock.nowMs + 45_000 },
          };
          try {
            return { result: await actions.perform(call) };
          } catch (error) {
            if (error instanceof Failure) return { facts: error.facts };
            throw error;
          }
        },
      };
    },
  };
}
