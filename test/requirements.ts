// Lists the testable rules of the API contract, by section and in its order. A test must cite every rule (covers.ts).
// A rule "assumes-no-…" is a gap: the contract says "not shown". Its test uses an API that behaves differently from the emulator.

export const requirements = {
  // 1 What the service does, and the paragraph above it
  "1/json-bodies":
    "All request and response bodies are JSON unless stated otherwise: the token request is a form, an asset raw bytes.",
  "1/playground-no-side-effects":
    "Playground calls have no side effects and are idempotent: repeated over an unchanged catalogue they answer the same.",
  "1/catalogue-may-change":
    "Counts and lists may change as the catalogue is updated: no state, district or count is fixed by the contract.",
  "1/nine-stages-in-order":
    "A job passes through nine stages in this order: GATHER, SIFT, REFINE, BLEND, CHURN, TASTE, FREEZE, SCOOP, SERVE.",
  "1/offers-reference-only":
    "Every recipe offer has availability REVIEWED_REFERENCE and executionAvailable false; any other value breaks the contract.",
  "1/permission-reviewed-before-job":
    "Processing permission is reviewed before a job can run: no job of the input and the recipe runs before the request is APPROVED, and the request itself starts none.",
  "1/workspace-id-prefix": "A workspace id is written with the prefix micws_.",

  // 2.1 Playground resources
  "2.1/closed-objects":
    "StatesResponse, DistrictsResponse, State and District have no fields other than the listed ones.",
  "2.1/catalog-contract": "Both playground responses carry contract, required, constant svc.geo.admin-divisions.v1.",
  "2.1/catalog-source": "source is an optional string, the name of the catalogue.",
  "2.1/catalog-source-ref": "sourceRef is an optional URI.",
  "2.1/catalog-source-updated-at": "sourceUpdatedAt is an optional string, the source vintage, present when provided.",
  "2.1/catalog-fallback-used": "fallbackUsed is an optional boolean.",
  "2.1/state-code": "A State's code is a two-letter state code, required.",
  "2.1/state-lgd-code": "A State's lgdCode is an optional string.",
  "2.1/state-name": "A State's name is a required string.",
  "2.1/state-counts": "A State's districtCount and mandalCount are required integers >= 0.",
  "2.1/district-code-and-name": "A District's code and name are required strings.",
  "2.1/district-mandal-count": "A District's mandalCount is a required integer >= 0.",
  "2.1/states-response": "A StatesResponse has a required array states of at most 64 State items.",
  "2.1/districts-response-state": "A DistrictsResponse has a required string state, the state's name.",
  "2.1/districts-response-districts":
    "A DistrictsResponse has a required array districts of at most 256 District items.",

  // 2.2 Job-processing resources
  "2.2/date-time": "A date-time is a string in date-time format of at most 40 characters.",
  "2.2/workspace-style-id":
    "A workspace-style id is 1-128 characters: a letter or digit, then letters, digits, _ . : or -, without two consecutive dots.",
  "2.2/hex": "hex64 and hex32 are exactly 64 and 32 lowercase hexadecimal characters.",
  "2.2/all-fields-required":
    "Every field listed for a job-processing object is required, nullable ones included, unless marked optional.",
  "2.2/closed-objects": "A job-processing object has no fields other than the listed ones.",
  "2.2/envelope": "A single-resource response has exactly data and meta, both required, and meta holds requestId.",
  "2.2/meta-request-id": "meta.requestId is a string of 1-128 characters.",
  "2.2/meta-request-id-micreq":
    "On recipe, recipe-version and processing-request responses meta.requestId is micreq_ followed by hex32 (39 characters).",

  "2.2/job-ids": "A Job's id, workspaceId and recipeVersionId are strings of 1-128 characters.",
  "2.2/environment": "The environment of a Job, an Input and an Operation is SANDBOX or PRODUCTION.",
  "2.2/integer-resource-version":
    "The resourceVersion of a Job and of an Operation is an integer from 1 to 9007199254740991.",
  "2.2/created-and-updated-at": "The createdAt and updatedAt of a Job, an Input and an Operation are date-times.",
  "2.2/job-nullable-ids":
    "A Job's outputDatasetVersionId and retryOfBatchId are each null or a string of 1-128 characters.",
  "2.2/job-stages": "A Job's stages is an array of 0 to 9 Stage items.",
  "2.2/failure": "The failure of a Job and of an Operation is a Problem or null.",

  "2.2/stage-name": "A Stage's stage is one of GATHER, SIFT, REFINE, BLEND, CHURN, TASTE, FREEZE, SCOOP, SERVE.",
  "2.2/stage-attempt-count": "A Stage's attemptCount is an integer from 0 to 1000.",
  "2.2/stage-completed-units": "A Stage's completedUnits is an integer from 0 to 9007199254740991.",
  "2.2/stage-total-units": "A Stage's totalUnits is null or an integer from 0 to 9007199254740991.",

  "2.2/problem-texts": "A Problem's type is a string of 1-512 characters, title 1-160, code 1-100, requestId 1-128.",
  "2.2/problem-status": "A Problem's status is an integer from 400 to 599.",
  "2.2/problem-retryable": "A Problem's retryable is a boolean.",
  "2.2/problem-field-errors": "A Problem's fieldErrors is an array of 0 to 100 items.",
  "2.2/problem-field-error":
    "A field error has pointer (0-512 characters), code (1-100 characters) and message (1-1000 characters), all required.",

  "2.2/input-ids": "An Input's id, workspaceId and referenceId are strings of 1-128 characters.",
  "2.2/input-resource-version":
    "An Input's resourceVersion is a string of 1-19 decimal digits without leading zero, value >= 1.",
  "2.2/input-expires-at": "An Input's expiresAt is a date-time or null.",
  "2.2/input-kind": "An Input's inputKind is M4_FILE, ACQUISITION or DATASET_VERSION.",
  "2.2/input-sha256": "An Input's sha256 is hex64.",
  "2.2/input-classification": "An Input's classification is a string of 1-80 characters.",

  "2.2/processing-request-id": "A ProcessingRequest's id is micsharedrequest_ followed by hex32 (49 characters).",
  "2.2/processing-request-source-origin": "A ProcessingRequest's sourceOrigin is the constant SHARED_FILE_REQUEST.",
  "2.2/workspace-style-workspace-id":
    "The workspaceId of a ProcessingRequest, a RecipeOffer and a UsageSummary is a workspace-style id.",
  "2.2/processing-request-input-id":
    "A ProcessingRequest's inputId is micinput_ followed by hex32 (41 characters), the form input ids have in other resources.",
  "2.2/processing-request-recipe-version-id":
    "A ProcessingRequest's recipeVersionId is micrecipev_ followed by hex32 (43 characters).",
  "2.2/processing-request-revision": "A ProcessingRequest's revision is an integer from 1 to 9223372036854775807.",
  "2.2/processing-request-revision-no-coercion":
    "A ProcessingRequest's revision is of integer type: a string, boolean or fraction is not coerced to it.",
  "2.2/processing-request-hashes": "A ProcessingRequest's requestHash is hex64 and its reviewHash is hex64 or null.",
  "2.2/processing-request-reason-code":
    "A ProcessingRequest's reasonCode is null, REVIEWED_PROCESSING_PURPOSE, PURPOSE_NOT_ALLOWED, SOURCE_NOT_ELIGIBLE, ACCESS_NO_LONGER_REQUIRED or SECURITY_REVOKED.",
  "2.2/processing-request-instants":
    "A ProcessingRequest's createdAt and expiresAt are written YYYY-MM-DDThh:mm:ss with optional 1-6 fractional digits, ending in Z.",
  "2.2/processing-request-instants-valid":
    "A ProcessingRequest's createdAt and expiresAt are instants that exist: 30 February or hour 25 is none.",

  "2.2/operation-ids": "An Operation's id, workspaceId and originatingResourceId are strings of 1-128 characters.",
  "2.2/operation-type": "An Operation's operationType is a string of 1-100 characters.",
  "2.2/operation-required-scopes":
    "An Operation's requiredScopes is an array of 0-64 strings of 1-100 characters each.",
  "2.2/operation-result-resource-id": "An Operation's resultResourceId is null or a string of 1-128 characters.",

  "2.2/offer-id": "A RecipeOffer's id is micoffer_ followed by hex32 (41 characters).",
  "2.2/sandbox-environment": "The environment of a RecipeOffer and of a UsageSummary is the constant SANDBOX.",
  "2.2/offer-resource-version":
    "A RecipeOffer's resourceVersion is a string of 1-19 decimal digits without leading zero.",
  "2.2/offer-recipe": "A RecipeOffer's recipe is a RecipeDefinition.",
  "2.2/offer-dates": "A RecipeOffer's approvedAt and expiresAt are date-times.",
  "2.2/offer-projection-size":
    "A recipe offer's complete projection, including the full offer definition, is at most 65536 UTF-8 bytes.",

  "2.2/recipe-ids":
    "A RecipeDefinition's recipeId is micrecipe_ followed by hex32, its versionId micrecipev_ followed by hex32 (43 characters).",
  "2.2/recipe-version-hash": "A RecipeDefinition's versionHash is hex64.",
  "2.2/recipe-name": "A RecipeDefinition's name is a string of 1-160 characters.",
  "2.2/recipe-inputs": "A RecipeDefinition's inputs is an array of 1 to 100 InputRequirement items.",
  "2.2/recipe-parameters":
    "A RecipeDefinition's parameters and an InputRequirement's schema are each a RecipeParameters.",
  "2.2/recipe-required-permissions": "A RecipeDefinition's requiredPermissions is an array of 0-200 unique items.",
  "2.2/recipe-required-permission-form":
    "A required permission is 1-128 characters of the form <part>:<part>, the parts of letters, digits, _ . or -.",
  "2.2/recipe-stop-after-stage": "A RecipeDefinition's stopAfterStage is SIFT, REFINE, BLEND, CHURN, TASTE or FREEZE.",
  "2.2/input-requirement-ids": "An InputRequirement's name and schemaVersionId are workspace-style ids.",
  "2.2/input-requirement-value-state":
    "An InputRequirement's valueState is RAW, EXTRACTED, NORMALIZED, MATCHED or DERIVED.",
  "2.2/recipe-parameters-identity": "A RecipeParameters has versionId (workspace-style id) and contentHash (hex64).",
  "2.2/recipe-parameters-definition": "A RecipeParameters' definition is a free-form JSON object.",
  "2.2/recipe-parameters-references":
    "A RecipeParameters' references is an object of at most 200 properties, keyed by workspace-style ids, valued with free-form JSON objects.",
  "2.2/recipe-parameters-no-remote-fetch":
    "No remote fetching is performed for a recipe: an address within definition or references is never requested.",
  "2.2/assumes-no-schema-language":
    "The language of a RecipeParameters' definition is not shown: by what it does not call itself no job is judged.",

  "2.2/usage-window": "A UsageSummary's window is DAY or ENTITLEMENT.",
  "2.2/usage-dates": "A UsageSummary's observedAt, activatedAt and expiresAt are date-times.",
  "2.2/usage-quota-scope": "The quotaScope of a UsageSummary and of a UsageBucket is the constant ORGANIZATION_SHARED.",
  "2.2/usage-entitlement-state": "A UsageSummary's entitlementState is the constant ACTIVE.",
  "2.2/usage-reset-timezone": "A UsageSummary's resetTimezone is UTC or Asia/Kolkata.",
  "2.2/usage-buckets": "A UsageSummary's buckets is an array of 0 to 32 UsageBucket items.",
  "2.2/usage-bucket-metric":
    "A UsageBucket's metric is 1-80 characters: an uppercase letter, then uppercase letters, digits or _.",
  "2.2/usage-bucket-unit": "A UsageBucket's unit is COUNT, BYTE or null.",
  "2.2/usage-bucket-unit-definition-state": "A UsageBucket's unitDefinitionState is DEFINED or NOT_CONFIGURED.",
  "2.2/bucket-dates":
    "In a UsageBucket and a QuotaBucket windowStart, windowEnd and expiresAt are date-times, resetAt a date-time or null.",
  "2.2/usage-bucket-amounts":
    "A UsageBucket's granted, used, reserved and remaining are decimal strings without leading zeros, from 0 to 9223372036854775807.",

  "2.2/capability-set-identity":
    "A CapabilitySet's workspaceId is 1-128 characters and its environment is SANDBOX or PRODUCTION.",
  "2.2/capability-set-arrays":
    "A CapabilitySet has 0-100 Capability items in capabilities and 0-32 QuotaBucket items in limits.",
  "2.2/capability-names": "A Capability's kind, operation and version are strings of 1-80 characters each.",
  "2.2/capability-support-level":
    "A Capability's supportLevel is RAW_ONLY, EXTRACT, NORMALIZE or PUBLISH_READY_FOR_RECIPE.",
  "2.2/capability-enabled": "A Capability's enabled is a boolean.",
  "2.2/capability-prerequisite-and-evidence":
    "A Capability's prerequisite is null or 1-1000 characters, its evidenceRef null or 1-128 characters.",
  "2.2/capability-max-bytes-and-rows":
    "A Capability's maxInputBytes and maxRows are integers from 0 to 9007199254740991.",
  "2.2/capability-max-pages": "A Capability's maxPages is an integer from 0 to 100000.",
  "2.2/capability-languages": "A Capability's languages is an array of 0-32 strings of 1-32 characters each.",
  "2.2/quota-bucket-unit": "A QuotaBucket's unit is a string of 1-80 characters.",
  "2.2/quota-bucket-amounts":
    "A QuotaBucket's granted, used, reserved and remaining are integers from 0 to 9007199254740991.",

  "2.2/job-list": "A job list has exactly data (0-100 Job items), meta and page, all required.",
  "2.2/job-list-page":
    "A job list's page has nextCursor (null or a string of 1-4096 characters) and hasMore (boolean), both required.",
  "2.2/recipe-list": "A recipe offer list has exactly data (0-100 RecipeOffer items), page and meta, all required.",
  "2.2/recipe-list-page":
    "A recipe offer list's page has limit (integer 1-100), nextCursor (null or 43 letters, digits, _ or -) and hasMore (boolean), all required.",

  "2.2/assumes-no-workspace-or-asset-record":
    "The fields of a workspace and of an asset record are not shown: nothing but their identifiers is used.",
  "2.2/assumes-no-value-sets":
    "The values of operationType, of capability kind and operation and of usage metric are not shown: any is taken.",

  // 3 States and transitions
  "3/job-state":
    "Job.state and Job.processingState are PREPARING, QUEUED, RUNNING, WAITING_REVIEW, PAUSED, SUCCEEDED, FAILED or CANCELLED.",
  "3/job-publication-state": "Job.publicationState is NOT_REQUESTED, AWAITING_RELEASE, BUILDING, ACTIVE or WITHDRAWN.",
  "3/job-review-state": "Job.reviewState is NOT_REQUIRED, PENDING, APPROVED or REJECTED.",
  "3/stage-state": "Stage.state is PENDING, RUNNING, WAITING_REVIEW, SUCCEEDED, FAILED, CANCELLED or NOT_REQUIRED.",
  "3/input-state": "Input.state is WAITING_SCAN, READY, QUARANTINED, EXPIRED or WITHDRAWN.",
  "3/input-scan-state": "Input.scanState is PENDING, CLEAN, INFECTED, UNAVAILABLE, STALE or NOT_APPLICABLE.",
  "3/processing-request-state": "ProcessingRequest.state is SUBMITTED, REVIEWABLE, APPROVED, REJECTED or REVOKED.",
  "3/operation-state": "Operation.state is QUEUED, RUNNING, SUCCEEDED, FAILED or CANCELLED.",
  "3/retry-carries-earlier-job": "A retried job carries the earlier job's id in retryOfBatchId.",
  "3/assumes-no-transitions":
    "Transitions are not shown: any state may follow any other, and what the service accepts is not forestalled.",

  // 4.1 Playground (anonymous)
  "4.1/states": "GET {base_url}/api/svc/core/developers/playground/v1/geo/states answers 200 with a StatesResponse.",
  "4.1/districts":
    "GET {base_url}/api/svc/core/developers/playground/v1/geo/districts answers 200 with a DistrictsResponse.",
  "4.1/openapi":
    "GET {base_url}/api/svc/core/developers/playground/v1/openapi.json answers 200 with openapi (constant 3.1.1), info (object) and paths (object), all required.",
  "4.1/closed-query": "The playground accepts no query parameter but state on districts.",
  "4.1/state-required": "The districts endpoint requires state, a string of exactly two ASCII letters.",
  "4.1/state-uppercased": "A state given in lowercase is normalized to uppercase.",
  "4.1/error-statuses":
    "Each playground endpoint can answer 400, 403 and 429; states and districts also 502 and a default upstream failure, the OpenAPI endpoint no 502.",
  "4.1/operation-ids":
    "The playground's operation ids are listPlaygroundStates, listPlaygroundDistricts and getPlaygroundOpenApi.",
  "4.1/assumes-no-answer-to-unknown-state":
    "The response for a well-formed state code that matches no state is not shown: a 400, a 404 and an empty list all say it.",

  // 4.2 Job-processing endpoints
  "4.2/base-path": "Job-processing paths are relative to {base_url}/sandbox.",
  "4.2/accept":
    "Job-processing calls send Accept: application/json, the asset download Accept: application/octet-stream.",
  "4.2/closed-query":
    "A job-processing endpoint accepts only its listed query parameters, and none where none is listed.",
  "4.2/get-capabilities":
    "getMicPublicCapabilities is GET /v1/mic/capabilities and answers 200 with an Envelope of CapabilitySet.",
  "4.2/create-input": "createMicPublicInput is POST /v1/mic/inputs and answers 201 with an Envelope of Input.",
  "4.2/get-input": "getMicPublicInput is GET /v1/mic/inputs/{inputId} and answers 200 with an Envelope of Input.",
  "4.2/get-asset-content":
    "getMicPublicAssetContent is GET /v1/mic/assets/{assetId}/content and answers 200 with the original file as raw bytes.",
  "4.2/list-recipes": "listMicExecutableRecipes is GET /v1/mic/recipes and answers 200 with a recipe offer list page.",
  "4.2/get-recipe":
    "getMicExecutableRecipe is GET /v1/mic/recipe-versions/{versionId} and answers 200 with an Envelope of RecipeOffer.",
  "4.2/create-job": "createMicJob is POST /v1/mic/jobs and answers 202 with an Envelope of Job.",
  "4.2/list-jobs": "listMicJobs is GET /v1/mic/jobs and answers 200 with a job list page.",
  "4.2/get-job": "getMicJob is GET /v1/mic/jobs/{jobId} and answers 200 with an Envelope of Job.",
  "4.2/cancel-job":
    "cancelMicJob is POST /v1/mic/jobs/{jobId}/cancellations and answers 202 with an Envelope of Operation.",
  "4.2/retry-job": "retryMicJob is POST /v1/mic/jobs/{jobId}/retries and answers 202 with an Envelope of Job.",
  "4.2/get-operation":
    "getMicPublicOperation is GET /v1/mic/operations/{operationId} and answers 200 with an Envelope of Operation.",
  "4.2/get-usage": "getMicPublicUsage is GET /v1/mic/usage and answers 200 with an Envelope of UsageSummary.",
  "4.2/create-processing-request":
    "requestMicSharedFileProcessing is POST /v1/mic/processing-requests and answers 201 with an Envelope of ProcessingRequest.",
  "4.2/get-processing-request":
    "getMicSharedFileProcessingRequest is GET /v1/mic/processing-requests/{requestId} and answers 200 with an Envelope of ProcessingRequest.",
  "4.2/path-ids":
    "The path parameter versionId is micrecipev_ followed by hex32, requestId micsharedrequest_ followed by hex32.",

  "4.2/assumes-no-path-id-format":
    "The formats of jobId, operationId and assetId in a path are not shown: any id that the service gave reaches it again.",

  "4.2/query-workspace-id":
    "GET /v1/mic/capabilities and GET /v1/mic/jobs require workspaceId, a string of 1-128 characters.",
  "4.2/query-workspace-style-id":
    "GET /v1/mic/recipes and GET /v1/mic/usage require workspaceId, a workspace-style id.",
  "4.2/list-limit": "GET /v1/mic/jobs and GET /v1/mic/recipes take an optional limit, an integer 1-100.",
  "4.2/jobs-limit-default": "GET /v1/mic/jobs without limit uses 25.",
  "4.2/jobs-cursor": "GET /v1/mic/jobs takes an optional cursor of 1-4096 characters.",
  "4.2/recipes-cursor": "GET /v1/mic/recipes takes an optional cursor of exactly 43 letters, digits, _ or -.",
  "4.2/recipes-sort": "GET /v1/mic/recipes takes an optional sort whose only value is versionId.",
  "4.2/usage-window": "GET /v1/mic/usage requires window: DAY, MONTH or ENTITLEMENT.",
  "4.2/usage-window-reported":
    "A usage summary says by window what it is of: one of another window than the one asked for is reported as that window.",
  "4.2/assumes-no-job-order":
    "Not shown: the order of the job list. A filter finds the same jobs in any order, or says that it was not read to the end.",
  "4.2/assumes-no-default-recipe-page":
    "The default page size of the recipe list is not shown: none is asked for or expected where no limit is given.",
  "4.2/next-cursor": "A list's page.nextCursor passed as cursor fetches the next page.",
  "4.2/has-more": "A list's page.hasMore tells whether more items remain.",

  "4.2/idempotency-key-required": "Each of the five POST endpoints requires the header Idempotency-Key.",
  "4.2/job-key-length":
    "The Idempotency-Key of job creation, retry and cancellation has at least 8 and at most 160 UTF-16 units.",
  "4.2/job-key-characters":
    "The Idempotency-Key of job creation, retry and cancellation has no control characters (U+0000-U+001F, U+007F-U+009F) and is not blank.",
  "4.2/input-key": "The Idempotency-Key of POST /v1/mic/inputs is 1-128 letters, digits, . _ : / or -.",
  "4.2/processing-request-key":
    "The Idempotency-Key of POST /v1/mic/processing-requests is 8-128 characters: a letter or digit, then letters, digits, _ . : or -, without two consecutive dots.",
  "4.2/key-names-one-command":
    "A stable Idempotency-Key is used for one exact command and retained body: repeated with it, the command takes effect once.",
  "4.2/if-match-required": "POST /v1/mic/jobs/{jobId}/cancellations requires If-Match.",
  "4.2/if-match-form":
    "If-Match is a strong ETag: an integer from 1 to 9007199254740991 without leading zero (up to 16 digits), in double quotes.",
  "4.2/content-type": "Each of the five POST endpoints is called with Content-Type: application/json.",

  "4.2/bodies-closed": "A request body with a field beyond the listed ones is invalid.",
  "4.2/job-ids":
    "Job creation requires workspaceId (workspace-style id) and recipeVersionId (micrecipev_ followed by hex32, 43 characters).",
  "4.2/job-input-bindings": "Job creation requires inputBindings, an array of 1-32 items.",
  "4.2/job-input-bindings-unique":
    "The ports and the input ids of a job's inputBindings are each unique across the array.",
  "4.2/job-input-binding-port":
    "An input binding requires port: 1-80 characters, a letter, then letters, digits, _ or -.",
  "4.2/assumes-no-port-names":
    "That ports are the names of the recipe's inputs, and all to be bound, is not shown: where it cannot be so, the service judges.",
  "4.2/job-input-binding-input-id": "An input binding requires inputId, a workspace-style id.",
  "4.2/job-input-binding-owned": "An input binding's inputId names an owned input.",
  "4.2/job-parameter-values":
    "Job creation requires parameterValues, an object that matches exactly the offered recipe's published parameter schema.",
  "4.2/job-no-defaults-no-plan":
    "parameterValues has no implicit defaults (a value left out is not filled in) and holds no caller-supplied plan.",
  "4.2/job-client-reference":
    "Job creation takes an optional clientReference: null or 1-160 characters (at most 160 UTF-16 units), no control characters, not blank.",
  "4.2/input-ids": "Input registration requires workspaceId and referenceId, strings of 1-128 characters.",
  "4.2/input-kind": "Input registration requires inputKind: M4_FILE, ACQUISITION or DATASET_VERSION.",
  "4.2/input-reference-file":
    "For M4_FILE, referenceId is the id of an owned, scanned file, with the prefix devfile_ or devsignfile_.",
  "4.2/input-alias-and-client-reference":
    "Input registration takes an optional alias and an optional clientReference, strings of 1-160 characters each.",
  "4.2/processing-request-ids":
    "A processing-request body requires workspaceId (workspace-style id), inputId (micinput_ and hex32) and recipeVersionId (micrecipev_ and hex32).",
  "4.2/processing-request-recipe-version-hash": "A processing-request body requires recipeVersionHash, hex64.",
  "4.2/processing-request-purpose":
    "A processing-request body requires purpose: 1-160 characters, no control characters, not blank, valid Unicode scalar values.",
  "4.2/processing-request-expires-at":
    "A processing-request body requires expiresAt, a UTC instant ending in Z with up to six fractional digits.",
  "4.2/processing-request-expires-in-future": "A processing-request body's expiresAt is in the future.",
  "4.2/processing-request-expires-within-approved":
    "A processing-request body's expiresAt is within the approved expiry for the file and recipe.",
  "4.2/reason":
    "Cancellation and retry bodies require reason: 1-1000 characters (at most 1000 UTF-16 units), no control characters, not blank.",
  "4.2/retry-mode": "A retry body requires retryMode: SAFE_RESUME or RESTART.",

  "4.2/assumes-no-response-headers":
    "Response headers, and which response carries the job ETag, are not shown: absent or odd ones change nothing.",
  "4.2/assumes-no-asset-headers":
    "Headers and error behavior of the asset download are not shown: a file without a type or a name is saved, an error is reported.",

  // 5 Authentication
  "5/playground-anonymous":
    "The playground is anonymous: no credential, no scope and no grant, and its security is empty.",
  "5/secret-stays-in-server":
    "The client secret stays in the server: it is sent to the token endpoint only and appears in no answer to a client.",
  "5/token-endpoint": "A token is requested with POST {base_url}/sandbox/oauth/token.",
  "5/token-basic": "The token request authenticates with HTTP Basic, client id and secret.",
  "5/token-form":
    "The token request is application/x-www-form-urlencoded with grant_type=client_credentials and scope=<space-separated scopes>.",
  "5/token-response": "The token response carries access_token.",
  "5/bearer": "Every job-processing call requires Authorization: Bearer <ACCESS_TOKEN>.",
  "5/token-renewed": "When the access token expires, a new token is requested.",
  "5/scope-covers-operation": "The scope requested at the token endpoint must cover the operation being called.",
  "5/scopes-capabilities": "Capabilities need the scope mic.capabilities:read, no additional permission.",
  "5/scopes-register-input": "Registering an input needs the scopes files:read mic.inputs:write.",
  "5/scopes-get-input": "Getting an input needs the scopes files:read mic.inputs:read.",
  "5/scopes-download-asset": "Downloading an asset needs the scopes files:read mic.assets:read.",
  "5/scopes-recipes": "Listing and getting recipes needs the scope mic.recipes:read, no additional permission.",
  "5/scopes-run-jobs": "Submitting and retrying a job needs the scope mic.jobs:run, no additional permission.",
  "5/scopes-read-jobs":
    "Listing and getting jobs and getting a processing request needs the scope mic.jobs:read, no additional permission.",
  "5/scopes-cancel-job": "Cancelling a job needs the scope mic.jobs:cancel, no additional permission.",
  "5/scopes-get-operation": "Getting an operation needs the scope mic.operations:read, no additional permission.",
  "5/scopes-usage": "Usage needs the scope mic.usage:read, no additional permission.",
  "5/scopes-create-processing-request": "Creating a processing request needs the scopes files:read mic.jobs:run.",
  "5/assumes-no-basic-form":
    "Whether HTTP Basic carries id and secret form-encoded or as they are is not shown: a service that reads either is served.",
  "5/assumes-no-token-fields":
    "The lifetime of a token, the answer's status within 2xx and its fields other than access_token are not shown: none is needed.",
  "5/assumes-no-answer-to-bad-token":
    "Status and body for a missing or invalid token or scope are not shown: a token that has ended is renewed however that is said.",

  // 6 Events
  "6/progress-by-reading":
    "There are no webhooks or events: progress is observed by reading GET /v1/mic/jobs/{jobId} and GET /v1/mic/operations/{operationId}.",

  // 7.1 Playground error bodies
  "7.1/body": "Every playground error body is a JSON object with exactly one field, the string status.",
  "7.1/invalid-request":
    "An unsupported query or body, such as a missing or malformed state, is answered with 400 and INVALID_PLAYGROUND_REQUEST.",
  "7.1/denied": "A request denied by the public route policy is answered with 403 and PLAYGROUND_REQUEST_DENIED.",
  "7.1/rate-limited": "A request over a rate limit is answered with 429 and PLAYGROUND_RATE_LIMITED.",
  "7.1/retry-after": "A playground 429 carries the header Retry-After, an integer >= 1.",
  "7.1/upstream-unavailable":
    "A transport failure or an invalid catalogue response is answered with 502 and PLAYGROUND_UPSTREAM_UNAVAILABLE.",
  "7.1/upstream-status-preserved":
    "An upstream HTTP error keeps its status as the response status, with PLAYGROUND_UPSTREAM_UNAVAILABLE.",
  "7.1/assumes-no-condition-of-403":
    "The conditions that trigger the playground's 403 are not shown: none is reported, and the next call asks again.",

  // 7.2 Job-processing errors
  "7.2/problem": "A failed job-processing call is described by a Problem.",
  "7.2/failure-when-failed": "A failed job or operation carries a Problem in failure; otherwise failure is null.",
  "7.2/bounds-refused":
    "A request body that violates a bound of section 4 is invalid: it is refused and has no effect.",
  "7.2/assumes-no-statuses-or-codes":
    "Status codes and problem codes of the job API are not shown: any is reported as received, none decides by its name.",
  "7.2/assumes-no-answer-to-key-reuse":
    "What the service does with a key that is reused with another body is not shown: no key is ever sent with another one.",

  // 8 Limits
  "8/hard-rate":
    "Every playground endpoint is under a hard limit of 600 requests per minute per connected peer, per instance.",
  "8/reported-address-rate":
    "Every playground endpoint is under a limit of 30 requests per minute per reported client address.",
  "8/reported-address-trusted":
    "The rate per reported client address is enforced only when the edge supplies a trusted address.",
  "8/workspace-limits-as-data":
    "Capability limits (maxInputBytes, maxRows, maxPages) and usage quotas are returned per workspace as data.",
  "8/assumes-no-job-rate":
    "Rate limits of the job API are not shown: no call waits for one, and whatever the service asks for is obeyed.",

  // 9 Versioning
  "9/playground-document-version": "The playground's OpenAPI document has the document version 1.0.0.",
  "9/if-match-current":
    "A cancellation's If-Match quotes the job's current resourceVersion: an earlier one is not accepted.",
  "9/recipe-version-identity": "A recipe version is identified by its versionId and its content hash versionHash.",
  "9/recipe-version-hash-current":
    "A processing request's recipeVersionHash is the current versionHash of its recipe version: another is not accepted.",
} as const satisfies Record<string, string>;

export type RequirementId = keyof typeof requirements;
