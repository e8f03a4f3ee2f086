// What the model APIs accept as a tool, each as data with where it is said. A host hands a listed tool on to one of them,
// mostly as it is; an API that refuses one schema refuses the whole request, and with it every tool of every server.

export interface Source {
  readonly title: string;
  readonly url: string;
}

export interface Dialect {
  readonly api: string;
  readonly sources: readonly Source[];
  readonly toolName: RegExp;
  readonly argumentName: RegExp;
  readonly maxDescription: number;
  readonly maxTools: number;
  /** Of a schema, wherever it stands; `root` forbids some of them there alone. */
  readonly keywords: ReadonlySet<string>;
  readonly notAtRoot: ReadonlySet<string>;
  readonly types: ReadonlySet<string>;
  readonly formats: ReadonlySet<string>;
  readonly maxDepth: number;
  readonly maxProperties: number;
  readonly maxEnumValues: number;
  /** All names, and all values of enums, together. */
  readonly maxNamesAndValues: number;
  /** Values of an enum are texts, nothing else. */
  readonly textEnums: boolean;
  /** Every object closed, every argument required. */
  readonly strict: boolean;
  /** What of ours does not fit, and why that is no loss: `tool/argument: problem`. */
  readonly known: Readonly<Record<string, string>>;
}

const TYPES = new Set(["object", "array", "string", "integer", "number", "boolean"]);
const COMBINED = ["anyOf", "oneOf", "allOf", "enum", "not"] as const;
const ANY = Number.POSITIVE_INFINITY;

/** The keywords of JSON Schema that zod makes of what this project writes, and that every API here takes. */
const PLAIN = ["type", "description", "properties", "required", "items", "enum", "pattern", "format"] as const;
const BOUNDS = ["minimum", "maximum", "minItems", "maxItems"] as const;
const LENGTHS = ["minLength", "maxLength"] as const;

/** Of an API that sets no such limits. */
const SIZELESS = {
  maxDepth: ANY,
  maxProperties: ANY,
  maxEnumValues: ANY,
  maxNamesAndValues: ANY,
  textEnums: false,
  strict: false,
  known: {},
} as const;

const structuredOutputs: Source = {
  title: "OpenAI: Structured model outputs, Supported schemas",
  url: "https://platform.openai.com/docs/guides/structured-outputs",
};

const openAi: Dialect = {
  api: "OpenAI function calling",
  sources: [
    { title: "OpenAI: Function calling", url: "https://platform.openai.com/docs/guides/function-calling" },
    {
      title: "OpenAI API reference: tools[].function (name: a-z, A-Z, 0-9, underscores, dashes, at most 64; 128 tools)",
      url: "https://platform.openai.com/docs/api-reference/chat/create",
    },
    {
      title: "Invalid tools[].function.description: maximum length 1024",
      url: "https://github.com/getsentry/sentry-mcp/issues/106",
    },
    {
      title: "Invalid schema for function: must not have oneOf, anyOf, allOf, enum, not at the top level",
      url: "https://github.com/nspady/google-calendar-mcp/issues/39",
    },
  ],
  toolName: /^[a-zA-Z0-9_-]{1,64}$/,
  argumentName: /^.{1,64}$/,
  maxDescription: 1_024,
  maxTools: 128,
  keywords: new Set([...PLAIN, ...BOUNDS, ...LENGTHS, "additionalProperties", ...COMBINED]),
  notAtRoot: new Set(COMBINED),
  types: TYPES,
  formats: new Set(["date-time"]),
  ...SIZELESS,
};

const FREE_OBJECT = "each recipe has parameters of its own: their schema is what get_recipe answers";

export const dialects: readonly Dialect[] = [
  openAi,
  {
    ...openAi,
    api: "OpenAI function calling, strict",
    sources: [structuredOutputs],
    keywords: new Set([...PLAIN, ...BOUNDS, ...LENGTHS, "additionalProperties", "anyOf"]),
    formats: new Set(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]),
    maxDepth: 10,
    maxProperties: 5_000,
    maxEnumValues: 1_000,
    maxNamesAndValues: 120_000,
    strict: true,
    // A host that wants strict mode makes every argument required and nullable itself; no server can list both.
    known: {
      "submit_job/parameterValues: is open to any field": FREE_OBJECT,
      "run_job/parameterValues: is open to any field": FREE_OBJECT,
    },
  },
  {
    api: "Gemini function declarations",
    sources: [
      {
        title: "Vertex AI: Schema (a select subset of OpenAPI 3.0; its fields)",
        url: "https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/Schema",
      },
      {
        title: "Vertex AI: FunctionDeclaration (names of functions and parameters)",
        url: "https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration",
      },
      {
        title: "Firebase AI Logic: SchemaShared (format is enum or date-time, otherwise requests fail)",
        url: "https://firebase.google.com/docs/reference/js/ai.schemashared",
      },
    ],
    toolName: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/,
    argumentName: /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/,
    maxDescription: ANY,
    maxTools: 128,
    // additionalProperties is none of Schema's fields: it goes by parametersJsonSchema, or the host takes it out.
    keywords: new Set([...PLAIN, ...BOUNDS, ...LENGTHS, "additionalProperties", "title", "nullable", "anyOf"]),
    notAtRoot: new Set(["anyOf"]),
    types: TYPES,
    formats: new Set(["enum", "date-time"]),
    maxDepth: ANY,
    maxProperties: ANY,
    maxEnumValues: ANY,
    maxNamesAndValues: ANY,
    textEnums: true,
    strict: false,
    known: {},
  },
  {
    api: "Anthropic Messages",
    sources: [
      {
        title: "Claude: Define tools (name: ^[a-zA-Z0-9_-]{1,64}$)",
        url: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools",
      },
      {
        title: "input_schema does not support oneOf, allOf, or anyOf at the top level",
        url: "https://github.com/anthropics/claude-code/issues/5973",
      },
    ],
    // Claude Code calls a tool mcp__<server>__<tool>; the README's name for the server is mic.
    toolName: /^(?!.*__)[a-zA-Z0-9_-]{1,54}$/,
    argumentName: /^[a-zA-Z0-9_.-]{1,64}$/,
    maxDescription: ANY,
    maxTools: ANY,
    keywords: new Set([...PLAIN, ...BOUNDS, ...LENGTHS, "additionalProperties", ...COMBINED, "const", "default"]),
    notAtRoot: new Set(["anyOf", "oneOf", "allOf"]),
    types: TYPES,
    formats: new Set(["date-time"]),
    ...SIZELESS,
  },
];
