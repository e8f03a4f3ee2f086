// This module defines get_geography_openapi, which returns the OpenAPI document of the playground API.

import * as z from "zod/v4";
import { getPlaygroundOpenApi } from "../src/contract/endpoints/playground.ts";
import { countPart } from "../src/core/counts.ts";
import { say } from "../src/core/text.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { compactJson, toolResult, withExactNumbers } from "../src/toolkit/results.ts";

export const getGeographyOpenapi = defineTool({
  endpoint: getPlaygroundOpenApi,
  name: "get_geography_openapi",
  title: "Get the geography API's OpenAPI document",
  description: "Get the geography API's OpenAPI 3.1.1 document, for developers. Its examples are not data.",
  effect: "read",
  input: z.strictObject({}),
  output: outputs.answer<Readonly<Record<string, unknown>>>({
    openapi: outputs.text,
    info: outputs.object,
    paths: outputs.object,
  }),
  async run(_args, ctx) {
    const { value, drift } = await ctx.geography.openApi(ctx);
    const document = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, withExactNumbers(part)]));
    const summary = say`OpenAPI ${value.openapi}: ${countPart(Object.keys(value.paths).length, "path")}.`;
    return toolResult(document, { summary, lines: [compactJson(document)], drift });
  },
});
