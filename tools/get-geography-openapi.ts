import * as z from "zod/v4";
import { getPlaygroundOpenApi } from "../src/contract/endpoints/playground.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { exactFields, lean, outputs } from "../src/toolkit/results.ts";

export const getGeographyOpenApi = defineTool({
  endpoint: getPlaygroundOpenApi,
  name: "get_geography_openapi",
  title: "Get the geography API's OpenAPI document",
  description: "The geography API's own OpenAPI 3.1.1 document. Its examples are not data.",
  effect: "read",
  input: z.strictObject({}),
  output: outputs.openApi,
  async run(_args, { geography, context }) {
    const { value, drift } = await geography.openApi(context);
    const structured = exactFields(value);
    return { structured, text: lean(structured), drift };
  },
});
