// Measures the number of o200k tokens that a model reads and the bytes that are sent to the client.

import * as z from "zod/v4";
import { countTokens } from "../test/support/count-tokens.ts";
import { connect } from "./client.ts";
import type { MetricGroup } from "./group.ts";
import type { Figures } from "./measure.ts";
import { CALL_V1_18, type Subject } from "./subjects.ts";

const ListToolsResponse = z.object({ result: z.object({ tools: z.array(z.looseObject({ name: z.string() })) }) });
const CallToolResponse = z.object({
  result: z.object({
    content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
    structuredContent: z.unknown().optional(),
    isError: z.boolean().optional(),
  }),
});

const countValueTokens = (value: unknown): number =>
  countTokens(typeof value === "string" ? value : JSON.stringify(value));

async function measureTokens({ name, command, calls }: Subject): Promise<Figures> {
  const client = await connect(command);
  try {
    const { tools } = ListToolsResponse.parse(JSON.parse((await client.request("tools/list")).line)).result;
    const needed = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    const list = { tools: tools.length, listTokens: countValueTokens(needed), listWireTokens: countValueTokens(tools) };
    if (!calls) return list;
    const page = calls.jobs(100);
    const { line } = await client.request("tools/call", { name: page.name, arguments: page.arguments });
    const { content, structuredContent, isError } = CallToolResponse.parse(JSON.parse(line)).result;
    const text = content.flatMap((block) => block.text ?? []).join("\n");
    if (isError) throw new Error(`${name}: ${text}`);
    return {
      ...list,
      textTokens: countValueTokens(text),
      structuredTokens: structuredContent === undefined ? undefined : countValueTokens(structuredContent),
      wireBytes: Buffer.byteLength(line),
    };
  } finally {
    await client.close();
  }
}

export const tokens: MetricGroup = {
  title: "What is read",
  reference: CALL_V1_18,
  once: true,
  columns: [
    { name: "tools", title: "tools", digits: 0 },
    { name: "listTokens", title: "tools/list: names, descriptions, inputs, tokens", digits: 0 },
    { name: "listWireTokens", title: "tools/list: everything, tokens", digits: 0 },
    { name: "textTokens", title: "100 jobs as text, tokens", digits: 0 },
    { name: "structuredTokens", title: "100 jobs as structuredContent, tokens", digits: 0 },
    { name: "wireBytes", title: "100 jobs, bytes on the wire", digits: 0 },
  ],
  async *round({ subjects }) {
    for (const subject of subjects) yield [subject.name, await measureTokens(subject)];
  },
};
