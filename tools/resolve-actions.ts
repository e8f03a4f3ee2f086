import * as z from "zod/v4";
import { defineProcedure } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { keyArgument } from "../src/toolkit/requests.ts";
import { answerResult } from "../src/toolkit/results.ts";

export const resolveActions = defineProcedure({
  name: "resolve_actions",
  title: "Resolve actions",
  description: "WIP",
  effect: "create",
  input: z.strictObject({ ...keyArgument("text") }),
  output: outputs.whole({ summary: outputs.text }),
  run: async () => answerResult({}, { advice: { summary: "" } }),
});
