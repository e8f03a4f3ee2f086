// Tests the contract's endpoints against the tables of docs/contract.md, 4 and 5, as copied in operations.ts.
import { expect, test } from "vitest";
import { API_PREFIX, TOKEN_PATH } from "../../src/contract/endpoints/endpoint.ts";
import { endpoints } from "../../src/contract/endpoints/index.ts";
import { toJsonSchema } from "../../src/contract/json.ts";
import { rows } from "../operations.ts";

test("the endpoints match tables 4.1 and 4.2", {
  tags: [
    "4.1/states",
    "4.1/districts",
    "4.1/openapi",
    "4.1/operation-ids",
    "4.2/get-capabilities",
    "4.2/create-input",
    "4.2/get-input",
    "4.2/get-asset-content",
    "4.2/list-recipes",
    "4.2/get-recipe",
    "4.2/create-job",
    "4.2/list-jobs",
    "4.2/get-job",
    "4.2/cancel-job",
    "4.2/retry-job",
    "4.2/get-operation",
    "4.2/get-usage",
    "4.2/create-processing-request",
    "4.2/get-processing-request",
    "2.2/meta-request-id-micreq",
  ],
}, () => {
  const listed = endpoints.map(({ id, api, method, path, scopesToRequest, success }) => ({
    ...{ id, method, path: `${API_PREFIX[api]}${path}`, scopes: scopesToRequest, success: success.status },
    answer: success.body === "binary" ? "binary" : toJsonSchema(success.body, "output"),
  }));
  const expected = rows.map(({ id, method, path, scopes, success, answer }) => ({
    ...{ id, method, path, scopes, success },
    answer: answer === undefined ? "binary" : toJsonSchema(answer, "output"),
  }));
  expect(listed).toEqual(expected);
});

test("each API has its path below the base URL", { tags: ["4.2/base-path"] }, () => {
  expect(API_PREFIX).toEqual({ playground: "", "job-processing": "/sandbox" });
  expect(TOKEN_PATH).toBe("/sandbox/oauth/token");
});
