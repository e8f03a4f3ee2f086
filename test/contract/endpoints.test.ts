// The endpoint tables of service.md section 4, copied by hand, against the contract's endpoints.
import { describe, expect, test } from "vitest";
import * as z from "zod/v4";
import { API_PREFIX, type Endpoint, scopesToRequest, TOKEN_PATH } from "../../src/contract/endpoints/endpoint.ts";
import { endpoints } from "../../src/contract/endpoints/index.ts";
import { proves } from "../proves.ts";
import { anyText, integer, oneOf, prefixedHex32, text, workspaceStyleId } from "./field-rules.ts";
import { objectUnderTest } from "./object-rules.ts";
import * as samples from "./samples.ts";

const geo = "/api/svc/core/developers/playground/v1";

// query and body: `?` marks what is optional. key: which of the three grammars of Idempotency-Key.
const playgroundTable = [
  { id: "listPlaygroundStates", path: `${geo}/geo/states`, query: [] },
  { id: "listPlaygroundDistricts", path: `${geo}/geo/districts`, query: ["state"] },
  { id: "getPlaygroundOpenApi", path: `${geo}/openapi.json`, query: [] },
];

const reads = [
  {
    id: "getMicPublicCapabilities",
    path: "/v1/mic/capabilities",
    query: ["workspaceId"],
    scope: "mic.capabilities:read",
    extra: [],
  },
  {
    id: "getMicPublicInput",
    path: "/v1/mic/inputs/{inputId}",
    query: [],
    scope: "mic.inputs:read",
    extra: ["files:read"],
  },
  {
    id: "getMicPublicAssetContent",
    path: "/v1/mic/assets/{assetId}/content",
    query: [],
    scope: "mic.assets:read",
    extra: ["files:read"],
  },
  {
    id: "listMicExecutableRecipes",
    path: "/v1/mic/recipes",
    query: ["workspaceId", "limit?", "cursor?", "sort?"],
    scope: "mic.recipes:read",
    extra: [],
  },
  {
    id: "getMicExecutableRecipe",
    path: "/v1/mic/recipe-versions/{versionId}",
    query: [],
    scope: "mic.recipes:read",
    extra: [],
  },
  {
    id: "listMicJobs",
    path: "/v1/mic/jobs",
    query: ["workspaceId", "limit?", "cursor?"],
    scope: "mic.jobs:read",
    extra: [],
  },
  { id: "getMicJob", path: "/v1/mic/jobs/{jobId}", query: [], scope: "mic.jobs:read", extra: [] },
  {
    id: "getMicPublicOperation",
    path: "/v1/mic/operations/{operationId}",
    query: [],
    scope: "mic.operations:read",
    extra: [],
  },
  {
    id: "getMicPublicUsage",
    path: "/v1/mic/usage",
    query: ["workspaceId", "window"],
    scope: "mic.usage:read",
    extra: [],
  },
  {
    id: "getMicSharedFileProcessingRequest",
    path: "/v1/mic/processing-requests/{requestId}",
    query: [],
    scope: "mic.jobs:read",
    extra: [],
  },
];

const writes = [
  {
    id: "createMicPublicInput",
    path: "/v1/mic/inputs",
    scope: "mic.inputs:write",
    extra: ["files:read"],
    status: 201,
    key: "input",
    ifMatch: false,
    body: ["workspaceId", "inputKind", "referenceId", "alias?", "clientReference?"],
  },
  {
    id: "createMicJob",
    path: "/v1/mic/jobs",
    scope: "mic.jobs:run",
    extra: [],
    status: 202,
    key: "text",
    ifMatch: false,
    body: ["workspaceId", "recipeVersionId", "inputBindings", "parameterValues", "clientReference?"],
  },
  {
    id: "cancelMicJob",
    path: "/v1/mic/jobs/{jobId}/cancellations",
    scope: "mic.jobs:cancel",
    extra: [],
    status: 202,
    key: "text",
    ifMatch: true,
    body: ["reason"],
  },
  {
    id: "retryMicJob",
    path: "/v1/mic/jobs/{jobId}/retries",
    scope: "mic.jobs:run",
    extra: [],
    status: 202,
    key: "text",
    ifMatch: false,
    body: ["retryMode", "reason"],
  },
  {
    id: "requestMicSharedFileProcessing",
    path: "/v1/mic/processing-requests",
    scope: "mic.jobs:run",
    extra: ["files:read"],
    status: 201,
    key: "processing",
    ifMatch: false,
    body: ["workspaceId", "inputId", "recipeVersionId", "recipeVersionHash", "purpose", "expiresAt"],
  },
];

const fieldNames = (fields: z.ZodObject<z.ZodRawShape> | undefined): readonly string[] =>
  Object.entries(fields?.shape ?? {}).map(([name, field]) =>
    z.safeParse(field, undefined).success ? `${name}?` : name,
  );

const endpoint = (id: string): Endpoint => {
  const found = endpoints.find((one) => one.id === id);
  if (!found) throw new Error(`no endpoint ${id}`);
  return found;
};

test("there are these 18 endpoints, in the order of the tables", () => {
  expect(endpoints.map(({ id }) => id)).toEqual([
    "listPlaygroundStates",
    "listPlaygroundDistricts",
    "getPlaygroundOpenApi",
    "getMicPublicCapabilities",
    "createMicPublicInput",
    "getMicPublicInput",
    "getMicPublicAssetContent",
    "listMicExecutableRecipes",
    "getMicExecutableRecipe",
    "createMicJob",
    "listMicJobs",
    "getMicJob",
    "cancelMicJob",
    "retryMicJob",
    "getMicPublicOperation",
    "getMicPublicUsage",
    "requestMicSharedFileProcessing",
    "getMicSharedFileProcessingRequest",
  ]);
});

proves(
  ["4.1/states", "4.1/districts", "4.1/openapi", "4.1/operation-ids", "4.1/closed-query"],
  "table 4.1: the playground",
  () => {
    const rows = endpoints
      .filter(({ api }) => api === "playground")
      .map(({ id, path, query }) => ({ id, path, query: fieldNames(query) }));
    expect(rows).toEqual(playgroundTable);
    for (const { id } of playgroundTable) {
      const { method, success, pathParameters, ...rest } = endpoint(id);
      expect([method, success.status, fieldNames(pathParameters)]).toEqual(["GET", 200, []]);
      expect(Object.keys(rest).sort()).toEqual(["api", "id", "path", "query"]);
    }
  },
);

proves(
  [
    "4.2/get-capabilities",
    "4.2/get-input",
    "4.2/get-asset-content",
    "4.2/list-recipes",
    "4.2/get-recipe",
    "4.2/list-jobs",
    "4.2/get-job",
    "4.2/get-operation",
    "4.2/get-usage",
    "4.2/get-processing-request",
    "4.2/closed-query",
  ],
  "table 4.2: the reading endpoints",
  () => {
    const rows = endpoints
      .filter(({ api, method }) => api === "job-processing" && method === "GET")
      .map(({ id, path, query, scope, additionalPermissions }) => ({
        id,
        path,
        query: fieldNames(query),
        scope,
        extra: additionalPermissions ?? [],
      }));
    expect(rows).toEqual(reads);
    for (const { id } of reads) {
      const { success, body, idempotencyKey, ifMatch } = endpoint(id);
      expect([success.status, body, idempotencyKey, ifMatch]).toEqual([200, undefined, undefined, undefined]);
    }
  },
);

proves(
  [
    "4.2/create-input",
    "4.2/create-job",
    "4.2/cancel-job",
    "4.2/retry-job",
    "4.2/create-processing-request",
    "4.2/closed-query",
  ],
  "table 4.2: the POST endpoints, with their headers and bodies",
  () => {
    const rows = endpoints
      .filter(({ method }) => method === "POST")
      .map(({ id, path, scope, additionalPermissions, success, idempotencyKey, ifMatch, body }) => ({
        id,
        path,
        scope,
        extra: additionalPermissions ?? [],
        status: success.status,
        key: idempotencyKey,
        ifMatch: ifMatch ?? false,
        body: fieldNames(body),
      }));
    expect(rows).toEqual(writes);
    for (const { id } of writes)
      expect([endpoint(id).api, fieldNames(endpoint(id).query)]).toEqual(["job-processing", []]);
  },
);

proves("4.2/base-path", "where each API lives below the base URL", () => {
  expect([API_PREFIX, TOKEN_PATH]).toEqual([{ playground: "", "job-processing": "/sandbox" }, "/sandbox/oauth/token"]);
});

test("section 5: the scopes to request", () => {
  const scopes = Object.fromEntries(endpoints.map((one) => [one.id, scopesToRequest(one).join(" ")]));
  expect(scopes).toEqual({
    listPlaygroundStates: "",
    listPlaygroundDistricts: "",
    getPlaygroundOpenApi: "",
    getMicPublicCapabilities: "mic.capabilities:read",
    createMicPublicInput: "files:read mic.inputs:write",
    getMicPublicInput: "files:read mic.inputs:read",
    getMicPublicAssetContent: "files:read mic.assets:read",
    listMicExecutableRecipes: "mic.recipes:read",
    getMicExecutableRecipe: "mic.recipes:read",
    createMicJob: "mic.jobs:run",
    listMicJobs: "mic.jobs:read",
    getMicJob: "mic.jobs:read",
    cancelMicJob: "mic.jobs:cancel",
    retryMicJob: "mic.jobs:run",
    getMicPublicOperation: "mic.operations:read",
    getMicPublicUsage: "mic.usage:read",
    requestMicSharedFileProcessing: "files:read mic.jobs:run",
    getMicSharedFileProcessingRequest: "mic.jobs:read",
  });
});

// Every answer that any endpoint gives: only its own may pass.
const { enveloped, micEnveloped } = samples;
const answers: Readonly<Record<string, unknown>> = {
  states: samples.statesResponse,
  districts: samples.districtsResponse,
  openapi: samples.openApiDocument,
  capabilities: enveloped(samples.capabilitySet),
  input: enveloped(samples.input),
  recipes: samples.recipeList,
  recipe: micEnveloped(samples.recipeOffer),
  recipeOfOtherRequest: enveloped(samples.recipeOffer),
  job: enveloped(samples.job),
  jobs: samples.jobList,
  operation: enveloped(samples.operation),
  usage: enveloped(samples.usageSummary),
  processingRequest: micEnveloped(samples.processingRequest),
  processingRequestOfOtherRequest: enveloped(samples.processingRequest),
};

const passing = (id: string): readonly string[] | "binary" => {
  const { body } = endpoint(id).success;
  if (body === "binary") return body;
  return Object.keys(answers).filter((name) => body.safeParse(answers[name]).success);
};

describe("success bodies", () => {
  proves(["4.1/states", "4.1/districts", "4.1/openapi"], "of the playground", () => {
    expect(playgroundTable.map(({ id }) => passing(id))).toEqual([["states"], ["districts"], ["openapi"]]);
  });

  proves(
    [
      "4.2/get-capabilities",
      "4.2/get-input",
      "4.2/get-asset-content",
      "4.2/list-recipes",
      "4.2/get-recipe",
      "4.2/list-jobs",
      "4.2/get-job",
      "4.2/get-operation",
      "4.2/get-usage",
      "4.2/get-processing-request",
      "2.2/meta-request-id-micreq",
    ],
    "of the reading endpoints",
    () => {
      expect(Object.fromEntries(reads.map(({ id }) => [id, passing(id)]))).toEqual({
        getMicPublicCapabilities: ["capabilities"],
        getMicPublicInput: ["input"],
        getMicPublicAssetContent: "binary",
        listMicExecutableRecipes: ["recipes"],
        getMicExecutableRecipe: ["recipe"],
        listMicJobs: ["jobs"],
        getMicJob: ["job"],
        getMicPublicOperation: ["operation"],
        getMicPublicUsage: ["usage"],
        getMicSharedFileProcessingRequest: ["processingRequest"],
      });
    },
  );

  proves(
    [
      "4.2/create-input",
      "4.2/create-job",
      "4.2/cancel-job",
      "4.2/retry-job",
      "4.2/create-processing-request",
      "2.2/meta-request-id-micreq",
    ],
    "of the POST endpoints",
    () => {
      expect(Object.fromEntries(writes.map(({ id }) => [id, passing(id)]))).toEqual({
        createMicPublicInput: ["input"],
        createMicJob: ["job"],
        cancelMicJob: ["operation"],
        retryMicJob: ["job"],
        requestMicSharedFileProcessing: ["processingRequest"],
      });
    },
  );
});

describe("query parameters", () => {
  const cursor43 = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ012345_";
  const limit = integer(1, 100);

  const states = objectUnderTest(endpoint("listPlaygroundStates").query, {});
  proves("4.1/closed-query", "states: none", states.isExactlyItsFields());

  const openApi = objectUnderTest(endpoint("getPlaygroundOpenApi").query, {});
  proves("4.1/closed-query", "openapi.json: none", openApi.isExactlyItsFields());

  const districts = objectUnderTest(endpoint("listPlaygroundDistricts").query, { state: "TG" });
  const stateCode = {
    accepts: ["TG", "AA", "ZZ"],
    refuses: ["", "T", "TGA", "T1", "36", "T ", " T", "TG\n", "ÄÖ", "ßa", "ſs", "𝐓𝐆", ...anyText.refuses],
  };
  proves(["4.1/closed-query", "4.1/state-required"], "districts", districts.isExactlyItsFields());
  proves("4.1/state-required", "state", districts.fields({ state: stateCode }));
  districts.everyFieldHasARule();
  proves("4.1/state-uppercased", "a lowercase state becomes uppercase", () => {
    const { query } = endpoint("listPlaygroundDistricts");
    expect(["tg", "tG", "Tg", "TG"].map((state) => query.parse({ state }))).toEqual(Array(4).fill({ state: "TG" }));
  });

  const capabilities = objectUnderTest(endpoint("getMicPublicCapabilities").query, { workspaceId: "micws_1" });
  proves("4.2/closed-query", "capabilities", capabilities.isExactlyItsFields());
  proves("4.2/query-workspace-id", "workspaceId", capabilities.fields({ workspaceId: text(1, 128) }));
  capabilities.everyFieldHasARule();

  const jobs = objectUnderTest(
    endpoint("listMicJobs").query,
    { workspaceId: "micws_1", limit: 25, cursor: "next" },
    { optional: ["limit", "cursor"] },
  );
  proves("4.2/closed-query", "jobs", jobs.isExactlyItsFields());
  proves("4.2/query-workspace-id", "workspaceId of jobs", jobs.fields({ workspaceId: text(1, 128) }));
  proves("4.2/list-limit", "limit of jobs", jobs.fields({ limit }));
  proves("4.2/jobs-cursor", "cursor of jobs", jobs.fields({ cursor: text(1, 4096) }));
  jobs.everyFieldHasARule();

  const recipes = objectUnderTest(
    endpoint("listMicExecutableRecipes").query,
    { workspaceId: "micws_1", limit: 25, cursor: cursor43, sort: "versionId" },
    { optional: ["limit", "cursor", "sort"] },
  );
  const cursor = {
    accepts: [cursor43, "-".repeat(43), "_".repeat(43), "0".repeat(43)],
    refuses: ["", "a".repeat(42), "a".repeat(44), `${"a".repeat(42)}.`, `${cursor43}\n`, ...anyText.refuses],
  };
  proves("4.2/closed-query", "recipes", recipes.isExactlyItsFields());
  proves("4.2/query-workspace-style-id", "workspaceId of recipes", recipes.fields({ workspaceId: workspaceStyleId }));
  proves("4.2/list-limit", "limit of recipes", recipes.fields({ limit }));
  proves("4.2/recipes-cursor", "cursor of recipes", recipes.fields({ cursor }));
  proves("4.2/recipes-sort", "sort of recipes", recipes.fields({ sort: oneOf("versionId") }));
  recipes.everyFieldHasARule();

  const usage = objectUnderTest(endpoint("getMicPublicUsage").query, { workspaceId: "micws_1", window: "DAY" });
  proves("4.2/closed-query", "usage", usage.isExactlyItsFields());
  proves("4.2/query-workspace-style-id", "workspaceId of usage", usage.fields({ workspaceId: workspaceStyleId }));
  proves("4.2/usage-window", "window of usage", usage.fields({ window: oneOf("DAY", "MONTH", "ENTITLEMENT") }));
  usage.everyFieldHasARule();
});

describe("path parameters", () => {
  test("are those of the path", () => {
    for (const { path, pathParameters } of endpoints)
      expect(fieldNames(pathParameters)).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
  });

  const hex32 = "0123456789abcdef0123456789abcdef";
  const recipe = objectUnderTest(endpoint("getMicExecutableRecipe").pathParameters, {
    versionId: `micrecipev_${hex32}`,
  });
  proves("4.2/path-ids", "versionId", recipe.fields({ versionId: prefixedHex32("micrecipev_") }));
  test("versionId and nothing else", recipe.isExactlyItsFields());

  const request = objectUnderTest(endpoint("getMicSharedFileProcessingRequest").pathParameters, {
    requestId: `micsharedrequest_${hex32}`,
  });
  proves("4.2/path-ids", "requestId", request.fields({ requestId: prefixedHex32("micsharedrequest_") }));
  test("requestId and nothing else", request.isExactlyItsFields());

  // The contract shows no format for these; doubts.md, 6.
  describe.each([
    ["getMicPublicInput", "inputId"],
    ["getMicPublicAssetContent", "assetId"],
    ["getMicJob", "jobId"],
    ["cancelMicJob", "jobId"],
    ["retryMicJob", "jobId"],
    ["getMicPublicOperation", "operationId"],
  ])("%s", (id, name) => {
    const parameters = objectUnderTest(endpoint(id).pathParameters, { [name]: "any id" });
    test(`${name} is 1-128 characters`, parameters.fields({ [name]: text(1, 128) }));
    test(`${name} and nothing else`, parameters.isExactlyItsFields());
  });
});
