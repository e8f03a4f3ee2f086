// The tools as they are listed, against what the model APIs accept: dialects.ts says what that is, and who says so.
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { connectionForFile, type ListedTool } from "../support/mcp.ts";
import { dialects } from "./dialects.ts";
import { problemsOf } from "./lint.ts";

const connections = {
  "with a default workspace": connectionForFile("v2-modern", () => ({ args: ["serve", "--emulator"] })),
  "without one": connectionForFile("v1-client"),
};

describe.each(Object.entries(connections))("tools/list %s", (_, connection) => {
  test.each(dialects)("is what $api accepts", async (dialect) => {
    const tools = await connection().listTools();
    expect(tools).toHaveLength(25);
    expect(tools.length).toBeLessThanOrEqual(dialect.maxTools);
    expect(tools.flatMap((tool) => problemsOf(tool, dialect))).toEqual(Object.keys(dialect.known));
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
const withArgument = (argument: object): ListedTool => ({
  ...good,
  inputSchema: { ...good.inputSchema, properties: { id: argument }, required: [] },
});
const nested = (levels: number): object =>
  levels === 0
    ? { type: "string" }
    : { type: "object", properties: { a: nested(levels - 1) }, required: ["a"], additionalProperties: false };

describe("the lint itself", () => {
  test.each(dialects)("$api: accepts what is right", (dialect) => {
    expect(problemsOf(good, dialect)).toEqual([]);
    expect(dialect.sources.map(({ url }) => new URL(url).protocol)).not.toContain("http:");
  });

  /** By how many of the dialects each is refused. */
  test.each<readonly [string, number, ListedTool]>([
    ["a name with a blank", 4, { ...good, name: "get thing" }],
    ["a name of 65 letters", 4, { ...good, name: "x".repeat(65) }],
    ["a name that begins with a digit", 1, { ...good, name: "1_thing" }],
    ["no description", 4, { ...good, description: "" }],
    ["a description of a page", 2, { ...good, description: "x".repeat(1_025) }],
    ["a choice at the top", 4, { ...good, inputSchema: { ...good.inputSchema, anyOf: [{ type: "object" }] } }],
    ["no object at the top", 4, { ...good, inputSchema: { type: "string" } }],
    ["an argument that may be null", 4, withArgument({ type: ["string", "null"] })],
    ["an argument of any type", 4, withArgument({})],
    ["a reference", 4, withArgument({ $ref: "#/properties/id" })],
    ["an array of anything", 4, withArgument({ type: "array" })],
    ["a format that some do not know", 3, withArgument({ type: "string", format: "uuid" })],
    ["an enum of numbers", 1, withArgument({ type: "integer", enum: [1, 2] })],
    ["a constant", 3, withArgument({ type: "string", const: "A" })],
    ["an open object", 1, withArgument({ type: "object", properties: {} })],
    [
      "a list of 1,001 values",
      1,
      withArgument({ type: "string", enum: Array.from({ length: 1_001 }, (_, n) => `${n}`) }),
    ],
    ["eleven levels", 1, withArgument(nested(11))],
    ["a required argument that is not there", 4, { ...good, inputSchema: { ...good.inputSchema, required: ["no"] } }],
    [
      "an argument's name with a dash",
      1,
      { ...good, inputSchema: { ...good.inputSchema, properties: { "a-b": { type: "string" } }, required: [] } },
    ],
  ])("finds %s", (_, refusals, tool) => {
    expect(dialects.filter((dialect) => problemsOf(tool, dialect).length > 0)).toHaveLength(refusals);
  });
});
