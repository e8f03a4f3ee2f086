// Tests get_geography_openapi: numbers that a double cannot represent are returned exactly.
import { expect, test } from "vitest";
import { openApiDocument } from "../contract/samples.ts";
import { answer } from "../support/stub.ts";
import { sessionForFile } from "../unspecified/session.ts";

const MAX_INT64 = "9223372036854775807";
const session = sessionForFile();

test("the server returns the exact numbers of an OpenAPI document with int64 bounds", {
  tags: ["4.1/openapi"],
}, async () => {
  const { stub, connection } = session();
  const schema = { type: "integer", minimum: 0, maximum: "MAX", example: 9007199254740991 };
  const document = {
    ...openApiDocument,
    paths: { "/x": { get: { parameters: [{ name: "at", in: "query", schema }] } } },
    components: { schemas: { Huge: { maximum: "HUGE" }, Deep: { allOf: [{ enum: ["MAX", 1.5] }] } } },
  };
  const body = JSON.stringify(document).replaceAll('"MAX"', MAX_INT64).replace('"HUGE"', "1e400");
  stub.expect(answer(200, body));
  const { isError, structured, text } = await connection.callTool("get_geography_openapi");
  expect(isError, text).toBe(false);
  const expected = JSON.stringify(document)
    .replaceAll('"MAX"', `"${MAX_INT64}"`)
    .replace('"HUGE"', `"more than ${Number.MAX_VALUE}"`);
  const { summary, ...shown } = structured ?? {};
  expect(shown).toEqual(JSON.parse(expected));
  const [first, rest = ""] = text.split("\n");
  expect(first).toBe(summary);
  expect(JSON.parse(rest)).toEqual(shown);
});
