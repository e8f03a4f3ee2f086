// This module registers an input, and finds or registers the inputs that run_job binds.
import type { ActionTraits } from "../../actions/fingerprint.ts";
import type { ResourceAction } from "../../actions/history.ts";
import { deriveRepeatKey, deriveStepKey } from "../../actions/idempotency-keys.ts";
import { createMicPublicInput, getMicPublicInput } from "../../contract/endpoints/job-processing.ts";
import type { Input } from "../../contract/inputs.ts";
import { Failure } from "../../core/failure.ts";
import { describeInput, hasExpired, inputStatus } from "../describe/input.ts";
import type { ActionResult } from "../results.ts";
import { type ActionArguments, runAction } from "../run-action.ts";
import type { ToolContext } from "../tool-context.ts";
import type { ToolName } from "../tool-names.ts";

const REGISTER: ToolName = "register_input";

export const registerTraits: ActionTraits = {
  targetArgument: "referenceId",
  identifyingArguments: ["workspaceId", "inputKind", "referenceId"],
};

export const registerInput = (args: ActionArguments, ctx: ToolContext): Promise<ActionResult<Input>> =>
  runAction(args, ctx, {
    endpoint: createMicPublicInput,
    traits: registerTraits,
    describe: describeInput,
    status: inputStatus,
    findOut: "No tool lists inputs. Registering the same file again makes another input of it, which does no harm.",
    readNow: (inputId) => ctx.api.call(getMicPublicInput, { path: { inputId } }, ctx),
  });

/** An input in the arguments of run_job: its id, or the file, acquisition or dataset version that it is registered for. */
export interface RequestedInput {
  readonly port: string;
  readonly inputId?: string;
  readonly referenceId?: string;
  readonly inputKind?: Input["inputKind"];
}

/** The input for one port, as it was last read. */
export interface PortInput {
  readonly port: string;
  readonly inputId: string;
  /** Undefined if the application may not read the input; then only the API checks its state. */
  readonly input: Input | undefined;
  /** Time of the API's response, in milliseconds since 1970. */
  readonly readAt: number | undefined;
}

/** Reads an input; `input` is undefined if the application may not read it. Throws Failure. */
async function readInput(port: string, inputId: string, ctx: ToolContext): Promise<PortInput> {
  try {
    const { value, respondedAt: readAt } = await ctx.api.call(getMicPublicInput, { path: { inputId } }, ctx);
    return { port, inputId, input: value.data, readAt };
  } catch (error) {
    if (!(error instanceof Failure) || error.facts.kind !== "forbidden") throw error;
    return { port, inputId, input: undefined, readAt: undefined };
  }
}

interface ObtainInputOptions {
  readonly workspaceId: string;
  /** Ids of the inputs that the call names by id. */
  readonly explicitInputIds: ReadonlySet<string>;
  /** The key of the whole call, from which a registration's key is derived. */
  readonly callKey: string | undefined;
  /** Receives the id of each input that the call registers. */
  onRegistered(port: string, id: string): void;
}

/** Returns the input with the given id, or the one that was registered before; otherwise registers one. Throws Failure. */
export async function findOrRegisterInput(
  { port, inputId, referenceId = "", inputKind = "M4_FILE" }: RequestedInput,
  { workspaceId, explicitInputIds, callKey, onRegistered }: ObtainInputOptions,
  ctx: ToolContext,
): Promise<PortInput> {
  if (inputId !== undefined) return await readInput(port, inputId, ctx);
  /** Registrations in the journal that may have created an input for `referenceId`. Successful ones come first, the latest first. */
  const registrations = (await ctx.actions.readHistory(referenceId)).actions
    .filter(
      ({ tool, state, createdId, arguments: args }) =>
        tool === REGISTER &&
        args["workspaceId"] === workspaceId &&
        args["inputKind"] === inputKind &&
        state !== "rejected" &&
        (state !== "succeeded" || createdId !== undefined) &&
        // One input cannot be bound to two ports.
        (createdId === undefined || !explicitInputIds.has(createdId)),
    )
    .sort((one, other) => Number(other.state === "succeeded") - Number(one.state === "succeeded"));

  async function register(args: ActionArguments): Promise<PortInput> {
    const made = await registerInput(args, { ...ctx, tool: REGISTER });
    onRegistered(port, made.data.id);
    return { port, inputId: made.data.id, input: made.data, readAt: undefined };
  }

  /** Returns the input of an earlier registration; undefined if the API no longer has it. */
  async function readRegistered({ createdId, arguments: args, idempotencyKey }: ResourceAction) {
    if (createdId === undefined) return await register({ ...args, idempotencyKey });
    return await readInput(port, createdId, ctx).catch((error: unknown) => {
      if (error instanceof Failure && error.facts.kind === "not_found") return undefined;
      throw error;
    });
  }

  let expired: string | undefined;
  for (const registration of registrations) {
    const found = await readRegistered(registration);
    if (found && !(found.input && hasExpired(found.input, found.readAt))) return found;
    expired ??= found?.inputId ?? registration.createdId;
  }
  // Without a key, the deduplication window decides whether the file is registered again.
  const idempotencyKey =
    expired === undefined ? callKey && deriveStepKey(callKey, referenceId) : deriveRepeatKey(expired);
  return await register({ workspaceId, inputKind, referenceId, idempotencyKey, isDerivedKey: true });
}
