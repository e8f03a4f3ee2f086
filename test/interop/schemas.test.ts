// The listed tools are what the model APIs accept (schema-rules.ts).
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { connectionForFile, type ListedTool } from "../support/mcp.ts";
import { MAX_TOOLS, problemsOf } from "./schema-rules.ts";

const connections = {
  "with a default workspace": connectionForFile("v2-modern", () => ({ args: ["serve", "--emulator"] })),
  "without one": connectionForFile("v1-client"),
};

/** Each recipe has its own parameters: their schema is what get_recipe answers. Hosts that want strict mode close the object themselves. */
const KNOWN = ["submit_job", "run_job"].map((tool) => `${tool}/parameterValues: is open to any field`);

describe.each(Object.entries(connections))("tools/list %s", (_, connection) => {
  test("is what model APIs accept", async () => {
    const tools = await connection().listTools();
    expect(tools).toHaveLength(25);
    expect(tools.length).toBeLessThanOrEqual(MAX_TOOLS);
    expect(tools.flatMap(problemsOf)).toEqual(KNOWN);
  });

  test("has schemas that a strict reader of JSON Schema 2020-12 takes", async () => {
    const ajv = new Ajv2020({ strict: true, validateFormats: false });
    for (const { name, inputSchema, outputSchema } of await connection().listTools()) {
      expect(() => ajv.compile(inputSchema), name).not.toThrow();
      expect(() => ajv.compile(outputSchema ?? false), name).not.toThrow();
      // Clients of 2025 know no other result.
      expect(outputSchema).toMatchObject({ type: "object" });
    }
  });
});

const good: ListedTool = {
  name: "get_thing",
  description: "Gets a thing.",
  inputSchema: {
    type: "object",
    properties: { id: { type: "string" }, kinds: { type: "array", items: { type: "string", enum: ["A", "B"] } } },
    required: ["id"],
    additionalProperties: false,
  },
};
const withRoot = (changed: object): ListedTool => ({ ...good, inputSchema: { ...good.inputSchema, ...changed } });
const withArgument = (argument: object): ListedTool => withRoot({ properties: { id: argument } });
const nested = (levels: number): object =>
  levels === 0
    ? { type: "string" }
    : { type: "object", properties: { a: nested(levels - 1) }, required: ["a"], additionalProperties: false };

describe("the rules", () => {
  test("accept what is right", () => {
    expect(problemsOf(good)).toEqual([]);
    expect(problemsOf(withArgument(nested(8)))).toEqual([]);
  });

  test.each<readonly [string, ListedTool]>([
    ["a name with a blank", { ...good, name: "get thing" }],
    ["a name of 65 letters", { ...good, name: "x".repeat(65) }],
    ["a name that begins with a digit", { ...good, name: "1_thing" }],
    ["no description", { ...good, description: "" }],
    ["a description of a page", { ...good, description: "x".repeat(1_025) }],
    ["a choice at the top", withRoot({ anyOf: [{ type: "object" }] })],
    ["no object at the top", { ...good, inputSchema: { type: "string" } }],
    ["an argument that may be null", withArgument({ type: ["string", "null"] })],
    ["an argument of any type", withArgument({})],
    ["a reference", withArgument({ type: "string", $ref: "#/properties/id" })],
    ["an array of anything", withArgument({ type: "array" })],
    ["a format that some do not know", withArgument({ type: "string", format: "uuid" })],
    ["an enum of numbers", withArgument({ type: "integer", enum: [1, 2] })],
    ["a constant", withArgument({ type: "string", const: "A" })],
    ["an open object", withArgument({ type: "object", properties: {} })],
    ["a list of 1,001 values", withArgument({ type: "string", enum: Array.from({ length: 1_001 }, (_, n) => `${n}`) })],
    ["eleven levels", withArgument(nested(11))],
    ["a required argument that is not there", withRoot({ required: ["no"] })],
    ["an argument's name with a dash", withRoot({ properties: { "a-b": { type: "string" } }, required: [] })],
  ])("refuse %s", (_, tool) => {
    expect(problemsOf(tool)).toHaveLength(1);
  });
});
