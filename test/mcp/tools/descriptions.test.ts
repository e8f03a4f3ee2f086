// Tests that descriptions in tools/list are complete and short, and that their first sentence names no other tool.

import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { countTokens } from "../../support/count-tokens.ts";
import { connectInProcess } from "../../support/mcp.ts";
import { TOOL_NAMES, VIEW_TOOLS } from "../../tools/catalogue.ts";

const Schema = z.looseObject({
  description: z.string().optional(),
  enum: z.array(z.string()).optional(),
  get properties() {
    return z.record(z.string(), Schema).optional();
  },
  get items() {
    return Schema.optional();
  },
});
type Schema = z.infer<typeof Schema>;

function* argumentsOf(schema: Schema): Generator<readonly [name: string, schema: Schema]> {
  for (const [name, argument] of Object.entries(schema.properties ?? {})) {
    yield [name, argument];
    yield* argumentsOf(argument);
    if (argument.items) yield* argumentsOf(argument.items);
  }
}

async function listTools(env: Readonly<Record<string, string>>, showsViews = false) {
  const connection = await connectInProcess("v2-modern", { env, showsViews });
  onTestFinished(() => connection.close());
  return await connection.listTools();
}

const ANY_TOOL = new RegExp(`\\b(?:${[...TOOL_NAMES, ...Object.keys(VIEW_TOOLS)].join("|")})\\b`);

function expectTokens(what: string, text: string, min: number, max: number): void {
  const tokens = countTokens(text);
  const found = `${what} has ${tokens} tokens, not ${min} to ${max}`;
  const remedy = "change it in the tool's file, in src/toolkit/arguments.ts or in src/api-client/id-kinds.ts";
  expect(min <= tokens && tokens <= max, `${found}: ${remedy}`).toBe(true);
}

test("descriptions have 20 to 50 tokens, and their first sentence names no other tool", async () => {
  for (const { name, description = "" } of await listTools({}, true)) {
    expectTokens(`The description of ${name}`, description, 20, 50);
    expect(description.split(/(?<=\.) /)[0], name).not.toMatch(ANY_TOOL);
  }
});

test("each argument has a description of 3 to 40 tokens, or values that explain it", async () => {
  for (const tool of await listTools({}, true))
    for (const [name, { description, enum: values }] of argumentsOf(Schema.parse(tool.inputSchema)))
      if (description !== undefined || values === undefined)
        expectTokens(`${tool.name}: the description of ${name}`, description ?? "", 3, 40);
});

test.each([
  ["all tools without a view", {}, 4_100],
  ["the toolset essentials", { MIC_TOOLSETS: "essentials" }, 2_600],
])("%s cost a model at most the stated number of tokens", async (_what, env, maxTokens) => {
  const tools = await listTools(env);
  const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  const sizes = shown.map((tool) => ({ name: tool.name, tokens: countTokens(JSON.stringify(tool)) }));
  const largest = sizes.sort((one, other) => other.tokens - one.tokens).slice(0, 5);
  const found = `the largest tools: ${largest.map(({ name, tokens }) => `${name} ${tokens}`).join(", ")}`;
  const tokens = countTokens(JSON.stringify(shown));
  expect(tokens, `${found}; shorten others, or raise the number if it is worth it`).toBeLessThanOrEqual(maxTokens);
});
