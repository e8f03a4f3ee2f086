import { outputs, resourceResult } from "../src/catalogue/results.ts";
import { tellInput } from "../src/catalogue/telling/input.ts";
import { defineTool } from "../src/catalogue/tool.ts";
import { getMicPublicInput } from "../src/contract/endpoints/job-processing.ts";

export const getInput = defineTool({
  endpoint: getMicPublicInput,
  name: "get_input",
  title: "Get an input",
  description: "One registered input: its state, scan result, sha256 and the file or dataset it stands for.",
  effect: "read",
  input: getMicPublicInput.pathParameters,
  output: outputs.toldResource,
  async run(path, { service, context }) {
    const answer = await service.call(getMicPublicInput, { path }, context);
    return resourceResult(answer, tellInput(answer.value.data));
  },
});
