// Samples of every resource, in all the states there are, as one emulator answers them.
import { beforeAll, expect } from "vitest";
import { type OperationRow, operations } from "../operations.ts";
import { at, parseJson } from "./http.ts";
import { type Parts, serviceForFile } from "./service.ts";
import {
  FILE,
  fileId,
  jobBody,
  oneInputOffer,
  processingBody,
  registerInput,
  retryableJob,
  settledJob,
  submitJob,
  watchJob,
} from "./work.ts";

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const within = (values: readonly unknown[], name: string): readonly unknown[] =>
  values.flatMap((value) => listOf(at(value, name)));
export const seen = (values: readonly unknown[], name: string): readonly unknown[] =>
  [...new Set(values.map((value) => at(value, name)))].sort();

/** Collects them before the tests of a file; call it at the top level. */
export function samplesForFile() {
  const service = serviceForFile();

  /** Success bodies by operation id, as they came. */
  const bodies = new Map<string, unknown[]>();

  async function take(operation: OperationRow, parts: Parts): Promise<unknown> {
    const answer = await service().call(operation, parts);
    expect(answer.status, `${operation.id}: ${answer.text}`).toBe(operation.success);
    const body = parseJson(answer.text);
    bodies.set(operation.id, [...(bodies.get(operation.id) ?? []), body]);
    return body;
  }

  const bodiesOf = (...ids: readonly string[]): readonly unknown[] => ids.flatMap((id) => bodies.get(id) ?? []);
  const dataOf = (...ids: readonly string[]): readonly unknown[] => bodiesOf(...ids).map((body) => at(body, "data"));
  beforeAll(async () => {
    const { workspaceId, inputIds, fileIds } = service().emulator;
    const states = await take(operations.listPlaygroundStates, {});
    for (const state of listOf(at(states, "states")))
      await take(operations.listPlaygroundDistricts, { query: { state: String(at(state, "code")) } });
    for (const inputId of inputIds) await take(operations.getMicPublicInput, { path: { inputId } });
    for (const index of fileIds.keys())
      await take(operations.createMicPublicInput, {
        body: { workspaceId, inputKind: "M4_FILE", referenceId: fileId(service(), index) },
      });

    await take(operations.getPlaygroundOpenApi, {});

    for (const index of [FILE.succeeds, FILE.failsForGood]) await settledJob(service(), index);
    const failed = await retryableJob(service());
    await take(operations.retryMicJob, {
      path: { jobId: failed.id },
      body: { retryMode: "RESTART", reason: "A sample" },
    });
    const review = await submitJob(service(), FILE.waitsForReview);
    await watchJob(service(), review.id, ({ state }) => state === "WAITING_REVIEW");
    const paused = await submitJob(service(), FILE.pauses);
    await watchJob(service(), paused.id, ({ state }) => state === "PAUSED");

    const offer = await oneInputOffer(service());
    const input = await registerInput(service(), FILE.succeeds);
    const request = await take(operations.requestMicSharedFileProcessing, {
      body: processingBody(service(), offer, input.id),
    });
    const requestId = String(at(request, "data", "id"));
    for (let quarter = 0; quarter < 4; quarter += 1) {
      await take(operations.getMicSharedFileProcessingRequest, { path: { requestId } });
      service().clock.advance(15 * 60_000);
    }
    const another = await registerInput(service(), FILE.succeeds);
    const job = await take(operations.createMicJob, { body: jobBody(service(), offer, another.id) });
    const jobId = String(at(job, "data", "id"));
    const operation = await take(operations.cancelMicJob, {
      path: { jobId },
      ifMatch: `"${at(job, "data", "resourceVersion")}"`,
      body: { reason: "A sample" },
    });
    const operationId = String(at(operation, "data", "id"));
    service().clock.advance(60_000);
    await take(operations.getMicPublicOperation, { path: { operationId } });

    await take(operations.getMicPublicCapabilities, { query: { workspaceId } });
    for (const window of ["DAY", "ENTITLEMENT"])
      await take(operations.getMicPublicUsage, { query: { workspaceId, window } });
    const recipes = await take(operations.listMicExecutableRecipes, { query: { workspaceId, limit: 2 } });
    const recipesCursor = at(recipes, "page", "nextCursor");
    await take(operations.listMicExecutableRecipes, {
      query: { workspaceId, limit: 100, cursor: String(recipesCursor) },
    });
    for (const versionId of service().emulator.recipeVersionIds)
      await take(operations.getMicExecutableRecipe, { path: { versionId } });
    let jobs = await take(operations.listMicJobs, { query: { workspaceId, limit: 50 } });
    while (at(jobs, "page", "hasMore") === true) {
      const cursor = String(at(jobs, "page", "nextCursor"));
      jobs = await take(operations.listMicJobs, { query: { workspaceId, limit: 50, cursor } });
    }
    for (const one of within(bodiesOf("listMicJobs"), "data").slice(0, 20))
      await take(operations.getMicJob, { path: { jobId: String(at(one, "id")) } });
  });

  const allJobs = () => [...within(bodiesOf("listMicJobs"), "data"), ...dataOf("createMicJob", "getMicJob")];
  const allInputs = () => dataOf("createMicPublicInput", "getMicPublicInput");
  const allOffers = () => [
    ...within(bodiesOf("listMicExecutableRecipes"), "data"),
    ...dataOf("getMicExecutableRecipe"),
  ];
  const allOperations = () => dataOf("cancelMicJob", "getMicPublicOperation");
  const allRequests = () => dataOf("requestMicSharedFileProcessing", "getMicSharedFileProcessingRequest");
  const allParameters = () => {
    const definitions = allOffers().map((offer) => at(offer, "recipe"));
    return [
      ...definitions.map((recipe) => at(recipe, "parameters")),
      ...within(definitions, "inputs").map((requirement) => at(requirement, "schema")),
    ];
  };
  const allProblems = () =>
    [...allJobs(), ...allOperations()].map((one) => at(one, "failure")).filter((one) => one !== null);

  return {
    service,
    bodies,
    bodiesOf,
    allJobs,
    allInputs,
    allOffers,
    allOperations,
    allRequests,
    allParameters,
    allProblems,
  };
}
