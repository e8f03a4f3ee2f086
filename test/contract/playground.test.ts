import { describe, expect, test } from "vitest";
import * as playground from "../../src/contract/playground.ts";
import { proves } from "../proves.ts";
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
  const response = objectUnderTest(playground.StatesResponse, samples.statesResponse, {
    optional: [...metadata, "states.*.lgdCode"],
  });
  proves("2.1/closed-objects", "has exactly its fields, so have its states", response.isExactlyItsFields());
  proves("2.1/catalog-contract", "contract", response.fields({ contract }));
  proves("2.1/catalog-source", "source", response.fields({ source: anyText }));
  proves("2.1/catalog-source-ref", "sourceRef", response.fields({ sourceRef }));
  proves("2.1/catalog-source-updated-at", "sourceUpdatedAt", response.fields({ sourceUpdatedAt: anyText }));
  proves("2.1/catalog-fallback-used", "fallbackUsed", response.fields({ fallbackUsed: boolean }));
  proves("2.1/states-response", "states", response.fields({ states: list(0, 64, () => samples.state) }));
  response.everyFieldHasARule();
});

describe("DistrictsResponse", () => {
  const response = objectUnderTest(playground.DistrictsResponse, samples.districtsResponse, { optional: metadata });
  proves("2.1/closed-objects", "has exactly its fields, so have its districts", response.isExactlyItsFields());
  proves("2.1/catalog-contract", "contract", response.fields({ contract }));
  proves("2.1/catalog-source", "source", response.fields({ source: anyText }));
  proves("2.1/catalog-source-ref", "sourceRef", response.fields({ sourceRef }));
  proves("2.1/catalog-source-updated-at", "sourceUpdatedAt", response.fields({ sourceUpdatedAt: anyText }));
  proves("2.1/catalog-fallback-used", "fallbackUsed", response.fields({ fallbackUsed: boolean }));
  proves("2.1/districts-response-state", "state", response.fields({ state: anyText }));
  proves(
    "2.1/districts-response-districts",
    "districts",
    response.fields({ districts: list(0, 256, () => samples.district) }),
  );
  response.everyFieldHasARule();
});

describe("CatalogMetadata", () => {
  const catalog = objectUnderTest(playground.CatalogMetadata, samples.catalogMetadata, { optional: metadata });
  proves("2.1/catalog-contract", "only contract is required", catalog.isExactlyItsFields());
});

describe("State", () => {
  const state = objectUnderTest(playground.State, samples.state, { optional: ["lgdCode"] });
  const code = {
    accepts: ["TG", "AP", "ZZ"],
    refuses: ["", "T", "TGA", "T1", "36", "T ", " T", "TG\n", "ÄÖ", "𝐓𝐆", ...anyText.refuses],
  };
  proves("2.1/closed-objects", "has exactly its fields", state.isExactlyItsFields());
  proves("2.1/state-code", "code", state.fields({ code }));
  proves("2.1/state-lgd-code", "lgdCode", state.fields({ lgdCode: anyText }));
  proves("2.1/state-name", "name", state.fields({ name: anyText }));
  proves("2.1/state-counts", "counts", state.fields({ districtCount: count, mandalCount: count }));
  state.everyFieldHasARule();
});

describe("District", () => {
  const district = objectUnderTest(playground.District, samples.district);
  proves("2.1/closed-objects", "has exactly its fields", district.isExactlyItsFields());
  proves("2.1/district-code-and-name", "code, name", district.fields({ code: anyText, name: anyText }));
  proves("2.1/district-mandal-count", "mandalCount", district.fields({ mandalCount: count }));
  district.everyFieldHasARule();
});

describe("the OpenAPI document", () => {
  const document = objectUnderTest(playground.OpenApiDocument, samples.openApiDocument);
  proves(
    "4.1/openapi",
    "openapi, info, paths",
    document.fields({ openapi: constant("3.1.1"), info: freeFormObject, paths: freeFormObject }),
  );
  document.everyFieldHasARule();

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
  const error = objectUnderTest(playground.PlaygroundError, samples.playgroundError);
  proves("7.1/body", "has exactly one field", error.isExactlyItsFields());
  proves(
    "7.1/body",
    "status",
    error.fields({
      status: oneOf(
        "INVALID_PLAYGROUND_REQUEST",
        "PLAYGROUND_REQUEST_DENIED",
        "PLAYGROUND_RATE_LIMITED",
        "PLAYGROUND_UPSTREAM_UNAVAILABLE",
      ),
    }),
  );
  error.everyFieldHasARule();

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
