// Tests the contract's endpoints against the tables of docs/contract.md, 4 and 5, as copied in operations.ts.
import { expect, test } from "vitest";
import type * as z from "zod/v4";
import { API_PREFIX, TOKEN_PATH } from "../../src/contract/endpoints/endpoint.ts";
import { endpoints } from "../../src/contract/endpoints/index.ts";
import { rows } from "../operations.ts";
import * as samples from "./samples.ts";

// Every answer of any endpoint, and two with another API's request id: an endpoint accepts only its own.
const { enveloped, micEnveloped } = samples;
const answers: Readonly<Record<string, unknown>> = {
  StatesResponse: samples.statesResponse,
  DistrictsResponse: samples.districtsResponse,
  OpenAPI: samples.openApiDocument,
  CapabilitySet: enveloped(samples.capabilitySet),
  Input: enveloped(samples.input),
  "recipe offer list page": samples.recipeList,
  RecipeOffer: micEnveloped(samples.recipeOffer),
  "RecipeOffer without micreq_": enveloped(samples.recipeOffer),
  Job: enveloped(samples.job),
  "job list page": samples.jobList,
  Operation: enveloped(samples.operation),
  UsageSummary: enveloped(samples.usageSummary),
  ProcessingRequest: micEnveloped(samples.processingRequest),
  "ProcessingRequest without micreq_": enveloped(samples.processingRequest),
};

/** The names of those answers that a success schema accepts. */
const passing = (body: z.ZodType): readonly string[] =>
  Object.keys(answers).filter((name) => body.safeParse(answers[name]).success);

test("the endpoints match tables 4.1 and 4.2 [4.1/states, 4.1/districts, 4.1/openapi, 4.1/operation-ids, 4.2/get-capabilities, 4.2/create-input, 4.2/get-input, 4.2/get-asset-content, 4.2/list-recipes, 4.2/get-recipe, 4.2/create-job, 4.2/list-jobs, 4.2/get-job, 4.2/cancel-job, 4.2/retry-job, 4.2/get-operation, 4.2/get-usage, 4.2/create-processing-request, 4.2/get-processing-request, 2.2/meta-request-id-micreq]", () => {
  const listed = endpoints.map(({ id, api, method, path, scopesToRequest, success }) => ({
    ...{ id, method, path: `${API_PREFIX[api]}${path}`, scopes: scopesToRequest, success: success.status },
    answer: success.body === "binary" ? "binary" : passing(success.body),
  }));
  const expected = rows.map(({ id, method, path, scopes, success, answer }) => ({
    ...{ id, method, path, scopes, success },
    answer: answer === undefined ? "binary" : passing(answer),
  }));
  expect(listed).toEqual(expected);
});

test("each answer is accepted only by the operations that return it", () => {
  expect(rows.flatMap(({ answer }) => (answer === undefined ? [] : [passing(answer).join()]))).toEqual([
    ...["StatesResponse", "DistrictsResponse", "OpenAPI", "CapabilitySet", "Input", "Input"],
    ...["recipe offer list page", "RecipeOffer", "Job", "job list page", "Job", "Operation", "Job", "Operation"],
    ...["UsageSummary", "ProcessingRequest", "ProcessingRequest"],
  ]);
});

test("each API has its path below the base URL [4.2/base-path]", () => {
  expect(API_PREFIX).toEqual({ playground: "", "job-processing": "/sandbox" });
  expect(TOKEN_PATH).toBe("/sandbox/oauth/token");
});
