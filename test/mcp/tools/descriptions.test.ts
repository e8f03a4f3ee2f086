// Tests that descriptions in tools/list are complete, short, and mention only tools that the same server offers.

import { expect, test } from "vitest";
import * as z from "zod/v4";
import { TOOL_NAMES as ALL_TOOL_NAMES } from "../../../src/toolkit/tool-names.ts";
import { countTokens } from "../../support/count-tokens.ts";
import { connectInProcess, type ListedTool } from "../../support/mcp.ts";

/** Arguments whose name and values explain themselves. */
const SELF_EXPLANATORY = new Set([
  ...["workspaceId", "jobId", "jobIds", "inputId", "operationId", "requestId", "name", "port"],
  ...["view", "limit", "sort", "state", "states", "level", "window", "inputKind", "until", "createdSince", "source"],
]);

const Schema = z.looseObject({
  description: z.string().optional(),
  get properties() {
    return z.record(z.string(), Schema).optional();
  },
  get items() {
    return Schema.optional();
  },
});
type Schema = z.infer<typeof Schema>;

/** Yields every argument, nested ones included. */
function* argumentsOf(schema: Schema): Generator<readonly [name: string, schema: Schema]> {
  for (const [name, argument] of Object.entries(schema.properties ?? {})) {
    yield [name, argument];
    yield* argumentsOf(argument);
    if (argument.items) yield* argumentsOf(argument.items);
  }
}

async function listTools(env: Readonly<Record<string, string>>): Promise<readonly ListedTool[]> {
  const connection = await connectInProcess("v2-modern", { env });
  try {
    return await connection.listTools();
  } finally {
    await connection.close();
  }
}

const firstSentence = (text = ""): string => text.split(/(?<=\.) /)[0] ?? "";

const mentionedTools = (text: string): readonly string[] =>
  ALL_TOOL_NAMES.filter((name) => new RegExp(`\\b${name}\\b`).test(text));

const countShownTokens = (tools: readonly ListedTool[]): number =>
  countTokens(JSON.stringify(tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))));

test("descriptions start with an imperative verb and have 20 to 50 tokens", async () => {
  for (const { name, description = "" } of await listTools({ MIC_APPS: "always" })) {
    expect(description, name).toMatch(/^(Cancel|Find|Get|List|Rank|Register|Request|Retry|Run|Save|Show|Start|Wait)\b/);
    expect(countTokens(description), name).toBeGreaterThanOrEqual(20);
    expect(countTokens(description), name).toBeLessThanOrEqual(50);
    expect(mentionedTools(firstSentence(description)), name).toEqual([]);
  }
});

test("each argument has a description of 3 to 40 tokens or explains itself", async () => {
  for (const tool of await listTools({ MIC_APPS: "always" }))
    for (const [name, { description }] of argumentsOf(Schema.parse(tool.inputSchema))) {
      const what = `${tool.name}: ${name}`;
      if (description === undefined) expect(SELF_EXPLANATORY, what).toContain(name);
      else {
        expect(countTokens(description), what).toBeGreaterThanOrEqual(3);
        expect(countTokens(description), what).toBeLessThanOrEqual(40);
      }
    }
});

test("the toolset essentials costs a model at most 2,300 tokens", async () => {
  expect(countShownTokens(await listTools({ MIC_TOOLSETS: "essentials" }))).toBeLessThanOrEqual(2_300);
});
