// Whether a job may be submitted: recipe, ports, inputs, capability, permission, parameters, quota, in this order.
import type { createMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Input } from "../../contract/inputs.ts";
import type { FieldError } from "../../contract/problem.ts";
import type { ProblemCode } from "../choices.ts";
import { Refusal, refuseField } from "../problems.ts";
import { checkCapability } from "../world/capabilities.ts";
import { type InputRecord, inputAt } from "../world/inputs.ts";
import { processingRequestAt } from "../world/processing-requests.ts";
import type { Recipe } from "../world/recipes.ts";
import type { World } from "../world/world.ts";
import type { ActionRequest } from "./operation.ts";
import { offeredRecipe } from "./recipes.ts";

type JobOrder = ActionRequest<typeof createMicJob>["body"];

interface Bound {
  readonly pointer: string;
  readonly port: string;
  readonly input: InputRecord;
}

function refuseAll(code: ProblemCode, fieldErrors: readonly FieldError[]): void {
  if (fieldErrors.length > 0) throw new Refusal(code, { fieldErrors });
}

function checkPorts({ inputBindings }: JobOrder, { definition }: Recipe): void {
  const wanted = new Set(definition.inputs.map(({ name }) => name));
  const bound = new Set(inputBindings.map(({ port }) => port));
  const code = "PORTS_MISMATCH";
  refuseAll(code, [
    ...inputBindings.flatMap(({ port }, index) =>
      wanted.has(port)
        ? []
        : [{ pointer: `/inputBindings/${index}/port`, code, message: `Ports are: ${[...wanted].join(", ")}.` }],
    ),
    ...[...wanted].flatMap((port) =>
      bound.has(port) ? [] : [{ pointer: "/inputBindings", code, message: `The port ${port} is not bound.` }],
    ),
  ]);
}

function findInputs({ inputBindings }: JobOrder, { inputs }: World): readonly Bound[] {
  const missing: FieldError[] = [];
  const bound: Bound[] = [];
  for (const [index, { port, inputId }] of inputBindings.entries()) {
    const pointer = `/inputBindings/${index}/inputId`;
    const input = inputs.find(inputId);
    if (input === undefined) missing.push({ pointer, code: "INPUT_NOT_FOUND", message: "There is no such input." });
    else bound.push({ pointer, port, input });
  }
  refuseAll("INPUT_NOT_FOUND", missing);
  return bound;
}

function checkReady(bound: readonly Bound[], { workspaceId, clock }: World): void {
  const states = bound.map(({ pointer, input }) => ({
    pointer,
    state: inputAt(input, workspaceId, clock.now()).state,
  }));
  const notReady = states.filter(({ state }) => state !== "READY");
  const code = notReady.every(({ state }) => state === "WAITING_SCAN") ? "INPUT_BEING_SCANNED" : "INPUT_NOT_READY";
  refuseAll(
    code,
    notReady.map(({ pointer, state }) => ({ pointer, code, message: `The input is ${state}.` })),
  );
}

/** RAW values come from files and acquisitions, all others from dataset versions. */
const fits = (kind: Input["inputKind"], valueState: string): boolean =>
  (kind === "DATASET_VERSION") === (valueState !== "RAW");

function checkKinds(bound: readonly Bound[], { definition }: Recipe): void {
  const code = "INPUT_KIND_MISMATCH";
  refuseAll(
    code,
    bound.flatMap(({ pointer, port, input }) => {
      const valueState = definition.inputs.find(({ name }) => name === port)?.valueState ?? "RAW";
      const kinds = valueState === "RAW" ? "M4_FILE or ACQUISITION" : "DATASET_VERSION";
      return fits(input.inputKind, valueState)
        ? []
        : [{ pointer, code, message: `${port} takes ${valueState} values: an input of kind ${kinds}.` }];
    }),
  );
}

/** Section 1, rule 5: where permission was asked for, it is reviewed before a job can run. */
function checkPermission(bound: readonly Bound[], { definition }: Recipe, world: World): void {
  const code = "PROCESSING_NOT_PERMITTED";
  refuseAll(
    code,
    bound.flatMap(({ pointer, input }) => {
      const asked = world.permissions.get(`${input.id} ${definition.versionId}`);
      if (asked === undefined) return [];
      const { id, state } = processingRequestAt(asked, world.workspaceId, world.clock.now());
      return state === "APPROVED" ? [] : [{ pointer, code, message: `The processing request ${id} is ${state}.` }];
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
  refuseAll("PARAMETERS_INVALID", recipe.parameterErrors(order.parameterValues));
  checkQuota(world);
  return { recipe, inputs: bound.map(({ input }) => input) };
}

export function checkQuota({ usage, clock }: World): void {
  const now = clock.now();
  if (usage.isExhausted("JOBS_SUBMITTED", now))
    throw new Refusal("QUOTA_EXCEEDED", { headers: { "Retry-After": String(usage.secondsToReset(now)) } });
}
