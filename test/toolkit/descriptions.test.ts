// Tests the advice on a resource: each state and outcome has its sentence and at most one step. The pages in test/snapshots have the usual
// ones; this table has the others.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { Input, InputState, ScanState } from "../../src/contract/inputs.ts";
import { Job, JobState, STAGES } from "../../src/contract/jobs.ts";
import { Operation, OperationState } from "../../src/contract/operation.ts";
import type { Problem } from "../../src/contract/problem.ts";
import { ProcessingRequest, ProcessingRequestState, ReasonCode } from "../../src/contract/processing-requests.ts";
import { RecipeOffer } from "../../src/contract/recipes.ts";
import { AGENT, render } from "../../src/core/text.ts";
import { createRecipeOfferCache } from "../../src/toolkit/caches.ts";
import { describeInput } from "../../src/toolkit/describe/input.ts";
import { describeJob, type JobHistory } from "../../src/toolkit/describe/job.ts";
import { describeOperation } from "../../src/toolkit/describe/operation.ts";
import { describeRequestWith } from "../../src/toolkit/describe/processing-request.ts";
import type { Advice, NextStep } from "../../src/toolkit/results.ts";
import { tools } from "../../tools/index.ts";
import * as samples from "../contract/samples.ts";

const AT = "2027-01-15T10:00:00.000Z";
const hex32 = "0".repeat(32);
const HOUR_MS = 3_600_000;

const problem = (change: Partial<Problem> = {}): Problem => ({
  ...samples.problem,
  ...{ title: 'The stage "broke"', status: 503, code: "STAGE_BROKE", fieldErrors: [] },
  ...change,
});

/** A job with two finished stages, the third of which is running. */
function job(change: Partial<Job> = {}, third: Partial<Job["stages"][number]> = {}): Job {
  const done = { state: "SUCCEEDED", attemptCount: 1, completedUnits: 10, totalUnits: 10 };
  const runningStage = { state: "RUNNING", attemptCount: 1, completedUnits: 4, totalUnits: 10, ...third };
  const pending = { state: "PENDING", attemptCount: 0, completedUnits: 0, totalUnits: 10 };
  const stages = STAGES.map((stage, index) => ({
    stage,
    ...(index < 2 ? done : index === 2 ? runningStage : pending),
  }));
  const fresh = { updatedAt: AT, recipeVersionId: `micrecipev_${hex32}`, outputDatasetVersionId: null };
  return Job.parse({ ...samples.job, ...fresh, stages, retryOfBatchId: null, ...change });
}

const failed = (failure: Partial<Problem>, attemptCount = 1, change: Partial<Job> = {}): Job =>
  job({ state: "FAILED", failure: problem(failure), ...change }, { state: "FAILED", attemptCount });

const retriedAs = (id: string | undefined): JobHistory => ({ retry: { id } });
const unresolved = { tool: "cancel_job", idempotencyKey: "mic-key-0001", createdAt: AT } as const;
const failedAt = (...pointers: readonly string[]): Job =>
  failed({ retryable: false, fieldErrors: pointers.map((pointer) => ({ pointer, code: "WRONG", message: "no" })) });

type Step = Pick<NextStep, "tool" | "arguments"> & { readonly why: RegExp };

const stepTo = (tool: Step["tool"], args: Step["arguments"], why: RegExp): Step => ({ tool, arguments: args, why });
const retry = (retryMode: string, why: RegExp): Step =>
  stepTo("retry_job", { jobId: "job-1", retryMode, reason: "Retry after STAGE_BROKE", waitSeconds: 45 }, why);
const readRetry = stepTo("get_job", { jobId: "job-2" }, /shows the retry/);
const findRetry = stepTo("list_jobs", { workspaceId: "micws_1", view: "full" }, /retryOfBatchId is this one/);
const wait = stepTo("get_job", { jobId: "job-1", waitSeconds: 45 }, /waits/);
const readRecipe = (why: RegExp): Step => stepTo("get_recipe", { versionId: `micrecipev_${hex32}` }, why);
const correctRecipe = readRecipe(/correct the named fields, then submit a new job/);
const resolve = stepTo("resolve_actions", { idempotencyKey: "mic-key-0001" }, /never runs twice/);

/** `afterMs`: time from the update to the read, in milliseconds. */
type AdviceContext = JobHistory & { readonly afterMs?: number };
type JobRow = readonly [row: string, of: Job, says: readonly RegExp[], step?: Step, more?: AdviceContext];

const since = /It has not changed since 2027-01-15T10:00:00\.000Z \(4 days\)/;
const stalled = [/PREPARING, at stage REFINE/, since, /operator.*cancel the job/];
const retriedPatterns = [/FAILED.*STAGE_BROKE/, /retried as job job-2\.$/, /^(?!.*(may be retried|[Gg]ive up))/];
const callUnresolved = /Its cancellation, sent at 2027-01-15T10:00:00.000Z, has an unknown outcome/;
const resuming = "failed, worth resuming";
const wrong = "failed, input or parameters wrong";

const JOBS: readonly JobRow[] = [
  ["in progress", job({}, { totalUnits: null }), [/, 4 units/], wait],
  ["in progress", job({}, { completedUnits: 8, totalUnits: 6 }), [/, 8 units\./], wait],
  ["in progress", job({ stages: [] }), [/^The job is RUNNING\.$/], wait],
  ["in progress", job({ retryOfBatchId: "job-0" }), [/a retry of job-0/], wait],
  ["in progress", job(), [/units\.$/], wait, { afterMs: HOUR_MS - 1 }],
  // The read is earlier than the update, because the clocks differ.
  ["in progress", job(), [/units\.$/], wait, { afterMs: -HOUR_MS }],
  ["stalled", job({ state: "PREPARING" }), stalled, undefined, { afterMs: 96 * HOUR_MS }],
  ["stalled", job(), [/\(1 h\)/], undefined, { afterMs: HOUR_MS }],
  ["paused", job({ state: "PAUSED" }), [/It has not changed since .* \(3 h\)\.$/], undefined, { afterMs: 3 * HOUR_MS }],
  ["succeeded", job({ state: "SUCCEEDED" }), [/^The job SUCCEEDED\.$/]],
  [
    "succeeded",
    job({ state: "SUCCEEDED", publicationState: "AWAITING_RELEASE" }),
    [/: AWAITING_RELEASE \(not released/],
  ],
  ["cancelled", job({ state: "CANCELLED", stages: [] }), [/^The job is CANCELLED\. It can be retried\./]],
  ["cancelled, retried", job({ state: "CANCELLED" }), [/CANCELLED; 2 of 9/], readRetry, retriedAs("job-2")],
  ["failed, retried", failed({ retryable: false }), retriedPatterns, readRetry, retriedAs("job-2")],
  ["failed, retried", failed({}, 1, { reviewState: "REJECTED" }), retriedPatterns, readRetry, retriedAs("job-2")],
  ["failed, retried", job({ state: "FAILED" }), [/but the id of that job is not/], findRetry, retriedAs(undefined)],
  [
    resuming,
    failed({}, 1, { stages: [], retryOfBatchId: "job-0" }),
    [/may be/],
    retry("SAFE_RESUME", /keeps the finished stages$/),
  ],
  [
    "failed, worth restarting",
    failed({}, 2, { retryOfBatchId: "job-0" }),
    [/A resumed run failed at REFINE again/],
    retry("RESTART", /REFINE failed again.*ask the user/),
  ],
  [wrong, failedAt("/a", "/b", "/c", "/d", "/e"), [/correct \/a, \/b, \/c and 2 more/], correctRecipe],
  ["unresolved", failed({}), [/FAILED/, callUnresolved], resolve, { unresolved, ...retriedAs("job-2") }],
];

function expectAdvice(advice: Advice, patterns: readonly RegExp[], step: Step | undefined): void {
  const summary = render(advice.summary, AGENT);
  for (const pattern of patterns) expect(summary).toMatch(pattern);
  const nextStep = advice.nextStep && { ...advice.nextStep, why: render(advice.nextStep.why, AGENT) };
  // The summary ends with a period, and no fact is missing.
  expect(summary).toMatch(/\.$/);
  expect(JSON.stringify({ summary, nextStep })).not.toMatch(/undefined|null|NaN|\[object/);
  expect(nextStep).toEqual(step && { ...step, why: expect.stringMatching(step.why) });
  if (!step) return;
  const tool = tools.find(({ name }) => name === step.tool);
  expect(tool?.argumentNames).toEqual(expect.arrayContaining(Object.keys(step.arguments)));
}

const operation = (change: Partial<Operation>): Operation =>
  Operation.parse({ ...samples.operation, id: "op-1", resultResourceId: null, ...change });
const readJobStep = (jobId: string): Step => stepTo("get_job", { jobId }, /shows/);
const failedOperation = (retryable: boolean) => operation({ state: "FAILED", failure: problem({ retryable }) });

const pageOf = (tool: string): string => readFileSync(`test/snapshots/${tool}.md`, "utf8");

type Row<T> = readonly [row: string, of: T, says: RegExp, step?: Step];

const OPERATIONS: readonly Row<Operation>[] = [
  ["succeeded", operation({ state: "SUCCEEDED", resultResourceId: "job-2" }), /SUCCEEDED/, readJobStep("job-2")],
  ["failed, retryable", failedOperation(true), /STAGE_BROKE.*can be requested again/, readJobStep("job-1")],
  ["failed", failedOperation(false), /STAGE_BROKE/, readJobStep("job-1")],
  ["failed, unexplained", operation({ state: "FAILED" }), /no reason/, readJobStep("job-1")],
  ["cancelled", operation({ state: "CANCELLED" }), /was CANCELLED/, readJobStep("job-1")],
];

const input = (state: Input["state"], scanState: Input["scanState"], change: Partial<Input> = {}): Input =>
  Input.parse({ ...samples.input, id: "micinput_1", state, scanState, ...change });
const readInput = (why: RegExp): Step => stepTo("get_input", { inputId: "micinput_1", waitSeconds: 45 }, why);
const registerAgain = (inputKind: string, referenceId: string): Step => {
  const idempotencyKey = expect.stringMatching(/^again-[0-9a-f]{16}$/);
  return stepTo("register_input", { workspaceId: "micws_1", inputKind, referenceId, idempotencyKey }, /new input/);
};
const dataset = { inputKind: "DATASET_VERSION", referenceId: "dsv-1" } as const;

const INPUTS: readonly Row<Input>[] = [
  ["scan stuck", input("WAITING_SCAN", "UNAVAILABLE"), /UNAVAILABLE.*operator/, readInput(/minutes/)],
  ["scan stuck", input("WAITING_SCAN", "STALE"), /STALE/, readInput(/minutes/)],
  ["quarantined", input("QUARANTINED", "UNAVAILABLE"), /scan UNAVAILABLE/],
  ["expired", input("EXPIRED", "NOT_APPLICABLE", dataset), /EXPIRED/, registerAgain("DATASET_VERSION", "dsv-1")],
  // No call could register it: the contract requires another prefix for the id of a file.
  ["expired", input("EXPIRED", "CLEAN", { referenceId: "file-1" }), /EXPIRED/],
];

const request = (state: ProcessingRequest["state"], reasonCode: ProcessingRequest["reasonCode"]): ProcessingRequest =>
  ProcessingRequest.parse({
    ...samples.processingRequest,
    ...{ id: `micsharedrequest_${hex32}`, recipeVersionId: `micrecipev_${hex32}`, expiresAt: "2027-02-01T00:00:00Z" },
    ...{ state, reasonCode, reviewHash: null },
  });
const REQUESTS: readonly Row<ProcessingRequest>[] = [
  ["rejected", request("REJECTED", null), /another purpose, file or recipe/],
  ["rejected", request("REJECTED", "ACCESS_NO_LONGER_REQUIRED"), /ACCESS_NO_LONGER_REQUIRED/],
];

describe("advice table", () => {
  for (const [row, resource, patterns, step, { afterMs, ...history } = {}] of JOBS)
    test(`advice on a job: ${row} (${resource.state})`, () =>
      expectAdvice(
        describeJob(resource, history, afterMs === undefined ? undefined : Date.parse(AT) + afterMs),
        patterns,
        step,
      ));
  for (const [row, of, patterns, step] of OPERATIONS)
    test(`advice on an operation: ${row}`, () => expectAdvice(describeOperation(of), [patterns], step));
  for (const [row, of, patterns, step] of INPUTS)
    test(`advice on an input: ${row}`, () => expectAdvice(describeInput(of), [patterns], step));
  for (const [row, of, patterns, step] of REQUESTS)
    test(`advice on a processing request: ${row}`, async () =>
      expectAdvice(await describeRequestWith({ offers: createRecipeOfferCache() })(of), [patterns], step));

  test("after the approval of a request, the next call runs a recipe with one port that was read, if it requires no parameters", async () => {
    const offers = createRecipeOfferCache();
    const offer = RecipeOffer.parse(samples.recipeOffer);
    const [port] = offer.recipe.inputs;
    const definition = { type: "object", required: ["level"] };
    const parameters = { ...offer.recipe.parameters, definition };
    offers.remember([{ ...offer, recipe: { ...offer.recipe, inputs: port ? [port] : [], parameters } }]);
    const approved = { ...request("APPROVED", null), recipeVersionId: offer.recipe.versionId };
    const { nextStep, summary } = await describeRequestWith({ offers })(approved);
    const inputs = JSON.stringify([{ port: port?.name, inputId: approved.inputId }]);
    expect(render(summary, AGENT)).toContain(`Run it: run_job with inputs ${inputs} and your parameterValues.`);
    expect(nextStep).toBeUndefined();
    parameters.definition.required = [];
    const complete = { inputs: JSON.parse(inputs), parameterValues: {} };
    expect((await describeRequestWith({ offers })(approved)).nextStep).toMatchObject({
      tool: "run_job",
      arguments: complete,
    });
  });

  test.each([
    ["get_job", JOBS, JobState.options],
    ["get_operation", OPERATIONS, OperationState.options],
    ["get_input", INPUTS, InputState.options],
    ["get_file_processing_request", REQUESTS, ProcessingRequestState.options],
  ] as const)("each state is in a row here or on the reviewed page of %s", (tool, rows, states) => {
    const shown = [...pageOf(tool).matchAll(/"state":"(\w+)"/g)].map(([, state]) => state);
    expect(new Set([...rows.map(([, { state }]) => state), ...shown])).toEqual(new Set(states));
  });

  test("each scan state and each reason is in a row here or on a reviewed page", () => {
    const scanStates = INPUTS.map(([, { scanState }]) => String(scanState)).join(" ");
    const reasons = REQUESTS.map(([, { reasonCode }]) => String(reasonCode)).join(" ");
    for (const scanState of ScanState.options) expect(scanStates + pageOf("get_input")).toContain(scanState);
    for (const reason of ReasonCode.options) expect(reasons + pageOf("get_file_processing_request")).toContain(reason);
  });
});
