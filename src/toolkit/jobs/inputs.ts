// This module registers an input, and finds or registers the inputs that run_job binds.
import { isTooOldFailure } from "../../actions/action-failures.ts";
import { type Arguments, identifies, type TraitsOf } from "../../actions/fingerprint.ts";
import { deriveRepeatKey, deriveStepKey } from "../../actions/idempotency-keys.ts";
import { createMicPublicInput, getMicPublicInput } from "../../contract/endpoints/job-processing.ts";
import type { Input } from "../../contract/inputs.ts";
import { Failure, unlessFailed } from "../../core/failure.ts";
import { say } from "../../core/text.ts";
import type { ToolName } from "../../core/tool-names.ts";
import { describeInput, hasExpired, inputStatus } from "../describe/input.ts";
import type { ActionResult } from "../results.ts";
import { type ActionArguments, runAction } from "../run-action.ts";
import type { ToolContext } from "../tool-context.ts";

export const REGISTER: ToolName = "register_input";

export const registerTraits: TraitsOf<typeof createMicPublicInput> = {
  targetArgument: "referenceId",
  arguments: {
    workspaceId: identifies(),
    inputKind: identifies(),
    referenceId: identifies(),
    alias: "note",
    clientReference: "note",
  },
};

export const registerInput = (args: ActionArguments, ctx: ToolContext): Promise<ActionResult<Input>> =>
  runAction(args, ctx, {
    endpoint: createMicPublicInput,
    traits: registerTraits,
    describe: describeInput,
    status: inputStatus,
    findOut: say`No tool lists inputs. Registering the same file again makes another input of it, which does no harm.`,
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
  const answer = await unlessFailed(ctx.api.call(getMicPublicInput, { path: { inputId } }, ctx), "forbidden");
  return { port, inputId, input: answer?.value.data, readAt: answer?.respondedAt };
}

/** Throws Failure: an input that was registered a short time ago exists, even if the API does not show it yet. Other errors are unchanged. */
export function rethrowUnreadable(inputId: string, error: unknown): never {
  if (!(error instanceof Failure) || error.facts.kind !== "not_found") throw error;
  throw error.with({
    message: say`Input ${inputId} was registered, but cannot be read yet. ${error.facts.message}`,
    retryable: true,
    retryAfterSeconds: UNREADABLE_SECONDS,
    next: say`Make the same call again in ${UNREADABLE_SECONDS} s: it uses this input.`,
  });
}

const UNREADABLE_SECONDS = 60;

interface ObtainInputOptions {
  readonly workspaceId: string;
  /** Ids of the inputs that the call names by id. */
  readonly explicitInputIds: ReadonlySet<string>;
  /** The key of the whole call, from which a registration's key is derived. */
  readonly callKey: string | undefined;
  /** Receives the id of each input that the call registers. `isAgain`: the outcome of an earlier registration is unknown. */
  onRegistered(port: string, id: string, isAgain: boolean): void;
}

/**
 * Returns the input with the given id, or the one that was registered before; otherwise registers one. With a key of the call, only inputs
 * count that were registered under keys derived from it, so that the call sends the same job from every machine. Throws Failure.
 */
export async function findOrRegisterInput(
  { port, inputId, referenceId = "", inputKind = "M4_FILE" }: RequestedInput,
  { workspaceId, explicitInputIds, callKey, onRegistered }: ObtainInputOptions,
  ctx: ToolContext,
): Promise<PortInput> {
  if (inputId !== undefined) return await readInput(port, inputId, ctx);

  /** An input that has expired, or that is bound to another port, cannot be used. */
  const isUsable = ({ inputId: id, input, readAt }: PortInput): boolean =>
    !explicitInputIds.has(id) && !(input && hasExpired(input, readAt));

  /**
   * Registers the file under this key; under none, the deduplication window decides. While the outcome is an unusable input, or unknown
   * and too old to be found out, a key derived from it follows: a second input of the same file does no harm.
   */
  async function register(firstKey: string | undefined, notes: Arguments = {}): Promise<PortInput> {
    let [idempotencyKey, isAgain] = [firstKey, false];
    for (;;) {
      const args = { ...notes, workspaceId, inputKind, referenceId, idempotencyKey, isDerivedKey: true };
      const made = await registerInput(args, { ...ctx, tool: REGISTER }).catch((error: unknown) => {
        if (isTooOldFailure(error)) return error;
        throw error;
      });
      if (made instanceof Failure) {
        idempotencyKey = deriveRepeatKey(made.facts.idempotencyKey ?? referenceId);
        isAgain = true;
        continue;
      }
      const { id } = made.data;
      const { action, isStored } = made;
      if (!action.replayed) onRegistered(port, id, isAgain);
      const found = isStored
        ? await readInput(port, id, ctx).catch((error: unknown) => rethrowUnreadable(id, error))
        : { port, inputId: id, input: made.data, readAt: undefined };
      if (isUsable(found) || !isStored) return found;
      idempotencyKey = deriveRepeatKey(id);
    }
  }

  if (callKey !== undefined) return await register(deriveStepKey(callKey, referenceId));

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

  /** Returns the input of an earlier registration; undefined if the API no longer has it. */
  async function readRegistered(id: string, isRecent: boolean) {
    return await readInput(port, id, ctx).catch((error: unknown) => {
      if (error instanceof Failure && error.facts.kind === "not_found" && !isRecent) return undefined;
      return rethrowUnreadable(id, error);
    });
  }

  let unusable: string | undefined;
  for (const { createdId: id, arguments: notes, idempotencyKey, isRecent } of registrations) {
    if (id === undefined) return await register(idempotencyKey, notes);
    const found = await readRegistered(id, isRecent);
    if (found && isUsable(found)) return found;
    unusable ??= id;
  }
  return await register(unusable === undefined ? undefined : deriveRepeatKey(unusable));
}
