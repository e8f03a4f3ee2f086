// The responses of the stub service: fixed, and the same for each subject and each round.
import { STAGES } from "../src/contract/jobs.ts";
import type { Json, JsonObject } from "../src/contract/json.ts";
import { readCatalogue } from "../src/emulator/catalogue.ts";

const EPOCH_AT = Date.UTC(2026, 0, 5, 8);
export const WORKSPACE_ID = "micws_bench";

/** `number` as 32 hex digits that look random, because tokens are counted. */
function toHex32(number: number): string {
  let state = (number + 1) * 0x9e3779b1;
  const next = () => {
    state = Math.imul(state ^ (state >>> 15), 0x85ebca6b) + 0x6d2b79f5;
    return (state >>> 0).toString(16).padStart(8, "0");
  };
  return next() + next() + next() + next();
}

const timestampAt = (minutes: number): string => new Date(EPOCH_AT + minutes * 60_000).toISOString();

const createProblem = (number: number): JsonObject => ({
  type: "https://service.example/problems/stage-failed",
  title: "A stage could not be completed",
  status: 503,
  code: "STAGE_TEMPORARILY_FAILED",
  requestId: `micreq_${toHex32(number + 9_000)}`,
  retryable: true,
  fieldErrors: [],
});

function stageState(number: number, stage: number): string {
  const done = number % 10;
  if (stage < done) return "SUCCEEDED";
  if (stage > done) return "PENDING";
  return number % 7 === 0 ? "FAILED" : "RUNNING";
}

/** Jobs in different stages: about one in seven has failed, and one in ten has succeeded. */
function createJob(number: number): JsonObject {
  const stages = STAGES.map((stage, index) => {
    const state = stageState(number, index);
    const completedUnits = state === "SUCCEEDED" ? 100 : state === "PENDING" ? 0 : 40 + index;
    return { stage, state, attemptCount: state === "PENDING" ? 0 : 1, completedUnits, totalUnits: 100 };
  });
  const done = number % 10 === 9;
  const failed = stages.some(({ state }) => state === "FAILED");
  const state = done ? "SUCCEEDED" : failed ? "FAILED" : "RUNNING";
  return {
    id: `micjob_${toHex32(number)}`,
    workspaceId: WORKSPACE_ID,
    environment: "SANDBOX",
    state,
    resourceVersion: 3 + (number % 19),
    createdAt: timestampAt(number * 3),
    updatedAt: timestampAt(number * 3 + 17),
    recipeVersionId: `micrecipev_${toHex32(number % 4)}`,
    processingState: state,
    publicationState: "NOT_REQUESTED",
    outputDatasetVersionId: done ? `micdsv_${toHex32(number + 500)}` : null,
    reviewState: "NOT_REQUIRED",
    stages: done ? stages.map((stage) => ({ ...stage, state: "SUCCEEDED", completedUnits: 100 })) : stages,
    retryOfBatchId: null,
    failure: failed ? createProblem(number) : null,
  };
}

export const createJobPage = (count: number): JsonObject => ({
  data: Array.from({ length: count }, (_, number): Json => createJob(number)),
  meta: { requestId: `micreq_${toHex32(1)}` },
  page: { nextCursor: null, hasMore: false },
});

const JOB_NUMBER = 5;
export const job = createJob(JOB_NUMBER);
export const INPUT_ID = `micinput_${toHex32(7)}`;
export const JOB_ID = `micjob_${toHex32(JOB_NUMBER)}`;

export const { states } = readCatalogue();

export const input: JsonObject = {
  id: INPUT_ID,
  workspaceId: WORKSPACE_ID,
  environment: "SANDBOX",
  state: "READY",
  resourceVersion: "1",
  createdAt: timestampAt(0),
  updatedAt: timestampAt(1),
  inputKind: "ACQUISITION",
  referenceId: "acquisition-1",
  sha256: toHex32(11) + toHex32(12),
  scanState: "CLEAN",
  classification: "INTERNAL",
  expiresAt: null,
};

export const toEnvelope = (data: Json): JsonObject => ({ data, meta: { requestId: `micreq_${toHex32(2)}` } });
