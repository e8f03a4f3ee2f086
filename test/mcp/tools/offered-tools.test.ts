// Tests the public surface: the result of tools/list in each protocol revision (__snapshots__/tools-list.json).

import { expect, test } from "vitest";
import { endpoints } from "../../../src/contract/endpoints/index.ts";
import { tools as allTools } from "../../../tools/index.ts";
import { rows } from "../../operations.ts";
import { clientRevisions, connectionForTest, inProcessClientForTest } from "../../support/mcp.ts";
import { formatWideJson } from "../../support/wide-json.ts";
import { POST_TOOLS, TOOL_NAMES } from "../../tools/catalogue.ts";

const connect = () => inProcessClientForTest("v2-modern", {});

test.each(clientRevisions)(
  "tools/list and the instructions match the reviewed snapshot at each call: %s",
  async (revision) => {
    const connection = await inProcessClientForTest(revision, {});
    for (const _ of [1, 2]) {
      const surface = { instructions: connection.instructions()?.split("\n"), tools: await connection.listTools() };
      const text = `${formatWideJson(surface, 4, "outputSchema")}\n`;
      await expect(text).toMatchFileSnapshot("__snapshots__/tools-list.json");
    }
  },
);

test("the built program, whose input schemas are data, lists the same bytes as the sources", async () => {
  const built = await (await connectionForTest("v2-modern")).listTools();
  expect(JSON.stringify(built)).toBe(JSON.stringify(await (await connect()).listTools()));
});

test("tools/list has one tool for each operation, in the order of the contract", {
  tags: ["4.1/operation-ids"],
}, async () => {
  const names = (await (await connect()).listTools()).map(({ name }) => name);
  expect(names).toEqual(TOOL_NAMES);
  const byEndpoint = allTools.flatMap(({ endpoint, name }) => (endpoint ? [[endpoint.id, name] as const] : []));
  expect(byEndpoint).toEqual(rows.map(({ id, tool }) => [id, tool]));
  expect(byEndpoint).toHaveLength(endpoints.length);
});

test("each output schema is an object that may get new fields, and tools for one resource have none", async () => {
  const tools = await (await connect()).listTools();
  const withSchema = tools.filter(({ outputSchema }) => outputSchema !== undefined).map(({ name }) => name);
  expect(withSchema).toEqual(expect.arrayContaining(["list_states", "list_jobs", "run_jobs"]));
  for (const name of ["get_job", "submit_job"]) expect(withSchema).not.toContain(name);
  for (const { name, outputSchema } of tools.filter((tool) => tool.outputSchema !== undefined)) {
    expect(outputSchema?.["type"], name).toBe("object");
    // A field that a later version adds must not make today's clients reject a result.
    expect(JSON.stringify(outputSchema), name).not.toMatch(/"additionalProperties":false|"\$ref":/);
  }
});

test("the annotations match the effects of each tool and do not contradict each other", async () => {
  for (const { name, annotations = {} } of await (await connect()).listTools()) {
    // The last two write a file: a client must not run them without the user's consent.
    const isRead = ![...POST_TOOLS, "download_asset", "save_table"].includes(name);
    expect(annotations, name).toMatchObject({
      readOnlyHint: isRead,
      destructiveHint: ["cancel_job", "cancel_jobs", "retry_job", "retry_jobs", "resolve_actions"].includes(name),
      idempotentHint: isRead,
      openWorldHint: true,
    });
    expect(isRead && annotations["destructiveHint"], name).toBe(false);
  }
});
