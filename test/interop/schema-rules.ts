// The strictest rule of each model API for a listed tool, as a JSON Schema. A host passes a listed tool on to one of these APIs, and an API that
// refuses one schema refuses the whole request.
// OpenAI: https://platform.openai.com/docs/api-reference/chat/create (names, 128 tools), https://github.com/getsentry/sentry-mcp/issues/106
//   (descriptions), https://github.com/nspady/google-calendar-mcp/issues/39 (no combination at the top), and for strict mode
//   https://platform.openai.com/docs/guides/structured-outputs (closed objects).
// Gemini: https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/Schema (keywords),
//   https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration (names),
//   https://firebase.google.com/docs/reference/js/ai.schemashared (formats, text enums).
// Anthropic: https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools (names),
//   https://github.com/anthropics/claude-code/issues/5973 (no combination at the top). Claude Code calls a tool mcp__<server>__<tool>.

export const MAX_TOOLS = 128;

const text = { type: "string" };
const count = { type: "integer" };
const ifType = (type: string, then: object) => ({ if: { properties: { type: { const: type } } }, then });

export const STRICTEST_TOOL = {
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
