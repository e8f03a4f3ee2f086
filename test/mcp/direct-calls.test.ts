// Tests that tools answer the same on the direct path (src/mcp/direct-calls.ts) and in the SDK's handlers (a request with `_meta`).
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { createExampleData } from "../emulator/example.ts";
import { serviceForTest } from "../emulator/service.ts";
import { emulatorEnv } from "../support/mcp.ts";
import { inProcessServerForTest } from "../support/server.ts";
import { validCall } from "../tools/catalogue.ts";

const ListedTools = z.object({
  tools: z.array(z.object({ name: z.string(), annotations: z.object({ readOnlyHint: z.boolean() }) })),
});
const WithText = z.object({ content: z.tuple([z.object({ text: z.string() })]).rest(z.unknown()) });

const withoutRequestIds = (answer: object): unknown =>
  JSON.parse(JSON.stringify(answer).replaceAll(/micreq_\w+/g, "id"));

test("a read tool has the same answer, success or failure, on the direct path and in the SDK's handlers", async () => {
  const service = await serviceForTest();
  const server = await inProcessServerForTest(emulatorEnv(service.emulator));
  const world = await createExampleData(service);
  const { tools } = ListedTools.parse((await server.request("tools/list", {})).result);
  const reads = tools.flatMap(({ name, annotations }) => (annotations.readOnlyHint ? [name] : []));
  expect(reads).toContain("get_job");
  for (const name of reads)
    for (const args of [await validCall(name, world), { unknownArgument: 1 }]) {
      const { id: _, ...direct } = await server.request("tools/call", { name, arguments: args });
      const { id: __, ...bySdk } = await server.request("tools/call", { name, arguments: args, _meta: {} });
      expect(withoutRequestIds(direct), name).toEqual(withoutRequestIds(bySdk));
    }
});

test("an action has the same effect on the direct path and in the SDK's handlers: the second call replays the first", async () => {
  const service = await serviceForTest();
  const server = await inProcessServerForTest(emulatorEnv(service.emulator));
  const world = await createExampleData(service);
  for (const [index, name] of ["register_input", "submit_job"].entries()) {
    const params = { name, arguments: await validCall(name, world) };
    const [first, second] = index === 0 ? [params, { ...params, _meta: {} }] : [{ ...params, _meta: {} }, params];
    const before = WithText.parse((await server.request("tools/call", first)).result).content[0].text;
    expect(before).not.toContain("Not run again");
    const after = WithText.parse((await server.request("tools/call", second)).result).content[0].text;
    expect(after).toContain("Not run again");
  }
});

test("a call to an unknown tool, without a name, or with arguments that are not an object returns the SDK's error", async () => {
  const server = await inProcessServerForTest({});
  for (const params of [
    { name: "get_jobs", arguments: {} },
    { arguments: {} },
    ...[["micjob_1"], "text", 5].map((args) => ({ name: "list_states", arguments: args })),
  ]) {
    const { error } = await server.request("tools/call", params);
    expect(error).toEqual((await server.request("tools/call", { ...params, _meta: {} })).error);
    expect(error).toMatchObject({ code: -32602 });
  }
});
