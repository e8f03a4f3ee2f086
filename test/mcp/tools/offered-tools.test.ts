// Tests the public surface: the result of tools/list in each protocol revision (__snapshots__/tools-list.json).

import { describe, expect, test } from "vitest";
import { endpoints } from "../../../src/contract/endpoints/index.ts";
import { tools as allTools } from "../../../tools/index.ts";
import { rows } from "../../operations.ts";
import { type Connection, clientRevisions, connectionForFile, type ListedTool } from "../../support/mcp.ts";
import { formatWideJson } from "../../support/wide-json.ts";
import { POST_TOOLS, TOOL_NAMES } from "../../tools/catalogue.ts";

const connections = Object.fromEntries(clientRevisions.map((revision) => [revision, connectionForFile(revision)]));
const connection = (revision = "v2-modern"): Connection => {
  const connected = connections[revision]?.();
  if (connected === undefined) throw new Error(`no connection of era ${revision}`);
  return connected;
};

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
});

describe.each(TOOL_NAMES)("%s", (name) => {
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
