// Tests the public surface: the result of tools/list in each protocol revision (__snapshots__/tools-list.json).

import { describe, expect, test } from "vitest";
import * as z from "zod/v4";
import { endpoints } from "../../../src/contract/endpoints/index.ts";
import { tools as allTools } from "../../../tools/index.ts";
import { rows } from "../../operations.ts";
import { countTokens } from "../../support/count-tokens.ts";
import { type Connection, clientRevisions, connectionForFile, type ListedTool } from "../../support/mcp.ts";
import { formatWideJson } from "../../support/wide-json.ts";
import { OWN_TOOLS, POST_TOOLS, TOOL_NAMES } from "../../tools/catalogue.ts";

const connections = Object.fromEntries(clientRevisions.map((revision) => [revision, connectionForFile(revision)]));
const connection = (revision = "v2-modern"): Connection => {
  const connected = connections[revision]?.();
  if (connected === undefined) throw new Error(`no connection of era ${revision}`);
  return connected;
};

const Schema = z.looseObject({ type: z.literal("object"), properties: z.record(z.string(), z.looseObject({})) });

async function findListedTool(name: string): Promise<ListedTool> {
  const tool = (await connection().listTools()).find((each) => each.name === name);
  if (tool === undefined) throw new Error(`${name} is not listed`);
  return tool;
}

/** Yields every schema in a schema, with its path. */
function* schemasIn(value: unknown, place: string): Generator<readonly [string, Record<string, unknown>]> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* schemasIn(item, `${place}/${index}`);
  } else if (typeof value === "object" && value !== null) {
    yield [place, { ...value }];
    for (const [name, part] of Object.entries(value)) yield* schemasIn(part, `${place}/${name}`);
  }
}

describe("tools/list", () => {
  test("tools/list and the instructions match the reviewed snapshot", async () => {
    const surface = { instructions: connection().instructions()?.split("\n"), tools: await connection().listTools() };
    await expect(`${formatWideJson(surface, 4, "outputSchema")}\n`).toMatchFileSnapshot(
      "__snapshots__/tools-list.json",
    );
  });

  test("tools/list is the same in each revision and at each call", async () => {
    const [older, legacy, modern] = await Promise.all(
      clientRevisions.map((revision) => connection(revision).listTools()),
    );
    expect(older).toEqual(modern);
    expect(legacy).toEqual(modern);
    expect(await connection().listTools()).toEqual(modern);
    const [one, ...others] = clientRevisions.map((revision) => connection(revision).instructions());
    for (const other of others) expect(other).toBe(one);
  });

  test("tools/list has one tool for each operation, with the names and order of docs/interface.md [4.1/operation-ids]", async () => {
    const names = (await connection().listTools()).map(({ name }) => name);
    expect(names).toEqual(TOOL_NAMES);
    const byEndpoint = allTools.flatMap(({ endpoint, name }) => (endpoint ? [[endpoint.id, name] as const] : []));
    expect(byEndpoint).toEqual(rows.map(({ id, tool }) => [id, tool]));
    expect(byEndpoint).toHaveLength(endpoints.length);
  });

  test("tools/list stays within its token budget", async () => {
    const tools = await connection().listTools();
    // No model reads the search hints.
    const totalTokens = countTokens(JSON.stringify(tools.map(({ _meta, ...tool }) => tool)));
    expect(totalTokens / tools.length).toBeLessThanOrEqual(222);
    const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    const shownTokens = countTokens(JSON.stringify(shown));
    expect(shownTokens / tools.length).toBeLessThanOrEqual(144);
  });
});

describe.each(TOOL_NAMES)("%s", (name) => {
  test("the tool has a short name, a title and a description", async () => {
    const { title, description } = await findListedTool(name);
    expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
    expect(name.length).toBeLessThanOrEqual(30);
    expect(title).toMatch(/^[A-Z].{3,60}[^.]$/);
    expect(description).toMatch(/^[A-Z].{20,400}\.$/s);
  });

  test("the tool accepts the operation's fields, without nesting, and its extra arguments [4.1/closed-query, 4.2/closed-query, 4.2/bodies-closed]", async () => {
    const { pathParameters, query, body } = allTools.find((tool) => tool.name === name)?.endpoint ?? {};
    const fields = [pathParameters, query, body].flatMap((schema) => Object.keys(schema?.shape ?? {}));
    const ownTool = new Map(Object.entries(OWN_TOOLS)).get(name);
    const extra = ownTool?.optional ?? Object.keys(rows.find(({ tool }) => tool === name)?.extraArguments ?? {});
    const { inputSchema } = await findListedTool(name);
    const { properties } = Schema.parse(inputSchema);
    expect(Object.keys(properties).sort()).toEqual([...fields, ...(ownTool?.required ?? []), ...extra].sort());
    expect(inputSchema["additionalProperties"]).toBe(false);
    const required = z.array(z.string()).parse(inputSchema["required"] ?? []);
    for (const argument of extra) expect(required).not.toContain(argument);
  });

  test("the input schema has only keywords that every model API supports", async () => {
    const { inputSchema } = await findListedTool(name);
    expect(inputSchema["type"]).toBe("object");
    for (const [place, schema] of schemasIn(inputSchema, name)) {
      const unsupported = /^(anyOf|oneOf|allOf|not|\$ref|\$defs|definitions|default|nullable|if|const|prefixItems)$/;
      if (!place.endsWith("/properties"))
        expect(
          Object.keys(schema).filter((keyword) => unsupported.test(keyword)),
          place,
        ).toEqual([]);
      if ("type" in schema && !place.endsWith("/properties")) expect(schema["type"], place).toBeTypeOf("string");
      if ("format" in schema) expect(["date-time"], place).toContain(schema["format"]);
      if ("enum" in schema) expect(schema["type"], place).toBe("string");
      if (schema["type"] === "array") expect(schema["items"], place).toBeTypeOf("object");
    }
  });

  test("the output schema is an object that may get new fields", async () => {
    const { outputSchema } = await findListedTool(name);
    expect(outputSchema?.["type"]).toBe("object");
    // A field that a later version adds must not make today's clients reject a result.
    expect(JSON.stringify(outputSchema)).not.toContain('"additionalProperties":false');
    for (const [, schema] of schemasIn(outputSchema, name)) expect(Object.keys(schema)).not.toContain("$ref");
  });

  test("the annotations match the effects of the tool and do not contradict each other", async () => {
    const { annotations = {} } = await findListedTool(name);
    const isWriteTool = POST_TOOLS.includes(name);
    // These write a file: a client must not run them without the user's consent.
    const saves = ["download_asset", "save_table"].includes(name);
    expect(annotations).toMatchObject({
      readOnlyHint: !isWriteTool && !saves,
      destructiveHint: ["cancel_job", "retry_job", "retry_jobs", "resolve_actions"].includes(name),
      idempotentHint: !isWriteTool && !saves,
      openWorldHint: true,
    });
    expect(annotations["readOnlyHint"] === true && annotations["destructiveHint"] === true).toBe(false);
  });
});

describe("the instructions", () => {
  test("the instructions name the tools in the order of the work", () => {
    const text = connection().instructions() ?? "";
    const order = ["list_recipes", "register_input", "submit_job", "get_job", "retry_job"];
    const positions = order.map((name) => text.indexOf(name));
    expect(positions).not.toContain(-1);
    expect([...positions].sort((a, b) => a - b)).toEqual(positions);
    for (const word of ["list_states", "idempotencyKey", "nextStep", "waitSeconds", "READY"])
      expect(text).toContain(word);
    expect(countTokens(text)).toBeLessThanOrEqual(400);
  });
});
