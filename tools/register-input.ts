import * as z from "zod/v4";
import { namesItsKind, referenceRule } from "../src/contract/endpoints/bodies.ts";
import { createMicPublicInput } from "../src/contract/endpoints/job-processing.ts";
import { inputSubject } from "../src/toolkit/advice/input.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { keyArgument } from "../src/toolkit/requests.ts";
import { outputs } from "../src/toolkit/results.ts";
import { runAction } from "../src/toolkit/run-action.ts";

const traits = { about: "referenceId", notes: ["alias", "clientReference"] };

export const registerInput = defineTool({
  endpoint: createMicPublicInput,
  name: "register_input",
  title: "Register an input",
  description:
    "Registers a file, acquisition or dataset version as an input for jobs. A file is scanned first: bind it once READY.",
  effect: "create",
  traits,
  input: z
    .strictObject({ ...createMicPublicInput.body.shape, ...keyArgument("input") })
    .refine(namesItsKind, referenceRule),
  output: outputs.action,
  run: (args, call) =>
    runAction(args, call, {
      endpoint: createMicPublicInput,
      traits,
      subject: inputSubject,
      findOut: "No tool lists inputs; registering the same file once more makes another input of it and harms nothing.",
    }),
});
