import * as z from "zod/v4";
import { namesItsKind, referenceRule } from "../src/contract/endpoints/bodies.ts";
import { createMicPublicInput } from "../src/contract/endpoints/job-processing.ts";
import { defineAction } from "../src/toolkit/define-tool.ts";
import { registerOnce, registerTraits } from "../src/toolkit/jobs/registering.ts";
import { keyArgument } from "../src/toolkit/requests.ts";

export const registerInput = defineAction({
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
    .refine(namesItsKind, referenceRule),
  run: registerOnce,
});
