// Query and path parameters of the endpoints, docs/contract.md, 4.
import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../src/contract/endpoints/endpoint.ts";
import { endpoints } from "../../src/contract/endpoints/index.ts";
import { proves } from "../proves.ts";
import { anyText, integer, oneOf, prefixedHex32, text, workspaceStyleId } from "./field-rules.ts";
import { objectUnderTest } from "./object-rules.ts";

const endpoint = (id: string): Endpoint => {
  const found = endpoints.find((one) => one.id === id);
  if (!found) throw new Error(`no endpoint ${id}`);
  return found;
};

describe("query parameters", () => {
  const cursor43 = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ012345_";
  const limit = integer(1, 100);

  proves(["4.1/closed-query", "4.2/closed-query"], "none where none is listed", () => {
    const withoutAny = endpoints.filter(({ query }) => Object.keys(query.shape).length === 0);
    expect(withoutAny).toHaveLength(13);
    expect(withoutAny.filter(({ query }) => !query.safeParse({}).success)).toEqual([]);
    const extra = [{ extra: "1" }, { workspaceId: "micws_1" }, { state: "TG" }, { "": "" }];
    expect(withoutAny.flatMap(({ query }) => extra.filter((given) => query.safeParse(given).success))).toEqual([]);
  });

  const districts = objectUnderTest(endpoint("listPlaygroundDistricts").query, { state: "TG" });
  const stateCode = {
    accepts: ["TG", "AZ", "ZA"],
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
      expect(Object.keys(pathParameters.shape)).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
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
