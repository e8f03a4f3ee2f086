import * as z from "zod/v4";
import { namesItsKind, referenceRule } from "../src/contract/endpoints/bodies.ts";
import { createMicPublicInput } from "../src/contract/endpoints/job-processing.ts";
import { inputSubject } from "../src/toolkit/advice/input.ts";
import { defineAction } from "../src/toolkit/define-tool.ts";
import { keyArgument } from "../src/toolkit/requests.ts";
import { runAction } from "../src/toolkit/run-action.ts";

const traits = { about: "referenceId", notes: ["alias", "clientReference"] };

export const registerInput = defineAction({
  endpoint: createMicPublicInput,
  name: "register_input",
  title: "Register an input",
  description:
    "Registers a file, acquisition or dataset version as an input for jobs. A file is scanned first: bind it once READY.",
  effect: "create",
  makes: "input",
  traits,
  input: z
    .strictObject({ ...createMicPublicInput.body.shape, ...keyArgument("input") })
    .refine(namesItsKind, referenceRule),
  run: (args, call, ports) =>
    runAction(args, call, ports, {
      endpoint: createMicPublicInput,
      traits,
      subject: inputSubject,
      findOut: "No tool lists inputs; registering the same file once more makes another input of it and harms nothing.",
    }),
});
