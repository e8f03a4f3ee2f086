// Tests retry_jobs on a clock that the retries advance: jobs that one call has no time for are not retried, but reported.
import { expect, test } from "vitest";
import type { ServiceActions } from "../../../src/actions/service-actions.ts";
import { CALL_LIMIT_MS, type Timing } from "../../../src/api-client/attempts.ts";
import { createApiClient } from "../../../src/api-client/client.ts";
import { Failure } from "../../../src/core/failure.ts";
import { createFailingTokenSource } from "../../../src/teams/tenancy/no-team.ts";
import { createRecipeOfferCache, createRetryCache } from "../../../src/toolkit/caches.ts";
import { retryMany } from "../../../src/toolkit/jobs/retrying.ts";
import type { ToolCall } from "../../../src/toolkit/tool-call.ts";
import * as samples from "../../contract/samples.ts";

const failIfUsed = (): never => {
  throw new Error("nothing of this is used here");
};

const STARTED_AT = Date.parse("2026-11-20T10:00:00.000Z");

/** An API that takes `retryMs` for each retry, with the times of the requests. */
function createSlowService(retryMs: number) {
  let nowMs = STARTED_AT;
  const timing: Timing = {
    now: () => nowMs,
    random: () => 0,
    sleep: async (ms) => {
      nowMs += ms;
    },
  };
  const sentAt: number[] = [];
  const actions: ServiceActions = {
    findExisting: async () => undefined,
    recordOutcome: failIfUsed,
    listUnresolved: failIfUsed,
    find: failIfUsed,
    readHistory: async () => ({ actions: [] }),
    findManyCreationArguments: async () => new Map(),
    findArguments: failIfUsed,
    list: failIfUsed,
    countUnresolved: failIfUsed,
    async perform({ arguments: { jobId } }) {
      sentAt.push(nowMs);
      nowMs += retryMs;
      const data = { ...samples.job, id: `${jobId}-again`, retryOfBatchId: jobId };
      const value = { data, meta: { requestId: "request-1" } };
      return { value, drift: [], replayed: false, attempts: 1, idempotencyKey: `key of ${jobId}`, origin: "new" };
    },
  };
  // The jobs must not be read, so the API decides about each retry.
  const tokens = createFailingTokenSource(
    new Failure({ kind: "forbidden", message: "No.", retryable: true, sideEffect: "none" }),
  );
  const transport = { exchange: failIfUsed, openStream: failIfUsed, proxyFor: failIfUsed, close: failIfUsed };
  const service = createApiClient({ baseUrl: async () => "https://mic.example", tokens, transport, timing });
  return { sentAt, timing, ports: { service, actions, offers: createRecipeOfferCache(), retries: createRetryCache() } };
}

const createToolCall = ({ now }: Timing): ToolCall => ({
  tool: "retry_jobs",
  context: { signal: new AbortController().signal, deadlineAt: now() + CALL_LIMIT_MS },
  isOffered: () => true,
  callActionTool: async () => undefined,
  report: () => undefined,
});

const options = { retryMode: "SAFE_RESUME", reason: "Slow, but sure", waitSeconds: 45 } as const;
const jobIds = Array.from({ length: 12 }, (_, at) => `micjob_${at}`);

test("retries that do not fit into one call are not sent, and are the next step", async () => {
  const { ports, timing, sentAt } = createSlowService(5_000);
  const { data, nextStep } = await retryMany({ jobIds, ...options }, createToolCall(timing), ports);
  expect(timing.now() - STARTED_AT).toBeLessThanOrEqual(CALL_LIMIT_MS);
  expect(sentAt.length).toBeGreaterThan(3);
  expect(sentAt.length).toBeLessThan(12);
  const outcomes = data.results.map(({ outcome }) => outcome);
  expect(outcomes.filter((outcome) => outcome === "retried")).toHaveLength(sentAt.length);
  const notSent = data.results.filter(({ outcome }) => outcome === "not sent").map(({ jobId }) => jobId);
  expect(notSent).toHaveLength(12 - sentAt.length);
  const { waitSeconds: _, ...again } = options;
  expect(nextStep).toMatchObject({ tool: "retry_jobs", arguments: { jobIds: notSent, ...again } });
});
