// Tests that model APIs accept the listed tools: an API that refuses one schema refuses the whole request.
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { connectionForFile } from "../support/mcp.ts";

/*
 * The strictest rule of each model API for a listed tool, as a JSON Schema.
 * OpenAI: https://platform.openai.com/docs/api-reference/chat/create (names, 128 tools), https://github.com/getsentry/sentry-mcp/issues/106
 *   (descriptions), https://github.com/nspady/google-calendar-mcp/issues/39 (no combination at the top), and for strict mode
 *   https://platform.openai.com/docs/guides/structured-outputs (closed objects).
 * Gemini: https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/Schema (keywords),
 *   https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration (names),
 *   https://firebase.google.com/docs/reference/js/ai.schemashared (formats, text enums).
 * Anthropic: https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools (names),
 *   https://github.com/anthropics/claude-code/issues/5973 (no combination at the top). Claude Code calls a tool mcp__<server>__<tool>.
 */
const MAX_TOOLS = 128;

const text = { type: "string" };
const count = { type: "integer" };
const ifType = (type: string, then: object) => ({ if: { properties: { type: { const: type } } }, then });

const STRICTEST_TOOL = {
  type: "object",
  required: ["name", "description", "inputSchema"],
  properties: {
    name: { type: "string", pattern: "^(?!.*__)[a-zA-Z_][a-zA-Z0-9_-]{0,53}$" },
    description: { type: "string", minLength: 1, maxLength: 1_024 },
    inputSchema: { $ref: "#/$defs/schema", properties: { type: { const: "object" } } },
  },
  $defs: {
    /** Only these keywords: no anyOf, oneOf, allOf, not, const, $ref, nullable and default. */
    schema: {
      type: "object",
      required: ["type"],
      additionalProperties: false,
      properties: {
        type: { enum: ["object", "array", "string", "integer", "number", "boolean"] },
        ...{ description: text, pattern: text, format: { const: "date-time" } },
        ...{ minimum: count, maximum: count, minItems: count, maxItems: count, minLength: count, maxLength: count },
        enum: { type: "array", items: text, maxItems: 1_000 },
        items: { $ref: "#/$defs/schema" },
        required: { type: "array", items: text },
        additionalProperties: { const: false },
        properties: {
          type: "object",
          propertyNames: { pattern: "^[a-zA-Z_][a-zA-Z0-9_]{0,63}$" },
          additionalProperties: { $ref: "#/$defs/schema" },
        },
      },
      allOf: [ifType("object", { required: ["additionalProperties"] }), ifType("array", { required: ["items"] })],
    },
  },
};

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
const isValid = new Ajv2020({ allErrors: true }).compile(STRICTEST_TOOL);
function problemsOf(tool: { readonly name: string }): readonly string[] {
  isValid(tool);
  return (isValid.errors ?? []).flatMap(({ keyword, instancePath, message }) =>
    keyword === "if" ? [] : `${tool.name}${instancePath.replace("/inputSchema/properties", "")}: ${message}`,
  );
}

describe.each(Object.entries(connections))("tools/list %s", (_, connection) => {
  test("model APIs accept the listed tools", async () => {
    const tools = await connection().listTools();
    expect(tools.length).toBeLessThanOrEqual(MAX_TOOLS);
    expect(tools.flatMap(problemsOf)).toEqual(
      Object.entries(OPEN_ARGUMENTS).map(
        ([tool, argument]) => `${tool}/${argument}: must have required property 'additionalProperties'`,
      ),
    );
    for (const { name, inputSchema } of tools) {
      const { required = [], properties } = inputSchema;
      expect(Object.keys(Object(properties)), name).toEqual(expect.arrayContaining([required].flat()));
      // Far below each limit for depth, properties, enum values and characters.
      expect(JSON.stringify(inputSchema).length, name).toBeLessThan(10_000);
    }
  });

  test("the tools' schemas compile in the strict mode of JSON Schema 2020-12", async () => {
    const ajv = new Ajv2020({ strict: true, validateFormats: false });
    for (const { name, inputSchema, outputSchema } of await connection().listTools()) {
      expect(() => ajv.compile(inputSchema), name).not.toThrow();
      if (outputSchema === undefined) continue;
      expect(() => ajv.compile(outputSchema), name).not.toThrow();
      // Clients of the 2025 revisions accept only an object as the result.
      expect(outputSchema).toMatchObject({ type: "object" });
    }
  });
});
