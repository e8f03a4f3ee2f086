import { describe, expect, test } from "vitest";
import * as playground from "../../src/contract/playground.ts";
import { anyText, boolean, constant, count, freeFormObject, list, oneOf } from "./field-rules.ts";
import { objectUnderTest } from "./object-rules.ts";
import * as samples from "./samples.ts";

const metadata = ["source", "sourceRef", "sourceUpdatedAt", "fallbackUsed"];
const contract = constant("svc.geo.admin-divisions.v1");
const sourceRef = {
  accepts: [
    "https://catalogue.example/lgd",
    "http://[::1]:80/a?b=c#d",
    "https://zone.example/AZaz09-._~!$&'()*+,;=:@%20?/#?",
    "urn:lgd:districts",
    "mailto:lgd@example.org",
    "http://catalogue.example:99999/",
    "http://catalogue.example:/",
    "https://user:word@catalogue.example/%C3%A9",
    "file:///lgd.csv",
    "x:",
  ],
  refuses: [
    "",
    "catalogue",
    "/lgd/districts",
    "//catalogue.example/lgd",
    "https://catalogue.example/two words",
    " https://catalogue.example/lgd",
    "https://catalogue.example/é",
    "1https://catalogue.example",
    ...anyText.refuses,
  ],
  refusesBeyondJsonSchema: [
    "https://",
    "http:catalogue",
    "http://[::1",
    "http://[::1]x/",
    "https://catalogue.example:port/",
    "https://catalogue.example/%zz",
    "https://catalogue.example/%4",
    "https://catalogue.example/a[1]",
    "https://catalogue.example/#a#b",
  ],
};

describe("StatesResponse", () => {
  const { proves } = objectUnderTest(playground.StatesResponse, samples.statesResponse, {
    optional: [...metadata, "states.*.lgdCode"],
  });
  proves("2.1/closed-objects", "has exactly its fields, so have its states");
  proves("2.1/catalog-contract", { contract });
  proves("2.1/catalog-source", { source: anyText });
  proves("2.1/catalog-source-ref", { sourceRef });
  proves("2.1/catalog-source-updated-at", { sourceUpdatedAt: anyText });
  proves("2.1/catalog-fallback-used", { fallbackUsed: boolean });
  proves("2.1/states-response", { states: list(0, 64, () => samples.state) });
});

describe("DistrictsResponse", () => {
  const { proves } = objectUnderTest(playground.DistrictsResponse, samples.districtsResponse, { optional: metadata });
  proves("2.1/closed-objects", "has exactly its fields, so have its districts");
  proves("2.1/catalog-contract", { contract });
  proves("2.1/catalog-source", { source: anyText });
  proves("2.1/catalog-source-ref", { sourceRef });
  proves("2.1/catalog-source-updated-at", { sourceUpdatedAt: anyText });
  proves("2.1/catalog-fallback-used", { fallbackUsed: boolean });
  proves("2.1/districts-response-state", { state: anyText });
  proves("2.1/districts-response-districts", { districts: list(0, 256, () => samples.district) });
});

describe("CatalogMetadata", () => {
  const { proves } = objectUnderTest(playground.CatalogMetadata, samples.catalogMetadata, { optional: metadata });
  proves("2.1/catalog-contract", "only contract is required");
});

describe("State", () => {
  const { proves } = objectUnderTest(playground.State, samples.state, { optional: ["lgdCode"] });
  const code = {
    accepts: ["TG", "AP", "ZZ"],
    refuses: ["", "T", "TGA", "T1", "36", "T ", " T", "TG\n", "ÄÖ", "𝐓𝐆", ...anyText.refuses],
  };
  proves("2.1/closed-objects", "has exactly its fields");
  proves("2.1/state-code", { code });
  proves("2.1/state-lgd-code", { lgdCode: anyText });
  proves("2.1/state-name", { name: anyText });
  proves("2.1/state-counts", { districtCount: count, mandalCount: count });
});

describe("District", () => {
  const { proves } = objectUnderTest(playground.District, samples.district);
  proves("2.1/closed-objects", "has exactly its fields");
  proves("2.1/district-code-and-name", { code: anyText, name: anyText });
  proves("2.1/district-mandal-count", { mandalCount: count });
});

describe("the OpenAPI document", () => {
  const { proves } = objectUnderTest(playground.OpenApiDocument, samples.openApiDocument);
  proves("4.1/openapi", { openapi: constant("3.1.1"), info: freeFormObject, paths: freeFormObject });

  proves("4.1/openapi", "its three fields are required, others are its own affair", () => {
    const { openapi, info, paths } = samples.openApiDocument;
    const accepts = (value: unknown) => playground.OpenApiDocument.safeParse(value).success;
    expect(
      [
        { info, paths },
        { openapi, paths },
        { openapi, info },
      ].map(accepts),
    ).toEqual([false, false, false]);
    const whole = { openapi, info, paths, components: { schemas: {} }, security: [] };
    expect(playground.OpenApiDocument.parse(whole)).toEqual(whole);
  });
});

describe("PlaygroundError", () => {
  const { proves } = objectUnderTest(playground.PlaygroundError, samples.playgroundError);
  proves("7.1/body", "has exactly one field");
  proves("7.1/body", {
    status: oneOf(
      "INVALID_PLAYGROUND_REQUEST",
      "PLAYGROUND_REQUEST_DENIED",
      "PLAYGROUND_RATE_LIMITED",
      "PLAYGROUND_UPSTREAM_UNAVAILABLE",
    ),
  });

  test("each HTTP status has its value", () => {
    expect(playground.PLAYGROUND_STATUS).toEqual({
      400: "INVALID_PLAYGROUND_REQUEST",
      403: "PLAYGROUND_REQUEST_DENIED",
      429: "PLAYGROUND_RATE_LIMITED",
      502: "PLAYGROUND_UPSTREAM_UNAVAILABLE",
    });
  });

  test("Retry-After is an integer >= 1", () => {
    const accepts = (value: unknown) => playground.RetryAfter.safeParse(value).success;
    expect(["1", "60", "120"].filter((value) => !accepts(value))).toEqual([]);
    expect(["", "0", "-1", "01", "1.5", " 1", "1s", "soon", 1, null].filter(accepts)).toEqual([]);
  });
});
