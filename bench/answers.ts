// What the stub service answers: fixed, the same for every subject and every round.
import { STAGES } from "../src/contract/jobs.ts";
import type { Json, JsonObject } from "../src/contract/json.ts";
import { createCatalogue } from "../src/emulator/geography/catalogue.ts";

const EPOCH_AT = Date.UTC(2026, 0, 5, 8);
export const WORKSPACE_ID = "micws_bench";

/** `number` as 32 hex digits that look like an id's: tokens are counted. */
function hex32(number: number): string {
  let state = (number + 1) * 0x9e3779b1;
  const next = () => {
    state = Math.imul(state ^ (state >>> 15), 0x85ebca6b) + 0x6d2b79f5;
    return (state >>> 0).toString(16).padStart(8, "0");
  };
  return next() + next() + next() + next();
}

const at = (minutes: number): string => new Date(EPOCH_AT + minutes * 60_000).toISOString();

const problem = (number: number): JsonObject => ({
  type: "https://service.example/problems/stage-failed",
  title: "A stage could not be completed",
  status: 503,
  code: "STAGE_TEMPORARILY_FAILED",
  requestId: `micreq_${hex32(number + 9_000)}`,
  retryable: true,
  fieldErrors: [],
});

function stageState(number: number, stage: number): string {
  const done = number % 10;
  if (stage < done) return "SUCCEEDED";
  if (stage > done) return "PENDING";
  return number % 7 === 0 ? "FAILED" : "RUNNING";
}

/** Jobs of every age: about one in seven has failed, one in ten is done. */
function makeJob(number: number): JsonObject {
  const stages = STAGES.map((stage, index) => {
    const state = stageState(number, index);
    const completedUnits = state === "SUCCEEDED" ? 100 : state === "PENDING" ? 0 : 40 + index;
    return { stage, state, attemptCount: state === "PENDING" ? 0 : 1, completedUnits, totalUnits: 100 };
  });
  const done = number % 10 === 9;
  const failed = stages.some(({ state }) => state === "FAILED");
  const state = done ? "SUCCEEDED" : failed ? "FAILED" : "RUNNING";
  return {
    id: `micjob_${hex32(number)}`,
    workspaceId: WORKSPACE_ID,
    environment: "SANDBOX",
    state,
    resourceVersion: 3 + (number % 19),
    createdAt: at(number * 3),
    updatedAt: at(number * 3 + 17),
    recipeVersionId: `micrecipev_${hex32(number % 4)}`,
    processingState: state,
    publicationState: "NOT_REQUESTED",
    outputDatasetVersionId: done ? `micdsv_${hex32(number + 500)}` : null,
    reviewState: "NOT_REQUIRED",
    stages: done ? stages.map((stage) => ({ ...stage, state: "SUCCEEDED", completedUnits: 100 })) : stages,
    retryOfBatchId: null,
    failure: failed ? problem(number) : null,
  };
}

export const jobPage = (count: number): JsonObject => ({
  data: Array.from({ length: count }, (_, number): Json => makeJob(number)),
  meta: { requestId: `micreq_${hex32(1)}` },
  page: { nextCursor: null, hasMore: false },
});

const ONE_JOB = 5;
export const job = makeJob(ONE_JOB);
export const JOB_ID = `micjob_${hex32(ONE_JOB)}`;

export const { states } = createCatalogue();

export const input: JsonObject = {
  id: `micinput_${hex32(7)}`,
  workspaceId: WORKSPACE_ID,
  environment: "SANDBOX",
  state: "READY",
  resourceVersion: "1",
  createdAt: at(0),
  updatedAt: at(1),
  inputKind: "ACQUISITION",
  referenceId: "acquisition-1",
  sha256: hex32(11) + hex32(12),
  scanState: "CLEAN",
  classification: "INTERNAL",
  expiresAt: null,
};

export const envelope = (data: Json): JsonObject => ({ data, meta: { requestId: `micreq_${hex32(2)}` } });
