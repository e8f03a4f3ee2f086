// Whether a job may be submitted: recipe, ports, inputs, capability, permission, parameters, quota, in this order.
import type { createMicJob } from "../../contract/endpoints/job-processing.ts";
import type { ProblemCode } from "../assumptions.ts";
import { Refusal, refuseField } from "../problems.ts";
import { checkCapability } from "../world/capabilities.ts";
import { type InputRecord, inputAt } from "../world/inputs.ts";
import { processingRequestAt } from "../world/processing-requests.ts";
import type { Recipe } from "../world/recipes.ts";
import type { World } from "../world/world.ts";
import type { ActionRequest } from "./operation.ts";
import { offeredRecipe } from "./workspace.ts";

type JobOrder = ActionRequest<typeof createMicJob>["body"];

interface Bound {
  readonly pointer: string;
  readonly port: string;
  readonly input: InputRecord;
}

/** Refuses the order if `wrong` has a message for a field. */
function refuseWrong(
  code: ProblemCode,
  wrong: readonly { readonly pointer: string; readonly message: string | false }[],
) {
  const fieldErrors = wrong.flatMap(({ pointer, message }) => (message === false ? [] : [{ pointer, code, message }]));
  if (fieldErrors.length > 0) throw new Refusal(code, { fieldErrors });
}

function checkPorts({ inputBindings }: JobOrder, { definition }: Recipe): void {
  const wanted = definition.inputs.map(({ name }) => name);
  const bound = inputBindings.map(({ port }) => port);
  refuseWrong("PORTS_MISMATCH", [
    ...bound.map((port, index) => ({
      pointer: `/inputBindings/${index}/port`,
      message: !wanted.includes(port) && `Ports are: ${wanted.join(", ")}.`,
    })),
    ...wanted.map((port) => ({
      pointer: "/inputBindings",
      message: !bound.includes(port) && `The port ${port} is not bound.`,
    })),
  ]);
}

function findInputs({ inputBindings }: JobOrder, { inputs }: World): readonly Bound[] {
  const found = inputBindings.map(({ port, inputId }, index) => ({
    pointer: `/inputBindings/${index}/inputId`,
    port,
    input: inputs.find(inputId),
  }));
  refuseWrong(
    "INPUT_NOT_FOUND",
    found.map(({ pointer, input }) => ({ pointer, message: input === undefined && "There is no such input." })),
  );
  return found.flatMap(({ input, ...rest }) => (input === undefined ? [] : [{ ...rest, input }]));
}

function checkReady(bound: readonly Bound[], { workspaceId, clock }: World): void {
  const states = bound.map(({ pointer, input }) => ({
    pointer,
    state: inputAt(input, workspaceId, clock.now()).state,
  }));
  const isBeingScanned = states.every(({ state }) => state === "WAITING_SCAN" || state === "READY");
  refuseWrong(
    isBeingScanned ? "INPUT_BEING_SCANNED" : "INPUT_NOT_READY",
    states.map(({ pointer, state }) => ({ pointer, message: state !== "READY" && `The input is ${state}.` })),
  );
}

/** RAW values come from files and acquisitions, all others from dataset versions. */
function checkKinds(bound: readonly Bound[], { definition }: Recipe): void {
  refuseWrong(
    "INPUT_KIND_MISMATCH",
    bound.map(({ pointer, port, input }) => {
      const valueState = definition.inputs.find(({ name }) => name === port)?.valueState ?? "RAW";
      const kinds = valueState === "RAW" ? "M4_FILE or ACQUISITION" : "DATASET_VERSION";
      const fits = (input.inputKind === "DATASET_VERSION") === (valueState !== "RAW");
      return { pointer, message: !fits && `${port} takes ${valueState} values: an input of kind ${kinds}.` };
    }),
  );
}

/** Section 1, rule 5: where permission was asked for, it is reviewed before a job can run. */
function checkPermission(bound: readonly Bound[], { definition }: Recipe, world: World): void {
  refuseWrong(
    "PROCESSING_NOT_PERMITTED",
    bound.map(({ pointer, input }) => {
      const asked = world.permissions.get(`${input.id} ${definition.versionId}`);
      const { id, state } = asked
        ? processingRequestAt(asked, world.workspaceId, world.clock.now())
        : { id: "", state: "APPROVED" };
      return { pointer, message: state !== "APPROVED" && `The processing request ${id} is ${state}.` };
    }),
  );
}

export interface AcceptedOrder {
  readonly recipe: Recipe;
  readonly inputs: readonly InputRecord[];
}

export function checkJobOrder(order: JobOrder, world: World): AcceptedOrder {
  const recipe = offeredRecipe(world, order.recipeVersionId);
  if (recipe === undefined)
    throw refuseField("RECIPE_NOT_OFFERED", "/recipeVersionId", "List the recipes to see which are offered.");
  checkPorts(order, recipe);
  const bound = findInputs(order, world);
  checkReady(bound, world);
  checkKinds(bound, recipe);
  checkCapability(recipe.capability, bound);
  checkPermission(bound, recipe, world);
  const fieldErrors = recipe.parameterErrors(order.parameterValues);
  if (fieldErrors.length > 0) throw new Refusal("PARAMETERS_INVALID", { fieldErrors });
  checkQuota(world);
  return { recipe, inputs: bound.map(({ input }) => input) };
}

export function checkQuota({ usage, clock }: World): void {
  const now = clock.now();
  if (usage.isExhausted("JOBS_SUBMITTED", now))
    throw new Refusal("QUOTA_EXCEEDED", { headers: { "Retry-After": String(usage.secondsToReset(now)) } });
}
