// This module registers an input, and finds or registers the inputs that run_job binds.
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

/** An input in the arguments of run_job: its id, or the file, acquisition or dataset version that it is registered for. */
export interface RequestedInput {
  readonly port: string;
  readonly inputId?: string | undefined;
  readonly referenceId?: string | undefined;
  readonly inputKind?: Input["inputKind"] | undefined;
}

/** The current state of the input for one port. */
export interface PortInput {
  readonly port: string;
  readonly inputId: string;
  /** Undefined if the application may not read the input; then only the API checks its state. */
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
  /** Ids of the inputs that the call names by id. */
  readonly explicitInputIds: ReadonlySet<string>;
  /** The key of the whole call, from which a registration's key is derived. */
  readonly callKey: string | undefined;
  /** Receives each action as soon as it is complete. */
  onStep(port: string, step: Step): void;
}

/** Returns the input with the given id, or the one that was registered before; otherwise registers one. Throws Failure. */
export async function findOrRegisterInput(
  { port, inputId, referenceId = "", inputKind = "M4_FILE" }: RequestedInput,
  { workspaceId, explicitInputIds, callKey, onStep }: ObtainInputOptions,
  call: ToolCall,
  ports: ActionPorts,
): Promise<PortInput> {
  if (inputId !== undefined) return { port, inputId, input: await readInput(inputId, call, ports) };
  const register: ToolCall = { ...call, tool: REGISTER };
  /** Registrations in the journal that may have created an input for `referenceId`. */
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
  // Successful registrations come first, since their inputs exist, whatever the outcome of the others.
  const hasSucceeded = ({ state }: ResourceAction): boolean => state === "succeeded";
  let expired: string | undefined;
  for (const registration of [
    ...registrations.filter(hasSucceeded),
    ...registrations.filter((each) => !hasSucceeded(each)),
  ]) {
    const { arguments: args, idempotencyKey } = registration;
    const made = await registerInput({ ...args, idempotencyKey }, register, ports);
    // The stored response may be old; a replay has already read the current state.
    const input = made.replay ? made.data : ((await readInput(made.data.id, call, ports)) ?? made.data);
    if (input.state !== "EXPIRED") {
      onStep(port, toStep(REGISTER, made));
      return { port, inputId: input.id, input };
    }
    expired ??= made.data.id;
  }
  // Without a key, the deduplication window decides whether the file is registered again.
  const idempotencyKey =
    expired === undefined ? callKey && deriveStepKey(callKey, referenceId) : deriveRepeatKey(expired);
  const args = { workspaceId, inputKind, referenceId, idempotencyKey, isDerivedKey: true };
  const made = await registerInput(args, register, ports);
  onStep(port, toStep(REGISTER, made));
  return { port, inputId: made.data.id, input: made.data };
}
