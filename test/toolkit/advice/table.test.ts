// The table of what is told, row by row: every state and outcome, its sentence and its one step.
import { describe, expect, test } from "vitest";
import { Input, InputState, ScanState } from "../../../src/contract/inputs.ts";
import { Job, JobState, STAGES } from "../../../src/contract/jobs.ts";
import { Operation, OperationState } from "../../../src/contract/operation.ts";
import type { Problem } from "../../../src/contract/problem.ts";
import { ProcessingRequest, ProcessingRequestState, ReasonCode } from "../../../src/contract/processing-requests.ts";
import { jobAdvice } from "../../../src/toolkit/advice/job.ts";
import type { JobHistory } from "../../../src/toolkit/advice/job-facts.ts";
import { INPUT, JOB, OPERATION, PROCESSING_REQUEST } from "../../../src/toolkit/advice/phrases.ts";
import { inputSubject, operationSubject, processingRequestSubject } from "../../../src/toolkit/advice/subjects.ts";
import type { Advice, NextStep } from "../../../src/toolkit/results.ts";
import { tools } from "../../../tools/index.ts";

const AT = "2027-01-15T10:00:00.000Z";
const hex32 = "0".repeat(32);
const hex64 = "0".repeat(64);

const problem = (change: Partial<Problem> = {}): Problem => ({
  type: "https://service.example/problems/x",
  title: 'The stage "broke"',
  status: 503,
  code: "STAGE_BROKE",
  requestId: "r-1",
  retryable: true,
  fieldErrors: [],
  ...change,
});

/** Two stages done, the third at work. */
function job(change: Partial<Job> = {}, third: Partial<Job["stages"][number]> = {}): Job {
  const stages = STAGES.map((stage, index) => ({
    stage,
    state: index < 2 ? ("SUCCEEDED" as const) : ("PENDING" as const),
    attemptCount: index < 2 ? 1 : 0,
    completedUnits: index < 2 ? 10 : 0,
    totalUnits: 10,
    ...(index === 2 && { state: "RUNNING" as const, attemptCount: 1, completedUnits: 4, ...third }),
  }));
  return Job.parse({
    id: "job-1",
    workspaceId: "micws_1",
    environment: "SANDBOX",
    state: "RUNNING",
    resourceVersion: 7,
    createdAt: AT,
    updatedAt: AT,
    recipeVersionId: `micrecipev_${hex32}`,
    processingState: "RUNNING",
    publicationState: "NOT_REQUESTED",
    outputDatasetVersionId: null,
    reviewState: "NOT_REQUIRED",
    stages,
    retryOfBatchId: null,
    failure: null,
    ...change,
  });
}

const failed = (failure: Partial<Problem>, attemptCount = 1, change: Partial<Job> = {}): Job =>
  job({ state: "FAILED", failure: problem(failure), ...change }, { state: "FAILED", attemptCount });

const unresolved = {
  tool: "cancel_job",
  state: "unknown" as const,
  isRefused: false,
  idempotencyKey: "mic-key-0001",
  arguments: { jobId: "job-1", reason: "wrong file" },
  sentAt: AT,
};
const restarted: JobHistory = { restarted: true };
const retriedAs = (id: string | undefined): JobHistory => ({ retry: { id } });
const HOUR_MS = 3_600_000;

const pointer = (at: string) => ({ pointer: at, code: "WRONG", message: "no" });

type Step = Pick<NextStep, "tool" | "arguments"> & { readonly why: RegExp };
const retry = (retryMode: string, why: RegExp): Step => ({
  tool: "retry_job",
  arguments: { jobId: "job-1", retryMode, reason: "Retry after STAGE_BROKE" },
  why,
});
const readRetry: Step = { tool: "get_job", arguments: { jobId: "job-2" }, why: /how the retry stands/ };
const findRetry: Step = {
  tool: "list_jobs",
  arguments: { workspaceId: "micws_1", view: "full" },
  why: /retryOfBatchId is this one/,
};
const wait: Step = { tool: "get_job", arguments: { jobId: "job-1", waitSeconds: 45 }, why: /waits/ };
const readRecipe = (why: RegExp): Step => ({
  tool: "get_recipe",
  arguments: { versionId: `micrecipev_${hex32}` },
  why,
});
const GIVE_UP = /stop retrying|give up/;

interface JobRow {
  readonly row: keyof typeof JOB;
  readonly of: Job;
  readonly history?: JobHistory;
  /** When it was read, after it was updated. */
  readonly afterMs?: number;
  readonly says: readonly RegExp[];
  readonly step?: Step;
}

const JOBS: readonly JobRow[] = [
  {
    row: "moving",
    of: job({ state: "PREPARING" }, { state: "PENDING" }),
    says: [/PREPARING/, /REFINE.* next/],
    step: wait,
  },
  { row: "moving", of: job({ state: "QUEUED" }, { state: "PENDING" }), says: [/QUEUED/], step: wait },
  { row: "moving", of: job(), says: [/RUNNING, at stage REFINE \(3 of 9\), 4 of 10 units/], step: wait },
  { row: "moving", of: job({}, { totalUnits: null }), says: [/, 4 units/], step: wait },
  { row: "moving", of: job({ stages: [] }), says: [/^The job is RUNNING\.$/], step: wait },
  { row: "moving", of: job({ retryOfBatchId: "job-0" }), says: [/a retry of job-0/], step: wait },
  { row: "moving", of: job(), afterMs: HOUR_MS - 1, says: [/units\.$/], step: wait },
  // Its clock is behind what it says of the job.
  { row: "moving", of: job(), afterMs: -HOUR_MS, says: [/units\.$/], step: wait },
  ...(["PREPARING", "QUEUED", "RUNNING"] as const).map(
    (state): JobRow => ({
      row: "standing still",
      of: job({ state }),
      afterMs: 4 * 24 * HOUR_MS,
      says: [
        new RegExp(`${state}, at stage REFINE`),
        /Nothing has moved since 2027-01-15T10:00:00\.000Z \(4 days\)/,
        /operator.*cancel it/,
      ],
    }),
  ),
  { row: "standing still", of: job(), afterMs: HOUR_MS, says: [/\(1 h\)/] },
  {
    row: "waiting for review",
    of: job({ state: "WAITING_REVIEW" }, { state: "WAITING_REVIEW" }),
    says: [/a person's review/, /REFINE/, /waitSeconds/, /or cancel\.$/],
  },
  {
    row: "waiting for review",
    of: job({ state: "WAITING_REVIEW" }),
    afterMs: 30 * HOUR_MS,
    says: [/Nothing has moved since .* \(30 h\)\.$/],
  },
  { row: "paused", of: job({ state: "PAUSED" }), says: [/PAUSED/, /operator/, /waitSeconds/] },
  {
    row: "paused",
    of: job({ state: "PAUSED" }),
    afterMs: 3 * HOUR_MS,
    says: [/Nothing has moved since .* \(3 h\)\.$/],
  },
  { row: "succeeded", of: job({ state: "SUCCEEDED" }), says: [/^The job SUCCEEDED\.$/] },
  {
    row: "succeeded",
    of: job({ state: "SUCCEEDED", outputDatasetVersionId: "dsv-9", publicationState: "AWAITING_RELEASE" }),
    says: [/dsv-9/, /Publication: AWAITING_RELEASE \(the API advances it; get_job shows it\)\.$/],
  },
  { row: "cancelled", of: job({ state: "CANCELLED" }), says: [/CANCELLED/, /2 of 9 stages finished/] },
  {
    row: "cancelled, retried",
    of: job({ state: "CANCELLED" }),
    history: retriedAs("job-2"),
    says: [/CANCELLED; 2 of 9/, /retried as job job-2\.$/],
    step: readRetry,
  },
  ...[failed({}), failed({ retryable: false }), failed({}, 3), failed({}, 1, { reviewState: "REJECTED" })].map(
    (of): JobRow => ({
      row: "failed, retried",
      of,
      history: retriedAs("job-2"),
      says: [/FAILED.*STAGE_BROKE/, /retried as job job-2\.$/, /^(?!.*(may be retried|[Gg]ive up))/],
      step: readRetry,
    }),
  ),
  {
    row: "failed, retried",
    of: job({ state: "FAILED" }, { state: "FAILED" }),
    history: retriedAs(undefined),
    says: [/units\. It was retried, by a job whose id was not learned/],
    step: findRetry,
  },
  { row: "failed, unexplained", of: job({ state: "FAILED" }, { state: "FAILED" }), says: [/gives no reason/] },
  {
    row: "failed, rejected in review",
    of: failed({}, 1, { reviewState: "REJECTED" }),
    says: [/REJECTED it in review/, /ask them/],
  },
  {
    row: "failed, worth resuming",
    of: failed({}),
    says: [/STAGE_BROKE "The stage \\"broke\\""/, /may be retried/],
    step: retry("SAFE_RESUME", /keeps the 2 of 9 stages finished/),
  },
  { row: "failed, worth resuming", of: failed({}, 2), says: [/may be retried/], step: retry("SAFE_RESUME", /keeps/) },
  {
    row: "failed, worth resuming",
    of: failed({}, 1, { stages: [], retryOfBatchId: "job-0" }),
    says: [/may be retried/],
    step: retry("SAFE_RESUME", /0 of 0/),
  },
  {
    row: "failed, worth restarting",
    of: failed({}, 2, { retryOfBatchId: "job-0" }),
    says: [/Resuming ended at REFINE again/],
    step: retry("RESTART", /REFINE again/),
  },
  { row: "failed again and again", of: failed({}, 3), says: [/REFINE has failed 3 times/, GIVE_UP] },
  { row: "failed again and again", of: failed({}, 1000), says: [/1000 times/, GIVE_UP] },
  {
    row: "failed again and again",
    of: failed({}, 1, { retryOfBatchId: "job-0" }),
    history: restarted,
    says: [/after a RESTART too/, GIVE_UP],
  },
  {
    row: "failed, input or parameters wrong",
    of: failed({ retryable: false, fieldErrors: [pointer("/parameterValues/year"), pointer("/inputBindings/0")] }),
    says: [/correct \/parameterValues\/year, \/inputBindings\/0 and submit a new one/],
    step: readRecipe(/there; correct that first, then submit_job/),
  },
  {
    row: "failed, input or parameters wrong",
    of: failed({ retryable: false, fieldErrors: ["/a", "/b", "/c", "/d", "/e"].map(pointer) }),
    says: [/correct \/a, \/b, \/c and 2 more/],
    step: readRecipe(/submit_job/),
  },
  { row: "failed for good", of: failed({ retryable: false }), says: [/nothing to correct/, GIVE_UP] },
  ...(["RUNNING", "FAILED", "PAUSED"] as const).map(
    (state): JobRow => ({
      row: "unresolved",
      of: job({ state }),
      history: { unresolved, retry: { id: "job-2" } },
      says: [new RegExp(state), /cancel_job call .*2027-01-15T10:00:00.000Z.* unknown outcome/],
      step: { tool: "resolve_actions", arguments: { idempotencyKey: "mic-key-0001" }, why: /never runs twice/ },
    }),
  ),
];

function expectAdvice(advice: Advice, says: readonly RegExp[], step: Step | undefined): void {
  for (const words of says) expect(advice.summary).toMatch(words);
  // One plain sentence or two, and never a hole where a fact should stand.
  expect(advice.summary).toMatch(/\.$/);
  expect(JSON.stringify(advice)).not.toMatch(/undefined|null|NaN|\[object/);
  expect(advice.nextStep).toEqual(step && { ...step, why: expect.stringMatching(step.why) });
  if (!step) return;
  const tool = tools.find(({ name }) => name === step.tool);
  expect(Object.keys(Object(tool?.inputSchema()["properties"]))).toEqual(
    expect.arrayContaining(Object.keys(step.arguments)),
  );
}

describe("a job", () => {
  test.each(JOBS.map((row) => [row.row, row.of.state, row] as const))("%s (%s)", (_name, _state, row) =>
    expectAdvice(
      jobAdvice(row.of, row.history, row.afterMs === undefined ? undefined : Date.parse(AT) + row.afterMs),
      row.says,
      row.step,
    ),
  );

  test("every row of the table is tested, and every state has one", () => {
    expect(new Set(JOBS.map(({ row }) => row))).toEqual(new Set(Object.keys(JOB)));
    expect(new Set(JOBS.map(({ of }) => of.state))).toEqual(new Set(JobState.options));
  });
});

const operation = (change: Partial<Operation> = {}): Operation =>
  Operation.parse({
    id: "op-1",
    workspaceId: "micws_1",
    environment: "SANDBOX",
    state: "RUNNING",
    resourceVersion: 1,
    createdAt: AT,
    updatedAt: AT,
    originatingResourceId: "job-1",
    operationType: "JOB_CANCELLATION",
    requiredScopes: [],
    resultResourceId: null,
    failure: null,
    ...change,
  });

const look = (jobId: string): Step => ({ tool: "get_job", arguments: { jobId }, why: /shows/ });
const waitOn: Step = { tool: "get_operation", arguments: { operationId: "op-1", waitSeconds: 45 }, why: /waits/ };

const OPERATIONS: readonly (readonly [keyof typeof OPERATION, Operation, RegExp, Step])[] = [
  ["moving", operation({ state: "QUEUED" }), /"JOB_CANCELLATION"\) is QUEUED/, waitOn],
  ["moving", operation(), /is RUNNING/, waitOn],
  ["succeeded", operation({ state: "SUCCEEDED" }), /SUCCEEDED/, look("job-1")],
  ["succeeded", operation({ state: "SUCCEEDED", resultResourceId: "job-2" }), /SUCCEEDED/, look("job-2")],
  [
    "failed, retryable",
    operation({ state: "FAILED", failure: problem() }),
    /STAGE_BROKE.*asked for again/,
    look("job-1"),
  ],
  ["failed", operation({ state: "FAILED", failure: problem({ retryable: false }) }), /STAGE_BROKE/, look("job-1")],
  ["failed, unexplained", operation({ state: "FAILED" }), /no reason/, look("job-1")],
  ["cancelled", operation({ state: "CANCELLED" }), /itself CANCELLED/, look("job-1")],
];

describe("an operation", () => {
  test.each(OPERATIONS)("%s", (_row, of, says, step) => expectAdvice(operationSubject.advise(of), [says], step));

  test("every row and every state is tested", () => {
    expect(new Set(OPERATIONS.map(([row]) => row))).toEqual(new Set(Object.keys(OPERATION)));
    expect(new Set(OPERATIONS.map(([, { state }]) => state))).toEqual(new Set(OperationState.options));
  });
});

const input = (state: Input["state"], scanState: Input["scanState"], change: Partial<Input> = {}): Input =>
  Input.parse({
    id: "micinput_1",
    workspaceId: "micws_1",
    environment: "SANDBOX",
    state,
    resourceVersion: "1",
    createdAt: AT,
    updatedAt: AT,
    inputKind: "M4_FILE",
    referenceId: "devfile_1",
    sha256: hex64,
    scanState,
    classification: "INTERNAL",
    expiresAt: null,
    ...change,
  });

const readInput = (why: RegExp): Step => ({
  tool: "get_input",
  arguments: { inputId: "micinput_1", waitSeconds: 45 },
  why,
});
const registerAgain = (inputKind: string, referenceId: string): Step => ({
  tool: "register_input",
  arguments: {
    workspaceId: "micws_1",
    inputKind,
    referenceId,
    idempotencyKey: expect.stringMatching(/^again-[0-9a-f]{16}$/),
  },
  why: /new input/,
});

const INPUTS: readonly (readonly [keyof typeof INPUT, Input, RegExp, Step | undefined])[] = [
  ["in scan", input("WAITING_SCAN", "PENDING"), /waits for its scan \(scan PENDING\)/, readInput(/waits for the scan/)],
  ["scan stuck", input("WAITING_SCAN", "UNAVAILABLE"), /UNAVAILABLE.*operator/, readInput(/minutes/)],
  ["scan stuck", input("WAITING_SCAN", "STALE"), /STALE/, readInput(/minutes/)],
  ["ready", input("READY", "CLEAN"), /READY: bind it to a port/, undefined],
  ["ready", input("READY", "NOT_APPLICABLE"), /READY/, undefined],
  ["infected", input("QUARANTINED", "INFECTED"), /INFECTED.*another file/, undefined],
  ["quarantined", input("QUARANTINED", "UNAVAILABLE"), /scan UNAVAILABLE/, undefined],
  ["expired", input("EXPIRED", "CLEAN"), /EXPIRED/, registerAgain("M4_FILE", "devfile_1")],
  [
    "expired",
    input("EXPIRED", "NOT_APPLICABLE", { inputKind: "DATASET_VERSION", referenceId: "dsv-1" }),
    /EXPIRED/,
    registerAgain("DATASET_VERSION", "dsv-1"),
  ],
  // No call could register it: the contract wants another prefix of a file's id.
  ["expired", input("EXPIRED", "CLEAN", { referenceId: "file-1" }), /EXPIRED/, undefined],
  ["withdrawn", input("WITHDRAWN", "CLEAN"), /WITHDRAWN/, undefined],
];

describe("an input", () => {
  test.each(INPUTS)("%s", (_row, of, says, step) => expectAdvice(inputSubject.advise(of), [says], step));

  test("every row and every state is tested", () => {
    expect(new Set(INPUTS.map(([row]) => row))).toEqual(new Set(Object.keys(INPUT)));
    expect(new Set(INPUTS.map(([, { state }]) => state))).toEqual(new Set(InputState.options));
    expect(new Set(INPUTS.map(([, { scanState }]) => scanState))).toEqual(new Set(ScanState.options));
  });
});

const request = (state: ProcessingRequest["state"], reasonCode: ProcessingRequest["reasonCode"]): ProcessingRequest =>
  ProcessingRequest.parse({
    id: `micsharedrequest_${hex32}`,
    sourceOrigin: "SHARED_FILE_REQUEST",
    workspaceId: "micws_1",
    inputId: `micinput_${hex32}`,
    recipeVersionId: `micrecipev_${hex32}`,
    state,
    revision: 1,
    requestHash: hex64,
    reviewHash: null,
    reasonCode,
    createdAt: AT.replace(".000", ""),
    expiresAt: "2027-02-01T00:00:00Z",
  });

const readRequest: Step = {
  tool: "get_file_processing_request",
  arguments: { requestId: `micsharedrequest_${hex32}`, waitSeconds: 45 },
  why: /later/,
};

const REQUESTS: readonly (readonly [keyof typeof PROCESSING_REQUEST, ProcessingRequest, RegExp, Step | undefined])[] = [
  ["in review", request("SUBMITTED", null), /SUBMITTED: a person reviews it/, readRequest],
  ["in review", request("REVIEWABLE", null), /REVIEWABLE/, readRequest],
  [
    "approved",
    request("APPROVED", "REVIEWED_PROCESSING_PURPOSE"),
    /APPROVED \(REVIEWED_PROCESSING_PURPOSE\) until 2027-02-01T00:00:00Z/,
    readRecipe(/submit_job/),
  ],
  ["rejected", request("REJECTED", null), /another purpose, file or recipe/, undefined],
  ["rejected", request("REJECTED", "ACCESS_NO_LONGER_REQUIRED"), /ACCESS_NO_LONGER_REQUIRED/, undefined],
  ["rejected, purpose", request("REJECTED", "PURPOSE_NOT_ALLOWED"), /needs another purpose\.$/, undefined],
  ["rejected, source", request("REJECTED", "SOURCE_NOT_ELIGIBLE"), /needs another file\.$/, undefined],
  ["revoked", request("REVOKED", "ACCESS_NO_LONGER_REQUIRED"), /no longer be processed\.$/, undefined],
  ["revoked, security", request("REVOKED", "SECURITY_REVOKED"), /do not ask again/, undefined],
];

describe("a processing request", () => {
  test.each(REQUESTS)("%s", (_row, of, says, step) => expectAdvice(processingRequestSubject.advise(of), [says], step));

  test("every row, state and reason is tested", () => {
    expect(new Set(REQUESTS.map(([row]) => row))).toEqual(new Set(Object.keys(PROCESSING_REQUEST)));
    expect(new Set(REQUESTS.map(([, { state }]) => state))).toEqual(new Set(ProcessingRequestState.options));
    const reasons = new Set(REQUESTS.flatMap(([, { reasonCode }]) => reasonCode ?? []));
    expect(reasons).toEqual(new Set(ReasonCode.options));
  });
});
