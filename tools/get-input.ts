import { outputs, toldResult } from "../src/catalogue/results.ts";
import { inputSubject } from "../src/catalogue/telling/input.ts";
import { defineTool } from "../src/catalogue/tool.ts";
import { getMicPublicInput } from "../src/contract/endpoints/job-processing.ts";

export const getInput = defineTool({
  endpoint: getMicPublicInput,
  name: "get_input",
  title: "Get an input",
  description: "One registered input: state, scan result, sha256, the file or dataset it stands for.",
  effect: "read",
  input: getMicPublicInput.pathParameters,
  output: outputs.toldResource,
  async run(path, call) {
    const answer = await call.service.call(getMicPublicInput, { path }, call.context);
    return await toldResult(answer, inputSubject, call);
  },
});
