// A call of run_job that the emulator accepts.
import { makeValue } from "../emulator/parameters.ts";
import type { Service } from "../emulator/service.ts";
import { fileId, oneInputOffer } from "../emulator/work.ts";

export async function runArguments(service: Service, file: number) {
  const { recipe } = await oneInputOffer(service);
  return {
    workspaceId: service.emulator.workspaceId,
    recipeVersionId: recipe.versionId,
    inputs: [{ port: recipe.inputs[0]?.name, referenceId: fileId(service, file) }],
    parameterValues: makeValue(recipe.parameters),
    clientReference: "killed on its way",
  };
}
