// This module defines register_input, which registers a file, acquisition or dataset version as an input for jobs.
import * as z from "zod/v4";
import { matchesInputKind, referenceRule } from "../src/contract/endpoints/bodies.ts";
import { createMicPublicInput } from "../src/contract/endpoints/job-processing.ts";
import type { Input } from "../src/contract/inputs.ts";
import { keyArgument } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { registerTraits, registerInput as run } from "../src/toolkit/jobs/inputs.ts";
import { outputs } from "../src/toolkit/outputs.ts";

export const registerInput = defineTool({
  endpoint: createMicPublicInput,
  name: "register_input",
  title: "Register an input",
  description:
    "Registers a file, acquisition or dataset version as an input for jobs. A file is scanned first: bind it once READY.",
  effect: "create",
  makes: "input",
  traits: registerTraits,
  input: z
    .strictObject({ ...createMicPublicInput.body.shape, ...keyArgument("input") })
    .refine(matchesInputKind, referenceRule),
  output: outputs.action<Input>(),
  run,
});
