// Tests that the definition of a tool names each parameter of its operation: as an argument, or as one that the tool sets.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { listMicJobs } from "../../src/contract/endpoints/job-processing.ts";
import { defineTool } from "../../src/toolkit/define-tool.ts";
import { outputs } from "../../src/toolkit/outputs.ts";

const { workspaceId, limit } = listMicJobs.query.shape;
const facts = { endpoint: listMicJobs, name: "list_jobs", title: "t", description: "d", effect: "read" } as const;

test("a definition without a parameter of the operation does not compile", () => {
  const output = outputs.answer<object>({});
  const input = z.strictObject({ workspaceId, limit });
  const run = () => Promise.reject(new Error("not called"));
  // @ts-expect-error cursor is neither an argument nor set by the tool.
  expect(defineTool({ ...facts, input, output, run }).argumentNames).toEqual(["workspaceId", "limit"]);
  const setByTool = { cursor: "the tool reads all pages" };
  expect(defineTool({ ...facts, input, output, run, setByTool }).setByTool).toBe(setByTool);
});
