// Processes that work on one journal, as far as the action machine knows: each with a name, on a clock that waiting moves;
// what a request brings is written in the test.
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

/** What was sent, and what was said to be known of it. */
export interface Sent {
  readonly by: string;
  readonly key: string;
  readonly body: string;
  /** An earlier attempt may have taken effect. */
  readonly lost: boolean;
}

type Answers = () => Promise<unknown>;

export interface Asked {
  readonly arguments?: Readonly<Record<string, unknown>>;
  readonly key?: string;
  readonly proposedKey?: string;
  readonly isDerivedKey?: boolean;
  /** To the request of this call, if it sends one. */
  readonly answer?: Answers;
}

/** How a call ended. */
export type Told = { readonly result: PerformedAction } | { readonly facts: FailureFacts };

export interface Worker {
  call(options?: Asked): Promise<Told>;
}

export interface Office {
  readonly clock: { nowMs: number };
  readonly sent: readonly Sent[];
  /** Owners that are known to be dead. */
  readonly gone: Set<string>;
  /** When somebody has waited so often for somebody else. */
  waits(times: number): Promise<void>;
  readonly journal: Journal;
  worker(owner: string, change?: (journal: Journal) => Journal): Promise<Worker>;
  find(key: string): Promise<StoredAction | undefined>;
}

export const refused = (kind: FailureFacts["kind"], facts: Partial<FailureFacts> = {}): Failure =>
  new Failure({ kind, message: "Refused.", retryable: false, sideEffect: "none", ...facts });

/** For the running test alone. */
export async function openOffice(): Promise<Office> {
  const folder = await mkdtemp(join(tmpdir(), "mic-mcp-workers-"));
  const clock = { nowMs: 1_800_000_000_000 };
  const sent: Sent[] = [];
  const gone = new Set<string>();
  const opened: Journal[] = [];
  const waited = new EventEmitter();
  let waits = 0;
  onTestFinished(async () => {
    for (const journal of opened) await journal.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function openAs(owner: string): Promise<Journal> {
    const terms = { owner, now: () => clock.nowMs };
    const journal = await openJournal(await openSqlite(folder), terms);
    opened.push(journal);
    return journal;
  }
  const journal = await openAs("nobody");

  return {
    clock,
    sent,
    gone,
    journal,
    waits: async (times) => void (await once(waited, String(waits + times))),
    find: (key) => journal.find(SERVICE, key),
    async worker(owner, change = (real) => real) {
      const own = change(await openAs(owner));
      const actions = createActions({
        journal: async () => own,
        timing: {
          now: () => clock.nowMs,
          random: () => 0.5,
          async sleep(ms) {
            // What is under way elsewhere gets on.
            for (let n = 0; n < 5; n++) await tick();
            clock.nowMs += ms;
            waited.emit(String(++waits));
          },
        },
        monotonicMs: () => clock.nowMs,
        isOwnerDead: (other) => gone.has(other),
        redact: (text) => text,
        onJournalError: () => undefined,
      });
      return {
        async call({
          arguments: meant = { recipeVersionId: "recipe-1" },
          key,
          proposedKey,
          isDerivedKey,
          answer = async () => "made",
        } = {}) {
          const call: ActionCall = {
            service: SERVICE,
            tool: "submit_job",
            arguments: meant,
            traits: { aboutArgument: "recipeVersionId", identifyingArguments: ["recipeVersionId"] },
            explicitKey: key,
            proposedKey,
            isDerivedKey,
            prepare: async () => ({ path: "/jobs", ifMatch: "", body: JSON.stringify(meant) }),
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
