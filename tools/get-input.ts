import * as z from "zod/v4";
import { getMicPublicInput } from "../src/contract/endpoints/job-processing.ts";
import type { Input } from "../src/contract/inputs.ts";
import { inputSubject, isInputMoving } from "../src/toolkit/advice/input.ts";
import { defineTool } from "../src/toolkit/define-tool.ts";
import { outputs } from "../src/toolkit/outputs.ts";
import { advisedResult } from "../src/toolkit/results.ts";
import { waitSeconds, waitWhile } from "../src/toolkit/wait-while.ts";

export const getInput = defineTool({
  endpoint: getMicPublicInput,
  name: "get_input",
  title: "Get an input",
  description: "One registered input: state, scan result, sha256, the file or dataset it stands for.",
  effect: "read",
  input: z.strictObject({ ...getMicPublicInput.pathParameters.shape, waitSeconds }),
  output: outputs.advised<Input>(),
  async run({ inputId, waitSeconds = 0 }, call, { service }) {
    let readings = 0;
    const answer = await waitWhile(
      {
        read: () => service.call(getMicPublicInput, { path: { inputId } }, call.context),
        version: ({ value }) => value.data.resourceVersion,
        isMoving: ({ value }) => isInputMoving(value.data),
        onRead: ({ value }) => call.report({ progress: ++readings, message: `scan ${value.data.scanState}` }),
      },
      waitSeconds,
      { ...call.context, timing: service.timing },
    );
    return await advisedResult(answer, inputSubject, call);
  },
});
