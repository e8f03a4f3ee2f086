// Defines what the contract leaves "not shown" (docs/contract.md) and the emulator had to choose, with the reasons. The client assumes none
// of it. world/lifecycle.ts defines the transitions of jobs, with the times given here. An "open question" is one of
// src/contract/open-questions.md.

import { create } from "content-disposition";
import { STAGES, type StageName } from "../contract/jobs.ts";
import type { RecipeDefinition } from "../contract/recipes.ts";
import { DAY, HOUR, MINUTE, SECOND } from "./clock.ts";

// -- Requests ---------------------------------------------------------------------------------------------------------

/** A larger body gets 413 (RFC 9110, 15.5.14). The largest valid body of the contract is a job with its parameterValues. */
export const MAX_BODY_BYTES = 1024 * 1024;
// JSON gets 400 if an object has a field twice with different values (RFC 8259, section 4, calls the outcome unpredictable). The same
// applies to a number beyond the range of doubles, and to nesting that is too deep (RFC 8259, section 9, lets a parser limit it).

// For a rule outside the body, `fieldErrors[].pointer` is /query, /header or /path, followed by the parameter's name (/query/limit,
// /header/Idempotency-Key). For a rule of the body, it is the JSON pointer itself (RFC 6901).

// -- Problems (RFC 9457) ----------------------------------------------------------------------------------------------
// Problems are sent bare as application/problem+json (open question 2). 400: the request itself breaks a rule. 422: the request is
// well-formed but does not match the API's data. 409: the request would be valid at another time or in another state.

export interface ProblemKind {
  readonly status: number;
  readonly title: string;
  readonly retryable: boolean;
}

const problemKind = (status: number, title: string): ProblemKind => ({ status, title, retryable: false });
const retryableProblemKind = (status: number, title: string): ProblemKind => ({ status, title, retryable: true });

export const PROBLEMS = {
  INVALID_REQUEST: problemKind(400, "The request breaks a rule of the contract"),
  MALFORMED_REQUEST: problemKind(400, "The request could not be read"),
  MALFORMED_JSON: problemKind(400, "The body is not acceptable JSON"),
  INVALID_CURSOR: problemKind(400, "The cursor was not made by this list"),
  // WWW-Authenticate contains the details (RFC 6750, 3.1).
  UNAUTHENTICATED: problemKind(401, "A valid access token is required"),
  // Clients of the API do not send such a request. In the playground, it is one that "the public route policy denies" (7.1).
  REQUEST_DENIED: problemKind(403, "Host names another machine, or Origin a foreign page"),
  INSUFFICIENT_SCOPE: problemKind(403, "The access token lacks a required scope"),
  WORKSPACE_FORBIDDEN: problemKind(403, "The application has no access to this workspace"),
  PROCESSING_NOT_PERMITTED: problemKind(403, "The processing request for this input and recipe is not APPROVED"),
  NOT_FOUND: problemKind(404, "There is nothing at this path"),
  METHOD_NOT_ALLOWED: problemKind(405, "The method is not allowed here; see Allow"),
  CONTENT_WITHHELD: problemKind(409, "The file is not scanned as clean and is not handed out"),
  INPUT_NOT_READY: problemKind(409, "A bound input is not READY"),
  INPUT_BEING_SCANNED: retryableProblemKind(409, "A bound input is still being scanned"),
  // Checked before If-Match: preconditions are ignored if the answer would not be 2xx without them (RFC 9110, 13.2.1).
  JOB_TERMINAL: problemKind(409, "The job has ended and cannot be cancelled"),
  CANCELLATION_IN_PROGRESS: problemKind(409, "The job is being cancelled already"),
  // A job can be retried if it is CANCELLED, or FAILED with a retryable failure. Any other retry would run work twice.
  JOB_NOT_RETRYABLE: problemKind(409, "Only CANCELLED or retryably FAILED jobs are retried"),
  // For the same reason, a job has only one active retry; after that retry has failed or was cancelled, another one is possible.
  ALREADY_RETRIED: problemKind(409, "A retry of this job is under way or has succeeded"),
  RECIPE_HASH_NOT_CURRENT: problemKind(409, "recipeVersionHash is not the current versionHash"),
  // Idempotency-Key draft, 2.7: 409 while the first request is being processed, 422 for another payload.
  IDEMPOTENCY_IN_PROGRESS: retryableProblemKind(409, "A request with this Idempotency-Key is running"),
  VERSION_CONFLICT: problemKind(
    412,
    "If-Match is stale: the job has moved on; read it again and use its current resourceVersion",
  ),
  BODY_TOO_LARGE: problemKind(413, "The body is larger than 1 MiB"),
  UNSUPPORTED_MEDIA_TYPE: problemKind(415, "Content-Type must be application/json"),
  IDEMPOTENCY_KEY_REUSED: problemKind(422, "The Idempotency-Key was used for another request"),
  RECIPE_NOT_OFFERED: problemKind(422, "The recipe version is not offered to this workspace"),
  PORTS_MISMATCH: problemKind(422, "inputBindings must bind exactly the recipe's inputs"),
  INPUT_NOT_FOUND: problemKind(422, "The workspace has no such input"),
  INPUT_KIND_MISMATCH: problemKind(422, "An input's kind does not fit the recipe's input"),
  CAPABILITY_EXCEEDED: problemKind(422, "An input is beyond the limits of the capability"),
  CAPABILITY_DISABLED: problemKind(422, "The capability the recipe needs is not enabled"),
  PARAMETERS_INVALID: problemKind(422, "parameterValues does not match the recipe's schema"),
  REFERENCE_NOT_FOUND: problemKind(422, "referenceId names nothing this workspace owns"),
  EXPIRY_NOT_ALLOWED: problemKind(422, "expiresAt is past or beyond the approved expiry"),
  // Open question 1: the window of a UsageSummary cannot be MONTH.
  WINDOW_NOT_AVAILABLE: problemKind(422, "Usage by MONTH is not available: ask DAY or ENTITLEMENT"),
  // RFC 6585, section 3.
  IF_MATCH_REQUIRED: problemKind(428, "If-Match with the job's current ETag is required"),
  INTERNAL_ERROR: retryableProblemKind(500, "The emulator failed; this is a defect"),
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof PROBLEMS;

/** A URN, because no page explains the problem further (RFC 9457, 3.1.1). */
export const problemType = (code: string): string => `urn:mic:problem:${code.toLowerCase().replaceAll("_", "-")}`;

// -- Headers ----------------------------------------------------------------------------------------------------------

/** Cache-Control of every answer: most contain one tenant's data, a token, or data that changes with time (RFC 9111, 5.2.2.5). */
export const NO_STORE = "no-store";
/** RFC 6750, section 3. */
export const REALM = "mic";
/** Marks a replayed answer, as in Stripe's API; the Idempotency-Key draft does not define a header. */
export const REPLAYED_HEADER = "Idempotent-Replayed";
// Every job-processing answer has X-Request-Id, equal to `meta.requestId`; a replayed answer keeps the first one.
// Each answer whose data is one Job has its ETag (open question 3). 201 and 202 have Location (RFC 9110, 10.2.2).
// `Accept` is ignored (RFC 9110, 12.4.1, allows that), because each operation has only one representation.
// If-None-Match and Range are ignored, because the contract has neither 304 nor 206; `Accept-Ranges: none` announces it.

/** The type is application/octet-stream, as in the contract's Accept header (4.2); the ETag is the SHA-256 of the bytes. */
export const assetHeaders = (file: { readonly name: string; readonly sha256: string }) => ({
  "Content-Type": "application/octet-stream",
  // RFC 6266: the exact name, and an ASCII name for clients that do not support it.
  "Content-Disposition": create(file.name),
  ETag: `"${file.sha256}"`,
  "Accept-Ranges": "none",
  "X-Content-Type-Options": "nosniff",
});

// -- Ids --------------------------------------------------------------------------------------------------------------
// The id of an asset is the id of its file; `assetIds` lists the files that can be downloaded, which are the clean ones.
// An unknown id in a path gets 404; an id that breaks its grammar gets 400 at /path/{name}.

export const ID_PREFIX = {
  workspace: "micws_",
  client: "micclient_",
  request: "micreq_",
  file: "devfile_",
  signedFile: "devsignfile_",
  input: "micinput_",
  acquisition: "micacq_",
  datasetVersion: "micdsv_",
  recipe: "micrecipe_",
  recipeVersion: "micrecipev_",
  offer: "micoffer_",
  job: "micjob_",
  operation: "micop_",
  processingRequest: "micsharedrequest_",
} as const;

/** The only type of Operation. */
export const CANCELLATION_TYPE = "JOB_CANCELLATION";

// -- Tokens (RFC 6749, 5.1) -------------------------------------------------------------------------------------------

export const TOKEN_LIFETIME_SECONDS = 3600;
/** 256 random bits; RFC 6749, 10.10, requires at least 128. */
export const TOKEN_BYTES = 32;
// `scope` is required (docs/contract.md, 5) and has no default; without it the answer is invalid_scope (RFC 6749, 3.3).
// Client credentials in the body are refused, because the contract defines only HTTP Basic.

// -- Lists ------------------------------------------------------------------------------------------------------------

/** The default page size of the recipe list, equal to that of the job list. */
export const DEFAULT_RECIPE_PAGE = 25;

// -- Idempotency (Idempotency-Key draft) ------------------------------------------------------------------------------

/** How long a key is stored; the draft (2.3) asks servers to publish this time. */
export const KEY_LIFETIME_MS = 24 * HOUR;

// -- Transitions ------------------------------------------------------------------------------------------------------

/** FREEZE is the latest stop (open question 33): SCOOP and SERVE follow it. After an earlier stop, the other stages are NOT_REQUIRED. */
export const lastStageFor = (stopAfterStage: RecipeDefinition["stopAfterStage"]): StageName =>
  STAGES.find((stage) => stage === stopAfterStage && stage !== "FREEZE") ?? "SERVE";
/** Default duration of a job's stage. */
export const STAGE_MS = 500;
/** A pending review is approved after this time. */
export const REVIEW_MS = MINUTE;
/** A file can be registered before its scan has ended, and its input is WAITING_SCAN until then (open question 32). */
export const SCAN_MS = 5 * SECOND;
/** Times after creation when a processing request becomes REVIEWABLE and when it is decided. */
export const REVIEWABLE_AFTER_MS = 2 * SECOND;
export const DECIDED_AFTER_MS = 5 * SECOND;
/** The expiry of a permission is limited to the earliest of this time, the input's expiry and the offer's expiry. */
export const MAX_PERMISSION_MS = 30 * DAY;
export const INPUT_LIFETIME_MS = 90 * DAY;

// -- Playground -------------------------------------------------------------------------------------------------------
// Section 7.1 gives each status one value. A request that the playground itself refuses gets 400: an unknown path, a wrong method (open
// question 31), a state code that matches no state (open question 9), or an unreadable request. The exceptions are 403 and 429. All other
// errors are PLAYGROUND_UPSTREAM_UNAVAILABLE.

export const PLAYGROUND_ROOT = "/api/svc/core/developers/playground";
export const PLAYGROUND_WINDOW_MS = MINUTE;
export const REQUESTS_PER_PEER = 600;
export const REQUESTS_PER_REPORTED_ADDRESS = 30;
// The reported address is the last one in X-Forwarded-For, which the trusted edge wrote itself.

// -- Memory -----------------------------------------------------------------------------------------------------------
// Beyond these numbers the emulator deletes its oldest entries, so that it can run for weeks. An Idempotency-Key is then deleted before its
// 24 h have passed.

export const MAX_ENTRIES = {
  tokens: 10_000,
  idempotencyKeys: 20_000,
  jobs: 10_000,
  others: 10_000,
  peers: 10_000,
  requests: 1000,
  executions: 20_000,
} as const;
