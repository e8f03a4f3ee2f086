// This module defines register_input, which registers a file, acquisition or dataset version as an input for jobs.
import * as z from "zod/v4";
import { matchesInputKind, referenceRule } from "../src/contract/endpoints/bodies.ts";
import { createMicPublicInput } from "../src/contract/endpoints/job-processing.ts";
import type { Input } from "../src/contract/inputs.ts";
import { keyArgument } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { registerTraits, registerInput as run } from "../src/toolkit/jobs/inputs.ts";
import { outputs } from "../src/toolkit/outputs.ts";

const { workspaceId, inputKind, referenceId, alias, clientReference } = createMicPublicInput.body.shape;

export const registerInput = defineTool({
  endpoint: createMicPublicInput,
  name: "register_input",
  title: "Register a file or dataset as an input",
  description:
    "Register a file, acquisition or dataset version as a job input. A file is scanned first: wait with get_input until READY. " +
    "run_job does both for you.",
  effect: "create",
  makes: "input",
  traits: registerTraits,
  input: z
    .strictObject({
      ...{ workspaceId, inputKind, referenceId },
      alias: alias.describe("Your name for it."),
      clientReference: clientReference.describe("Your note."),
      ...keyArgument("input"),
    })
    .refine(matchesInputKind, referenceRule),
  output: outputs.resource<Input>(),
  run,
});
