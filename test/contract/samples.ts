// One valid value of every resource and request body, written by hand from docs/contract.md, 2 and 4, with all optional fields.
import type * as z from "zod/v4";
import type * as bodies from "../../src/contract/endpoints/bodies.ts";

const hex32 = "0123456789abcdef0123456789abcdef";
const hex64 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

// 2.1 Playground resources

export const catalogMetadata = {
  contract: "svc.geo.admin-divisions.v1",
  source: "Local Government Directory",
  sourceRef: "https://catalogue.example/lgd?table=districts#top",
  sourceUpdatedAt: "2026-03-31",
  fallbackUsed: false,
};

export const state = { code: "TG", lgdCode: "36", name: "Telangana", districtCount: 33, mandalCount: 612 };

export const district = { code: "501", name: "Adilabad", mandalCount: 21 };

export const statesResponse = { ...catalogMetadata, states: [state] };

export const districtsResponse = { ...catalogMetadata, state: "Telangana", districts: [district] };

export const openApiDocument = {
  openapi: "3.1.1",
  info: { title: "Playground", version: "1.0.0" },
  paths: { "/geo/states": { get: {} } },
};

// 2.2 Job-processing resources

export const fieldError = { pointer: "/parameterValues/year", code: "out_of_range", message: "must be at most 2026" };

export const problem = {
  type: "https://errors.example/stage-failed",
  title: "A stage failed",
  status: 422,
  code: "stage_failed",
  requestId: "req-2",
  retryable: true,
  fieldErrors: [fieldError],
};

export const stage = { stage: "GATHER", state: "RUNNING", attemptCount: 1, completedUnits: 5, totalUnits: 10 };

const inSandbox = { workspaceId: "micws_1", environment: "SANDBOX" };
const instants = { createdAt: "2026-11-20T10:00:00Z", updatedAt: "2026-11-20T10:05:00.250Z" };

export const job = {
  ...{ id: "job-1", ...inSandbox, state: "RUNNING", resourceVersion: 3, ...instants },
  recipeVersionId: `micrecipev_${hex32}`,
  processingState: "RUNNING",
  publicationState: "NOT_REQUESTED",
  outputDatasetVersionId: "dataset-version-1",
  reviewState: "NOT_REQUIRED",
  stages: [stage],
  retryOfBatchId: "job-0",
  failure: null,
};

export const input = {
  ...{ id: `micinput_${hex32}`, ...inSandbox, state: "READY", resourceVersion: "12", ...instants },
  inputKind: "M4_FILE",
  referenceId: "devfile_1",
  sha256: hex64,
  scanState: "CLEAN",
  classification: "INTERNAL",
  expiresAt: "2027-11-20T10:00:00Z",
};

export const processingRequest = {
  id: `micsharedrequest_${hex32}`,
  sourceOrigin: "SHARED_FILE_REQUEST",
  workspaceId: "micws_1",
  inputId: `micinput_${hex32}`,
  recipeVersionId: `micrecipev_${hex32}`,
  state: "APPROVED",
  revision: 2,
  requestHash: hex64,
  reviewHash: hex64,
  reasonCode: "REVIEWED_PROCESSING_PURPOSE",
  createdAt: "2026-11-20T10:00:00.123456Z",
  expiresAt: "2026-12-20T10:00:00Z",
};

export const operation = {
  ...{ id: "operation-1", ...inSandbox, state: "QUEUED", resourceVersion: 1, ...instants },
  originatingResourceId: "job-1",
  operationType: "JOB_CANCELLATION",
  requiredScopes: ["mic.jobs:cancel"],
  resultResourceId: "job-1",
  failure: null,
};

export const recipeParameters = {
  versionId: "schema:v1",
  contentHash: hex64,
  definition: { type: "object", properties: { year: { $ref: "year" } } },
  references: { year: { type: "integer", maximum: 2026 } },
};

export const inputRequirement = {
  name: "districts",
  schemaVersionId: "schema:v2",
  valueState: "RAW",
  schema: recipeParameters,
};

export const recipeDefinition = {
  recipeId: `micrecipe_${hex32}`,
  versionId: `micrecipev_${hex32}`,
  versionHash: hex64,
  name: "District totals",
  inputs: [inputRequirement],
  parameters: recipeParameters,
  requiredPermissions: ["files:read", "mic.jobs:run"],
  stopAfterStage: "FREEZE",
};

export const recipeOffer = {
  ...{ id: `micoffer_${hex32}`, ...inSandbox, resourceVersion: "7" },
  recipe: recipeDefinition,
  availability: "REVIEWED_REFERENCE",
  executionAvailable: false,
  approvedAt: "2026-10-01T00:00:00Z",
  expiresAt: "2027-10-01T00:00:00+05:30",
};

const bucketDates = {
  windowStart: "2026-11-20T00:00:00Z",
  windowEnd: "2026-11-21T00:00:00Z",
  resetAt: "2026-11-21T00:00:00Z",
  expiresAt: "2027-01-01T00:00:00Z",
};

export const usageBucket = {
  metric: "JOBS_RUN",
  unit: "COUNT",
  unitDefinitionState: "DEFINED",
  quotaScope: "ORGANIZATION_SHARED",
  ...{ granted: "100", used: "7", reserved: "1", remaining: "92" },
  ...bucketDates,
};

export const usageSummary = {
  ...inSandbox,
  window: "DAY",
  observedAt: "2026-11-20T10:00:00Z",
  quotaScope: "ORGANIZATION_SHARED",
  entitlementState: "ACTIVE",
  resetTimezone: "Asia/Kolkata",
  activatedAt: "2026-01-01T00:00:00Z",
  expiresAt: "2027-01-01T00:00:00Z",
  buckets: [usageBucket],
};

export const capability = {
  kind: "TABLE",
  operation: "EXTRACT_ROWS",
  version: "1",
  supportLevel: "EXTRACT",
  enabled: true,
  prerequisite: "a scanned file",
  evidenceRef: "evidence-1",
  maxInputBytes: 10_485_760,
  maxRows: 100_000,
  maxPages: 500,
  languages: ["en", "te"],
};

export const quotaBucket = { unit: "jobs", granted: 100, used: 7, reserved: 1, remaining: 92, ...bucketDates };

export const capabilitySet = {
  workspaceId: "micws_1",
  environment: "PRODUCTION",
  capabilities: [capability],
  limits: [quotaBucket],
};

export const enveloped = <T>(data: T) => ({ data, meta: { requestId: "req-1" } });
export const micEnveloped = <T>(data: T) => ({ data, meta: { requestId: `micreq_${hex32}` } });

export const jobList = { ...enveloped([job]), page: { nextCursor: "after job-1", hasMore: true } };

export const recipeList = {
  ...micEnveloped([recipeOffer]),
  page: { limit: 25, nextCursor: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ012345_", hasMore: true },
};

// 4.2 Request bodies

export const inputBinding = { port: "districts", inputId: `micinput_${hex32}` };

export const createJob = {
  workspaceId: "micws_1",
  recipeVersionId: `micrecipev_${hex32}`,
  inputBindings: [inputBinding],
  parameterValues: { year: 2026 },
  clientReference: "monthly run",
} satisfies Required<z.output<typeof bodies.CreateJob>>;

export const createInput = {
  workspaceId: "micws_1",
  inputKind: "M4_FILE",
  referenceId: "devsignfile_1",
  alias: "Districts 2026",
  clientReference: "upload 7",
} satisfies Required<z.output<typeof bodies.CreateInput>>;

export const createProcessingRequest = {
  workspaceId: "micws_1",
  inputId: `micinput_${hex32}`,
  recipeVersionId: `micrecipev_${hex32}`,
  recipeVersionHash: hex64,
  purpose: "Count mandals by district",
  expiresAt: "2126-12-20T10:00:00Z",
} satisfies Required<z.output<typeof bodies.CreateProcessingRequest>>;

export const retryJob = { retryMode: "SAFE_RESUME", reason: "The source is back" } satisfies Required<
  z.output<typeof bodies.RetryJob>
>;
