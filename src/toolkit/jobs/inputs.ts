// The inputs of jobs: registers one, and finds or registers the inputs that run_job binds.
import type { ActionTraits } from "../../actions/fingerprint.ts";
import { deriveRepeatKey, deriveStepKey } from "../../actions/idempotency-keys.ts";
import type { ResourceAction } from "../../actions/service-actions.ts";
import { createMicPublicInput, getMicPublicInput } from "../../contract/endpoints/job-processing.ts";
import type { Input } from "../../contract/inputs.ts";
import { Failure } from "../../core/failure.ts";
import { inputPresenter } from "../advice/presenters.ts";
import { type ActionResult, type Step, toStep } from "../results.ts";
import { type ActionArguments, runAction } from "../run-action.ts";
import type { ActionPorts, ToolCall } from "../tool-call.ts";
import type { ToolName } from "../tool-names.ts";

const REGISTER: ToolName = "register_input";

export const registerTraits: ActionTraits = {
  aboutArgument: "referenceId",
  identifyingArguments: ["workspaceId", "inputKind", "referenceId"],
};

export const registerInput = (
  args: ActionArguments,
  call: ToolCall,
  ports: ActionPorts,
): Promise<ActionResult<Input>> =>
  runAction(args, call, ports, {
    endpoint: createMicPublicInput,
    traits: registerTraits,
    presenter: inputPresenter,
    findOut: "No tool lists inputs; registering the same file once more makes another input of it and harms nothing.",
    readNow: (inputId) => ports.service.call(getMicPublicInput, { path: { inputId } }, call.context),
  });

/** An input as run_job names it: by its id, or by the file, acquisition or dataset version that it stands for. */
export interface RequestedInput {
  readonly port: string;
  readonly inputId?: string | undefined;
  readonly referenceId?: string | undefined;
  readonly inputKind?: Input["inputKind"] | undefined;
}

/** An input as it is now. */
export interface PortInput {
  readonly port: string;
  readonly inputId: string;
  /** Undefined if it may not be read: then only the API judges it. */
  readonly input: Input | undefined;
}

async function readInput(inputId: string, { context }: ToolCall, { service }: ActionPorts): Promise<Input | undefined> {
  try {
    return (await service.call(getMicPublicInput, { path: { inputId } }, context)).value.data;
  } catch (error) {
    if (error instanceof Failure && error.facts.kind === "forbidden") return undefined;
    throw error;
  }
}

interface ObtainInputOptions {
  readonly workspaceId: string;
  /** Inputs that the call names by their ids. */
  readonly explicitInputIds: ReadonlySet<string>;
  /** The key of the whole call, from which a registration's key is derived. */
  readonly callKey: string | undefined;
  /** Receives each action at once. */
  onStep(port: string, step: Step): void;
}

/** Returns the input that is given, or was registered before, or registers it. Throws Failure. */
export async function findOrRegisterInput(
  { port, inputId, referenceId = "", inputKind = "M4_FILE" }: RequestedInput,
  { workspaceId, explicitInputIds, callKey, onStep }: ObtainInputOptions,
  call: ToolCall,
  ports: ActionPorts,
): Promise<PortInput> {
  if (inputId !== undefined) return { port, inputId, input: await readInput(inputId, call, ports) };
  const register: ToolCall = { ...call, tool: REGISTER };
  /** The journal's registrations that may have made an input of this. */
  const registrations = (await ports.actions.listByResource(referenceId)).filter(
    ({ tool, state, resourceId, arguments: args }) =>
      tool === REGISTER &&
      args["workspaceId"] === workspaceId &&
      args["inputKind"] === inputKind &&
      state !== "rejected" &&
      (state !== "succeeded" || resourceId !== undefined) &&
      // One input cannot be bound to two ports.
      (resourceId === undefined || !explicitInputIds.has(resourceId)),
  );
  // What succeeded is there, whatever became of other attempts.
  const hasSucceeded = ({ state }: ResourceAction): boolean => state === "succeeded";
  let expired: string | undefined;
  for (const registration of [
    ...registrations.filter(hasSucceeded),
    ...registrations.filter((each) => !hasSucceeded(each)),
  ]) {
    const { arguments: args, idempotencyKey } = registration;
    const made = await registerInput({ ...args, idempotencyKey }, register, ports);
    // The answer may be an old one, unless it was read for a replay.
    const input = made.replay ? made.data : ((await readInput(made.data.id, call, ports)) ?? made.data);
    if (input.state !== "EXPIRED") {
      onStep(port, toStep(REGISTER, made));
      return { port, inputId: input.id, input };
    }
    expired ??= made.data.id;
  }
  // Absent: the deduplication window decides.
  const idempotencyKey =
    expired === undefined ? callKey && deriveStepKey(callKey, referenceId) : deriveRepeatKey(expired);
  const args = { workspaceId, inputKind, referenceId, idempotencyKey, isDerivedKey: true };
  const made = await registerInput(args, register, ports);
  onStep(port, toStep(REGISTER, made));
  return { port, inputId: made.data.id, input: made.data };
}
