// Tests that model APIs accept the listed tools (schema-rules.ts).
import { readFile } from "node:fs/promises";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { connectionForFile, type ListedTool } from "../support/mcp.ts";
import { findProblems, MAX_TOOLS } from "./schema-rules.ts";

const connections = {
  "with a default workspace": connectionForFile("v2-modern", () => ({ args: ["serve", "--emulator"] })),
  "without one": connectionForFile("v1-client"),
};

/** Each recipe and each listing call has its own arguments. The APIs that refuse an open object get these tools without strict mode. */
const OPEN_ARGUMENTS = {
  submit_job: "parameterValues",
  run_job: "parameterValues",
  run_jobs: "parameterValues",
  save_table: "arguments",
};
const KNOWN_PROBLEMS = Object.entries(OPEN_ARGUMENTS).map(
  ([tool, argument]) => `${tool}/${argument}: is open to any field`,
);

describe.each(Object.entries(connections))("tools/list %s", (_, connection) => {
  test("model APIs accept the listed tools", async () => {
    const tools = await connection().listTools();
    expect(tools).toHaveLength(27);
    expect(tools.length).toBeLessThanOrEqual(MAX_TOOLS);
    expect(tools.flatMap(findProblems)).toEqual(KNOWN_PROBLEMS);
  });

  test("the tools' schemas compile in the strict mode of JSON Schema 2020-12", async () => {
    const ajv = new Ajv2020({ strict: true, validateFormats: false });
    for (const { name, inputSchema, outputSchema } of await connection().listTools()) {
      expect(() => ajv.compile(inputSchema), name).not.toThrow();
      expect(() => ajv.compile(outputSchema ?? false), name).not.toThrow();
      // Clients of the 2025 revisions accept only an object as the result.
      expect(outputSchema).toMatchObject({ type: "object" });
    }
  });
});

const validTool: ListedTool = {
  name: "get_thing",
  description: "Gets a thing.",
  inputSchema: {
    type: "object",
    properties: { id: { type: "string" }, kinds: { type: "array", items: { type: "string", enum: ["A", "B"] } } },
    required: ["id"],
    additionalProperties: false,
  },
};
const withRoot = (changed: object): ListedTool => ({
  ...validTool,
  inputSchema: { ...validTool.inputSchema, ...changed },
});
const withArgument = (argument: object): ListedTool => withRoot({ properties: { id: argument } });
const nestedSchema = (levels: number): object =>
  levels === 0
    ? { type: "string" }
    : { type: "object", properties: { a: nestedSchema(levels - 1) }, required: ["a"], additionalProperties: false };

test("docs/use/clients.md names the tools that strict model APIs refuse", async () => {
  const lines = (await readFile("docs/use/clients.md", "utf8")).split("\n");
  for (const name of ["OpenAI strict", "Gemini parameters", "Anthropic strict"])
    for (const tool of Object.keys(OPEN_ARGUMENTS))
      expect(lines.find((line) => line.startsWith(`| ${name} |`))).toContain(tool);
});

describe("schema rules", () => {
  test("the rules accept a valid tool", () => {
    expect(findProblems(validTool)).toEqual([]);
    expect(findProblems(withArgument(nestedSchema(8)))).toEqual([]);
  });

  test.each<readonly [string, ListedTool]>([
    ["a name with a blank", { ...validTool, name: "get thing" }],
    ["a name of 65 letters", { ...validTool, name: "x".repeat(65) }],
    ["a name that begins with a digit", { ...validTool, name: "1_thing" }],
    ["no description", { ...validTool, description: "" }],
    ["a description of a page", { ...validTool, description: "x".repeat(1_025) }],
    ["a choice at the top", withRoot({ anyOf: [{ type: "object" }] })],
    ["no object at the top", { ...validTool, inputSchema: { type: "string" } }],
    ["an argument that may be null", withArgument({ type: ["string", "null"] })],
    ["an argument of any type", withArgument({})],
    ["a reference", withArgument({ type: "string", $ref: "#/properties/id" })],
    ["an array of anything", withArgument({ type: "array" })],
    ["a format that some do not know", withArgument({ type: "string", format: "uuid" })],
    ["an enum of numbers", withArgument({ type: "integer", enum: [1, 2] })],
    ["a constant", withArgument({ type: "string", const: "A" })],
    ["an open object", withArgument({ type: "object", properties: {} })],
    ["a list of 1,001 values", withArgument({ type: "string", enum: Array.from({ length: 1_001 }, (_, n) => `${n}`) })],
    ["eleven levels", withArgument(nestedSchema(11))],
    ["a required argument that is not there", withRoot({ required: ["no"] })],
    ["an argument's name with a dash", withRoot({ properties: { "a-b": { type: "string" } }, required: [] })],
  ])("the rules refuse %s", (_, tool) => {
    expect(findProblems(tool)).toHaveLength(1);
  });
});
