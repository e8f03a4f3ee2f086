// Everything the contract leaves "not shown" (docs/contract.md) and this emulator had to choose, with the
// reason. The client assumes none of it. How jobs move stands in world/lifecycle.ts, by the times given here.

import type { StageName } from "../contract/jobs.ts";
import type { RecipeDefinition } from "../contract/recipes.ts";
import { DAY, HOUR, MINUTE, SECOND } from "./clock.ts";

// -- Requests ---------------------------------------------------------------------------------------------------------

/** 413 above it (RFC 9110, 15.5.14): the largest valid body of the contract is a job with its parameterValues. */
export const MAX_BODY_BYTES = 1024 * 1024;
// 400 for JSON that names a field of one object twice with different values (RFC 8259, section 4, calls the outcome unpredictable),
// that holds a number beyond every double, or that is too deep to read (RFC 8259, section 9, lets a parser limit nesting).
/** An answer given before the request's body was read waits this long for the rest, so that the client can read it. */
export const BODY_DRAIN_LIMIT_MS = 1000;

// Where a rule is broken outside the body, `fieldErrors[].pointer` starts with /query, /header or /path, then the
// parameter's name (/query/limit, /header/Idempotency-Key); in the body it is the JSON pointer itself (RFC 6901).

// -- Problems (RFC 9457) ----------------------------------------------------------------------------------------------
// Sent bare as application/problem+json (doubts.md 2). 400: the request breaks a rule that can be seen in it alone.
// 422: well-formed, but it does not fit what the service holds. 409: it would fit at another time or state.

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
  // RFC 6750, 3.1: WWW-Authenticate says more.
  UNAUTHENTICATED: problemKind(401, "A valid access token is required"),
  // No client of the service sends such a request; in the playground it is one that "the public route policy denied" (7.1).
  REQUEST_DENIED: problemKind(403, "Host names another machine, or Origin a foreign page"),
  INSUFFICIENT_SCOPE: problemKind(403, "The access token lacks a required scope"),
  WORKSPACE_FORBIDDEN: problemKind(403, "The application has no access to this workspace"),
  PROCESSING_NOT_PERMITTED: problemKind(
    403,
    "Processing this input with this recipe was requested and is not approved",
  ),
  NOT_FOUND: problemKind(404, "There is nothing at this path"),
  METHOD_NOT_ALLOWED: problemKind(405, "The method is not allowed here; see Allow"),
  CONTENT_WITHHELD: problemKind(409, "The file is not scanned as clean and is not handed out"),
  INPUT_NOT_READY: problemKind(409, "A bound input is not READY"),
  INPUT_BEING_SCANNED: retryableProblemKind(409, "A bound input is still being scanned"),
  // Judged before If-Match: RFC 9110, 13.2.1, has preconditions ignored where the answer would not be 2xx anyway.
  JOB_TERMINAL: problemKind(409, "The job has ended and cannot be cancelled"),
  CANCELLATION_IN_PROGRESS: problemKind(409, "The job is being cancelled already"),
  // A job can be retried when it is CANCELLED, or FAILED with a retryable failure: anything else would run work twice.
  JOB_NOT_RETRYABLE: problemKind(409, "Only CANCELLED or retryably FAILED jobs are retried"),
  // One living retry per job, for the same reason; when that one failed or was cancelled, another may follow.
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
  // doubts.md 1: a UsageSummary cannot say MONTH.
  WINDOW_NOT_AVAILABLE: problemKind(422, "Usage by MONTH is not available: ask DAY or ENTITLEMENT"),
  // RFC 6585, section 3.
  IF_MATCH_REQUIRED: problemKind(428, "If-Match with the job's current ETag is required"),
  QUOTA_EXCEEDED: retryableProblemKind(429, "The workspace's quota for this window is used up"),
  INTERNAL_ERROR: retryableProblemKind(500, "The emulator failed; this is a defect"),
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof PROBLEMS;

/** A URN, as nothing can be fetched that would explain it further (RFC 9457, 3.1.1). */
export const problemType = (code: string): string => `urn:mic:problem:${code.toLowerCase().replaceAll("_", "-")}`;

// -- Headers ----------------------------------------------------------------------------------------------------------

/** Cache-Control of every answer: most hold one tenant's data, a token, or what the clock is about to change (RFC 9111, 5.2.2.5). */
export const NO_STORE = "no-store";
/** RFC 6750, section 3. */
export const REALM = "mic";
/** On a replayed answer, as Stripe does; the Idempotency-Key draft names no header. */
export const REPLAYED_HEADER = "Idempotent-Replayed";
// X-Request-Id is on every job-processing answer and equals `meta.requestId`; a replayed answer keeps its first one.
// The job's ETag is on each answer whose data is one Job (doubts.md 3). 201 and 202 carry Location (RFC 9110, 10.2.2).
// `Accept` is disregarded (RFC 9110, 12.4.1 allows it): each operation has one representation only.
// If-None-Match and Range are disregarded: the contract has no 304 and no 206; Accept-Ranges: none says so.

/** RFC 6266 and RFC 8187: an ASCII file name for all, the true one for those who can. */
export function contentDisposition(fileName: string): string {
  const ascii = fileName.replace(/[^\x20-\x7e]/g, "_").replace(/["\\]/g, "_");
  const encoded = encodeURIComponent(fileName).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

/** application/octet-stream, the type the contract's Accept asks for (4.2); the ETag is the sha256 of the bytes. */
export const assetHeaders = (file: { readonly name: string; readonly sha256: string }) => ({
  "Content-Type": "application/octet-stream",
  "Content-Disposition": contentDisposition(file.name),
  ETag: `"${file.sha256}"`,
  "Accept-Ranges": "none",
  "X-Content-Type-Options": "nosniff",
});

// -- Ids --------------------------------------------------------------------------------------------------------------
// An asset's id is its file's id: `assetIds` lists the files whose content is handed out, that is the clean ones.
// A path id that no resource has is 404; one that breaks its grammar is 400 at /path/{name}.

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

/** The only kind of Operation there is. */
export const CANCELLATION_TYPE = "JOB_CANCELLATION";

// -- Tokens (RFC 6749, 5.1) -------------------------------------------------------------------------------------------

export const TOKEN_LIFETIME_SECONDS = 3600;
/** 256 random bits: RFC 6749, 10.10, asks for at least 128. */
export const TOKEN_BYTES = 32;
// `scope` must be sent (contract, section 5); without it there is no default: invalid_scope (RFC 6749, 3.3).
// Client credentials in the body are refused (invalid_client): the contract knows HTTP Basic alone.

// -- Lists ------------------------------------------------------------------------------------------------------------

/** The recipe list's default page: the job list's. */
export const DEFAULT_RECIPE_PAGE = 25;

// -- Idempotency (Idempotency-Key draft) ------------------------------------------------------------------------------

/** How long a key is kept; the draft (2.3) wants it published. */
export const KEY_LIFETIME_MS = 24 * HOUR;

// -- How things move --------------------------------------------------------------------------------------------------

/**
 * The last stage that a recipe's jobs run (doubts.md 33). FREEZE is the furthest stop that a recipe can name: what was frozen
 * is then scooped and served. After an earlier stop the rest is NOT_REQUIRED, and the job has its output all the same.
 */
export const lastStageFor = (stopAfterStage: RecipeDefinition["stopAfterStage"]): StageName =>
  stopAfterStage === "FREEZE" ? "SERVE" : stopAfterStage;
/** A job's stage, unless `stageMs` says otherwise. */
export const STAGE_MS = 500;
/** A waiting review is approved after this. */
export const REVIEW_MS = MINUTE;
/** A file is registered before its scan has ended, and its input is WAITING_SCAN until then (doubts.md 32). */
export const SCAN_MS = 5 * SECOND;
/** After creation: a processing request becomes REVIEWABLE, then is decided. */
export const REVIEWABLE_AFTER_MS = 2 * SECOND;
export const DECIDED_AFTER_MS = 5 * SECOND;
/** The approved expiry for a file and a recipe: this, the input's own and the offer's, whichever is first. */
export const MAX_PERMISSION_MS = 30 * DAY;
export const INPUT_LIFETIME_MS = 90 * DAY;

// -- Playground -------------------------------------------------------------------------------------------------------
// Section 7.1 gives each status one value. Whatever this playground itself refuses is the 400 of an unsupported request:
// unknown path, wrong method (doubts.md 31), a state code that matches no state (doubts.md 9), anything unreadable. All else
// is upstream-unavailable.

export const PLAYGROUND_ROOT = "/api/svc/core/developers/playground";
export const PLAYGROUND_WINDOW_MS = MINUTE;
export const REQUESTS_PER_PEER = 600;
export const REQUESTS_PER_REPORTED_ADDRESS = 30;
// The reported address is the last one in X-Forwarded-For: the one the trusted edge wrote itself.

// -- Memory -----------------------------------------------------------------------------------------------------------
// An emulator that runs for weeks forgets its oldest entries beyond these numbers: an Idempotency-Key before its 24 h, too,
// when more POSTs than this came after it.

export const MAX_ENTRIES = {
  tokens: 10_000,
  idempotencyKeys: 20_000,
  jobs: 10_000,
  others: 10_000,
  peers: 10_000,
  requests: 1000,
  executions: 20_000,
} as const;
