// Builds a call of run_job that the emulator accepts.
import { createValue } from "../emulator/parameters.ts";
import type { Service } from "../emulator/service.ts";
import { fileId, findOneInputOffer } from "../emulator/work.ts";

export async function runArguments(service: Service, file: number) {
  const { recipe } = await findOneInputOffer(service);
  return {
    workspaceId: service.emulator.workspaceId,
    recipeVersionId: recipe.versionId,
    inputs: [{ port: recipe.inputs[0]?.name, referenceId: fileId(service, file) }],
    parameterValues: createValue(recipe.parameters),
    clientReference: "killed on its way",
  };
}
