// Simulates processes that share a journal for the action machine: each has a name, and waiting advances their common clock.

import { EventEmitter, once } from "node:events";
import { setImmediate as tick } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { ActionCall, PerformedAction } from "../../src/actions/actions.ts";
import { type Journal, openJournal } from "../../src/actions/journal.ts";
import { Failure, type FailureFacts, type FailureReport, toReport } from "../../src/core/failure.ts";
import { say } from "../../src/core/text.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { createSubmission, createTestActions } from "./samples.ts";

const SERVICE = "service";

interface CallOptions {
  readonly arguments?: Readonly<Record<string, unknown>>;
  readonly key?: string;
  readonly proposedKey?: string;
  readonly isDerivedKey?: boolean;
  /** `assertMaySend`: as before each further attempt. */
  readonly answer?: (assertMaySend: () => void) => Promise<unknown>;
  readonly apiClock?: ActionCall["apiClock"];
}

export type CallOutcome = { readonly result: PerformedAction } | { readonly facts: FailureReport };

export const createRefusal = (kind: FailureReport["kind"], facts: Partial<FailureFacts> = {}): Failure =>
  new Failure({ kind, message: say`Refused.`, retryable: false, sideEffect: "none", ...facts });

export async function openWorkerFixture() {
  const folder = await folderForTest();
  /** `aheadMs`: by how much the monotonic clock has advanced more than the journal's. */
  const clock = { nowMs: 1_800_000_000_000, aheadMs: 0 };
  /** Requests that were sent. `lost`: an earlier attempt may have taken effect. */
  const sent: { by: string; key: string; body: string; lost: boolean }[] = [];
  const deadOwners = new Set<string>();
  const waited = new EventEmitter();
  let sleepCount = 0;
  const timing = {
    now: () => clock.nowMs,
    clockMs: () => clock.nowMs,
    random: () => 0.5,
    async sleep(ms: number) {
      // Let concurrent work of other processes advance.
      for (let n = 0; n < 5; n++) await tick();
      clock.nowMs += ms;
      waited.emit(String(++sleepCount));
    },
  };

  async function openJournalAs(owner: string): Promise<Journal> {
    const journal = await openJournal(await openSqlite(folder), { owner, now: timing.now });
    onTestFinished(() => journal.close());
    return journal;
  }
  const journal = await openJournalAs("nobody");

  return {
    clock,
    sent,
    deadOwners,
    journal,
    waitForSleeps: async (times: number) => void (await once(waited, String(sleepCount + times))),
    find: (key: string) => journal.find(SERVICE, key),
    async startWorker(owner: string, change = (real: Journal): Journal => real) {
      const isOwnerDead = (other: string) => deadOwners.has(other);
      const actions = createTestActions(change(await openJournalAs(owner)), SERVICE, {
        ...{ timing, monotonicMs: () => clock.nowMs + clock.aheadMs, isOwnerDead },
      });
      return {
        actions,
        async call(options: CallOptions = {}): Promise<CallOutcome> {
          const { arguments: args = { recipeVersionId: "recipe-1" }, key, answer = async () => "made" } = options;
          const call: ActionCall = {
            ...createSubmission(args, clock.nowMs),
            explicitKey: key,
            proposedKey: options.proposedKey,
            isDerivedKey: options.isDerivedKey,
            ...(options.apiClock && { apiClock: options.apiClock }),
            async send({ body }, sentKey, { mayHaveTakenEffect = false, onAttempt, assertMaySend }) {
              sent.push({ by: owner, key: sentKey, body, lost: mayHaveTakenEffect });
              onAttempt?.();
              return { value: await answer(() => assertMaySend?.()), drift: [], replayed: false };
            },
            createdId: () => undefined,
          };
          try {
            return { result: await actions.perform(call) };
          } catch (error) {
            if (error instanceof Failure) return { facts: toReport(error.facts) };
            throw error;
          }
        },
      };
    },
  };
}
