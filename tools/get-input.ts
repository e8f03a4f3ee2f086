// This module defines get_input, which reads a registered input, and can wait for its scan.
import * as z from "zod/v4";
import { getMicPublicInput } from "../src/contract/endpoints/job-processing.ts";
import type { Input } from "../src/contract/inputs.ts";
import { view, waitSeconds } from "../src/toolkit/arguments.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { describeInput, inputStatus } from "../src/toolkit/describe/input.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { readResource } from "../src/toolkit/polling.ts";

const reading = { endpoint: getMicPublicInput, describe: describeInput, status: inputStatus };

export const getInput = defineTool({
  endpoint: getMicPublicInput,
  name: "get_input",
  title: "Get an input and its scan state",
  description: "Get one input: state, scan, file or dataset. With waitSeconds, wait for its scan.",
  effect: "read",
  input: z.strictObject({ inputId: getMicPublicInput.pathParameters.shape.inputId, waitSeconds, view }),
  output: outputs.resource<Input>(),
  run: ({ inputId, ...how }, ctx) => readResource({ path: { inputId }, ...reading, ...how }, ctx),
});
