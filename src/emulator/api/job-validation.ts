// Validates a job submission: recipe, ports, inputs, capability, permission and parameters, in this order.
import type { createMicJob } from "../../contract/endpoints/job-processing.ts";
import type { ProblemCode } from "../assumptions.ts";
import { ProblemError } from "../problems.ts";
import { checkCapability } from "../world/capabilities.ts";
import { type InputRecord, inputAt } from "../world/inputs.ts";
import { processingRequestAt } from "../world/processing-requests.ts";
import type { Recipe } from "../world/recipes.ts";
import type { World } from "../world/world.ts";
import type { ActionRequest } from "./operation.ts";
import { requireOfferedRecipe } from "./workspace.ts";

type JobSubmission = ActionRequest<typeof createMicJob>["body"];

interface BoundInput {
  readonly pointer: string;
  readonly port: string;
  readonly input: InputRecord;
}

function throwFieldErrors(
  code: ProblemCode,
  checks: readonly { readonly pointer: string; readonly message: string | false }[],
) {
  const fieldErrors = checks.flatMap(({ pointer, message }) => (message === false ? [] : [{ pointer, code, message }]));
  if (fieldErrors.length > 0) throw new ProblemError(code, { fieldErrors });
}

function checkPorts({ inputBindings }: JobSubmission, { definition }: Recipe): void {
  const requiredPorts = definition.inputs.map(({ name }) => name);
  const boundPorts = inputBindings.map(({ port }) => port);
  throwFieldErrors("PORTS_MISMATCH", [
    ...boundPorts.map((port, index) => ({
      pointer: `/inputBindings/${index}/port`,
      message: !requiredPorts.includes(port) && `Ports are: ${requiredPorts.join(", ")}.`,
    })),
    ...requiredPorts.map((port) => ({
      pointer: "/inputBindings",
      message: !boundPorts.includes(port) && `The port ${port} is not bound.`,
    })),
  ]);
}

function findInputs({ inputBindings }: JobSubmission, { inputs }: World): readonly BoundInput[] {
  const found = inputBindings.map(({ port, inputId }, index) => ({
    pointer: `/inputBindings/${index}/inputId`,
    port,
    input: inputs.find(inputId),
  }));
  throwFieldErrors(
    "INPUT_NOT_FOUND",
    found.map(({ pointer, input }) => ({ pointer, message: input === undefined && "There is no such input." })),
  );
  return found.flatMap(({ input, ...rest }) => (input === undefined ? [] : [{ ...rest, input }]));
}

function checkReady(bound: readonly BoundInput[], { workspaceId, clock }: World): void {
  const inputStates = bound.map(({ pointer, input }) => ({
    pointer,
    state: inputAt(input, workspaceId, clock.now()).state,
  }));
  const isBeingScanned = inputStates.every(({ state }) => state === "WAITING_SCAN" || state === "READY");
  throwFieldErrors(
    isBeingScanned ? "INPUT_BEING_SCANNED" : "INPUT_NOT_READY",
    inputStates.map(({ pointer, state }) => ({ pointer, message: state !== "READY" && `The input is ${state}.` })),
  );
}

/** RAW values come from files and acquisitions, all others from dataset versions. */
function checkKinds(bound: readonly BoundInput[], { definition }: Recipe): void {
  throwFieldErrors(
    "INPUT_KIND_MISMATCH",
    bound.map(({ pointer, port, input }) => {
      const valueState = definition.inputs.find(({ name }) => name === port)?.valueState ?? "RAW";
      const kinds = valueState === "RAW" ? "M4_FILE or ACQUISITION" : "DATASET_VERSION";
      const fits = (input.inputKind === "DATASET_VERSION") === (valueState !== "RAW");
      return { pointer, message: !fits && `${port} takes ${valueState} values: an input of kind ${kinds}.` };
    }),
  );
}

/** docs/contract.md, 1: if permission to process an input was requested, it must be approved before a job can run. */
function checkPermission(bound: readonly BoundInput[], { definition }: Recipe, world: World): void {
  throwFieldErrors(
    "PROCESSING_NOT_PERMITTED",
    bound.map(({ pointer, input }) => {
      const processingRequest = world.permissions.get(`${input.id} ${definition.versionId}`);
      const { id, state } = processingRequest
        ? processingRequestAt(processingRequest, world.workspaceId, world.clock.now())
        : { id: "", state: "APPROVED" };
      return { pointer, message: state !== "APPROVED" && `The processing request ${id} is ${state}.` };
    }),
  );
}

export interface ValidatedSubmission {
  readonly recipe: Recipe;
  readonly inputs: readonly InputRecord[];
}

export function validateJobSubmission(submission: JobSubmission, world: World): ValidatedSubmission {
  const recipe = requireOfferedRecipe(world, submission.recipeVersionId);
  checkPorts(submission, recipe);
  const bound = findInputs(submission, world);
  checkReady(bound, world);
  checkKinds(bound, recipe);
  checkCapability(recipe.capability, bound);
  checkPermission(bound, recipe, world);
  const fieldErrors = recipe.parameterErrors(submission.parameterValues);
  if (fieldErrors.length > 0) throw new ProblemError("PARAMETERS_INVALID", { fieldErrors });
  return { recipe, inputs: bound.map(({ input }) => input) };
}
