// Tests that the definition of a tool names each parameter of its operation: as an argument, or as one that the tool sets.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { createEndpoints } from "../../src/contract/endpoints/endpoint.ts";
import { defineTool } from "../../src/toolkit/define-tool.ts";
import { outputs } from "../../src/toolkit/outputs.ts";

const endpoint = createEndpoints("job-processing").define({
  ...{ id: "listTwo", method: "GET", path: "/v1/two" },
  query: z.strictObject({ one: z.string(), other: z.string() }),
  success: { status: 200, body: z.unknown() },
});
const facts = { endpoint, name: "list_jobs", title: "t", description: "d", effect: "read" } as const;

test("a definition without a parameter of the operation does not compile", () => {
  const output = outputs.answer<object>({});
  const input = z.strictObject({ one: z.string() });
  const run = () => Promise.reject(new Error("not called"));
  // @ts-expect-error `other` is neither an argument nor set by the tool.
  expect(defineTool({ ...facts, input, output, run }).argumentNames).toEqual(["one"]);
  const setByTool = { other: "the tool reads all pages" };
  expect(defineTool({ ...facts, input, output, run, setByTool }).setByTool).toBe(setByTool);
});
