import * as z from "zod/v4";
import { exactFields, lean, outputs } from "../src/catalogue/results.ts";
import { defineTool } from "../src/catalogue/tool.ts";
import { getPlaygroundOpenApi } from "../src/contract/endpoints/playground.ts";

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
