// What a model has to read, in o200k tokens, and what crosses the wire.
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import * as z from "zod/v4";
import { connect } from "./client.ts";
import type { Figures } from "./measure.ts";
import type { Subject } from "./subjects.ts";

const Listed = z.object({ result: z.object({ tools: z.array(z.looseObject({ name: z.string() })) }) });
const Called = z.object({
  result: z.object({
    content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
    structuredContent: z.unknown().optional(),
    isError: z.boolean().optional(),
  }),
});

const tokensOf = (value: unknown): number => countTokens(typeof value === "string" ? value : JSON.stringify(value));

export async function weigh({ name, command, calls }: Subject): Promise<Figures> {
  const client = await connect(command);
  try {
    const { tools } = Listed.parse(JSON.parse((await client.request("tools/list")).line)).result;
    const needed = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    const list = { tools: tools.length, listTokens: tokensOf(needed), listWireTokens: tokensOf(tools) };
    if (!calls) return list;
    const page = calls.jobs(100);
    const { line } = await client.request("tools/call", { name: page.name, arguments: page.arguments });
    const { content, structuredContent, isError } = Called.parse(JSON.parse(line)).result;
    const text = content.flatMap((block) => block.text ?? []).join("\n");
    if (isError) throw new Error(`${name}: ${text}`);
    return {
      ...list,
      textTokens: tokensOf(text),
      structuredTokens: structuredContent === undefined ? undefined : tokensOf(structuredContent),
      wireBytes: Buffer.byteLength(line),
    };
  } finally {
    await client.close();
  }
}
