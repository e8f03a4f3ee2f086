// The rules of sections 2 and 3 for the playground, jobs and operations, held against every one the emulator has.
import { expect } from "vitest";
import { operations } from "../operations.ts";
import { proves } from "../proves.ts";
import { at } from "./http.ts";
import {
  both,
  dateTime,
  expectAll,
  isBoolean,
  isObject,
  isText,
  like,
  list,
  object,
  oneOf,
  orNull,
  prefixed,
  text,
  whole,
} from "./rules.ts";
import { listOf, samplesForFile, seen, within } from "./samples.ts";

const { allInputs, allJobs, allOffers, allOperations, allProblems, allRequests, bodies, bodiesOf, service } =
  samplesForFile();

const safe = 9007199254740991;
const id = text(1, 128);
const environment = oneOf("SANDBOX", "PRODUCTION");

const catalogue = { contract: oneOf("svc.geo.admin-divisions.v1") };
const optionalCatalogue = {
  source: isText,
  sourceRef: like(/^[a-z][a-z0-9+.-]*:\S+$/i),
  sourceUpdatedAt: isText,
  fallbackUsed: isBoolean,
};

proves(
  [
    "2.1/closed-objects",
    "2.1/catalog-contract",
    "2.1/catalog-source",
    "2.1/catalog-source-ref",
    "2.1/catalog-source-updated-at",
    "2.1/catalog-fallback-used",
    "2.1/states-response",
    "2.1/districts-response-state",
    "2.1/districts-response-districts",
  ],
  "both playground responses",
  () => {
    expectAll(bodiesOf("listPlaygroundStates"), { ...catalogue, states: list(1, 64, isObject) }, optionalCatalogue);
    expectAll(
      bodiesOf("listPlaygroundDistricts"),
      { ...catalogue, state: isText, districts: list(1, 256, isObject) },
      optionalCatalogue,
    );
  },
);

proves(["2.1/state-code", "2.1/state-lgd-code", "2.1/state-name", "2.1/state-counts"], "State", () => {
  const count = whole(0, safe);
  const state = { code: like(/^[A-Z]{2}$/), name: text(1, 200), districtCount: count, mandalCount: count };
  expectAll(within(bodiesOf("listPlaygroundStates"), "states"), state, { lgdCode: isText });
});

proves(["2.1/district-code-and-name", "2.1/district-mandal-count"], "District", () => {
  const district = { code: text(1, 200), name: text(1, 200), mandalCount: whole(0, safe) };
  expectAll(within(bodiesOf("listPlaygroundDistricts"), "districts"), district);
});

proves(["2.2/envelope", "2.2/meta-request-id", "2.2/meta-request-id-micreq"], "Envelope", () => {
  const withAny = { data: isObject, meta: object({ requestId: text(1, 128) }) };
  const withMic = { data: isObject, meta: object({ requestId: both(text(39, 39), prefixed("micreq_")) }) };
  for (const one of [
    operations.getMicPublicCapabilities,
    operations.createMicPublicInput,
    operations.getMicPublicInput,
    operations.createMicJob,
    operations.getMicJob,
    operations.cancelMicJob,
    operations.getMicPublicOperation,
    operations.getMicPublicUsage,
  ])
    expectAll(bodiesOf(one.id), withAny);
  for (const one of [
    operations.getMicExecutableRecipe,
    operations.requestMicSharedFileProcessing,
    operations.getMicSharedFileProcessingRequest,
  ])
    expectAll(bodiesOf(one.id), withMic);
  const requestIds = [...bodies.values()].flat().flatMap((body) => at(body, "meta", "requestId") ?? []);
  expect(new Set(requestIds).size).toBe(requestIds.length);
});

proves(["2.2/job-list", "2.2/job-list-page", "2.2/recipe-list", "2.2/recipe-list-page"], "list pages", () => {
  expectAll(bodiesOf("listMicJobs"), {
    data: list(0, 100, isObject),
    meta: object({ requestId: text(1, 128) }),
    page: object({ nextCursor: orNull(text(1, 4096)), hasMore: isBoolean }),
  });
  expectAll(bodiesOf("listMicExecutableRecipes"), {
    data: list(0, 100, isObject),
    meta: object({ requestId: prefixed("micreq_") }),
    page: object({ limit: whole(1, 100), nextCursor: orNull(like(/^[A-Za-z0-9_-]{43}$/)), hasMore: isBoolean }),
  });
});

const jobState = oneOf(
  "PREPARING",
  "QUEUED",
  "RUNNING",
  "WAITING_REVIEW",
  "PAUSED",
  "SUCCEEDED",
  "FAILED",
  "CANCELLED",
);

proves(
  [
    "2.2/all-fields-required",
    "2.2/closed-objects",
    "2.2/date-time",
    "2.2/job-ids",
    "2.2/environment",
    "2.2/integer-resource-version",
    "2.2/created-and-updated-at",
    "2.2/job-nullable-ids",
    "2.2/job-stages",
    "2.2/failure",
    "3/job-state",
    "3/job-publication-state",
    "3/job-review-state",
  ],
  "Job",
  () =>
    expectAll(allJobs(), {
      id,
      workspaceId: id,
      environment,
      state: jobState,
      resourceVersion: whole(1, safe),
      createdAt: dateTime,
      updatedAt: dateTime,
      recipeVersionId: id,
      processingState: jobState,
      publicationState: oneOf("NOT_REQUESTED", "AWAITING_RELEASE", "BUILDING", "ACTIVE", "WITHDRAWN"),
      outputDatasetVersionId: orNull(id),
      reviewState: oneOf("NOT_REQUIRED", "PENDING", "APPROVED", "REJECTED"),
      stages: list(0, 9, isObject),
      retryOfBatchId: orNull(id),
      failure: orNull(isObject),
    }),
);

proves("3/job-state", "the emulator has jobs in all eight states", () => {
  const all = ["CANCELLED", "FAILED", "PAUSED", "PREPARING", "QUEUED", "RUNNING", "SUCCEEDED", "WAITING_REVIEW"];
  expect(seen(allJobs(), "state")).toEqual(all);
});

proves(
  [
    "2.2/stage-name",
    "2.2/stage-attempt-count",
    "2.2/stage-completed-units",
    "2.2/stage-total-units",
    "3/stage-state",
    "1/nine-stages-in-order",
  ],
  "Stage",
  () => {
    const order = ["GATHER", "SIFT", "REFINE", "BLEND", "CHURN", "TASTE", "FREEZE", "SCOOP", "SERVE"];
    expectAll(within(allJobs(), "stages"), {
      stage: oneOf(...order),
      state: oneOf("PENDING", "RUNNING", "WAITING_REVIEW", "SUCCEEDED", "FAILED", "CANCELLED", "NOT_REQUIRED"),
      attemptCount: whole(0, 1000),
      completedUnits: whole(0, safe),
      totalUnits: orNull(whole(0, safe)),
    });
    for (const job of allJobs()) {
      const names = listOf(at(job, "stages")).map((stage) => at(stage, "stage"));
      expect(names).toEqual(order.filter((name) => names.includes(name)));
    }
  },
);

proves(
  [
    "2.2/problem-texts",
    "2.2/problem-status",
    "2.2/problem-retryable",
    "2.2/problem-field-errors",
    "2.2/problem-field-error",
    "7.2/failure-when-failed",
  ],
  "Problem, carried by what failed and by nothing else",
  () => {
    expectAll(allProblems(), {
      type: text(1, 512),
      title: text(1, 160),
      status: whole(400, 599),
      code: text(1, 100),
      requestId: text(1, 128),
      retryable: isBoolean,
      fieldErrors: list(0, 100, object({ pointer: text(0, 512), code: text(1, 100), message: text(1, 1000) })),
    });
    for (const one of [...allJobs(), ...allOperations()])
      expect(at(one, "failure") !== null, JSON.stringify(one)).toBe(at(one, "state") === "FAILED");
    expect(seen(allProblems(), "retryable")).toEqual([false, true]);
  },
);

proves(
  [
    "2.2/operation-ids",
    "2.2/environment",
    "2.2/integer-resource-version",
    "2.2/created-and-updated-at",
    "2.2/operation-type",
    "2.2/operation-required-scopes",
    "2.2/operation-result-resource-id",
    "2.2/failure",
    "3/operation-state",
  ],
  "Operation",
  () =>
    expectAll(allOperations(), {
      id,
      workspaceId: id,
      environment,
      state: oneOf("QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"),
      resourceVersion: whole(1, safe),
      createdAt: dateTime,
      updatedAt: dateTime,
      originatingResourceId: id,
      operationType: text(1, 100),
      requiredScopes: list(0, 64, text(1, 100)),
      resultResourceId: orNull(id),
      failure: orNull(isObject),
    }),
);

proves("1/workspace-id-prefix", "the workspace id has its prefix, and every resource is of that workspace", () => {
  const { workspaceId } = service().emulator;
  expect(workspaceId).toMatch(/^micws_./);
  const owned = [...allJobs(), ...allInputs(), ...allOffers(), ...allOperations(), ...allRequests()];
  expect(seen(owned, "workspaceId")).toEqual([workspaceId]);
});
