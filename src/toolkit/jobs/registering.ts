// Registers an input, and finds the registrations that the journal has.

import type { ActionTraits, InputReference } from "../../actions/fingerprint.ts";
import type { ActionAbout } from "../../actions/of-service.ts";
import { createMicPublicInput, getMicPublicInput } from "../../contract/endpoints/job-processing.ts";
import type { Input } from "../../contract/inputs.ts";
import { inputSubject } from "../advice/input.ts";
import type { Ports } from "../ports.ts";
import type { ActionResult } from "../results.ts";
import { type ActionArguments, runAction } from "../run-action.ts";
import type { ToolCall } from "../tool-call.ts";
import type { ToolName } from "../tool-names.ts";

const REGISTER: ToolName = "register_input";

export const registerTraits: ActionTraits = {
  about: "referenceId",
  identifiedBy: ["workspaceId", "inputKind", "referenceId"],
};

export const registerOnce = (
  args: ActionArguments,
  call: ToolCall,
  ports: Pick<Ports, "actions" | "service">,
): Promise<ActionResult<Input>> =>
  runAction(args, call, ports, {
    endpoint: createMicPublicInput,
    traits: registerTraits,
    subject: inputSubject,
    findOut: "No tool lists inputs; registering the same file once more makes another input of it and harms nothing.",
    readNow: (inputId) => ports.service.call(getMicPublicInput, { path: { inputId } }, call.context),
  });

/** The file, acquisition or dataset version that an input stands for, in its workspace. */
export interface FileReference extends InputReference {
  readonly workspaceId: string;
}

/** The journal's registrations that may have made an input of this: unresolved ones first, then the latest. */
export async function registrationsOf(
  { workspaceId, inputKind, referenceId }: FileReference,
  { actions }: Pick<Ports, "actions">,
): Promise<readonly ActionAbout[]> {
  return (await actions.about(referenceId)).filter(
    ({ tool, state, resourceId, arguments: given }) =>
      tool === REGISTER &&
      given["workspaceId"] === workspaceId &&
      given["inputKind"] === inputKind &&
      state !== "rejected" &&
      (state !== "succeeded" || resourceId !== undefined),
  );
}

/** Resolves or replays that very registration. */
export const resumeRegistration = (
  { arguments: given, idempotencyKey }: ActionAbout,
  call: ToolCall,
  ports: Pick<Ports, "actions" | "service">,
): Promise<ActionResult<Input>> => registerOnce({ ...given, idempotencyKey }, { ...call, tool: REGISTER }, ports);

/** `idempotencyKey`: derived by mic-mcp; absent: the deduplication window decides. */
export const registerNew = (
  { workspaceId, inputKind, referenceId }: FileReference,
  idempotencyKey: string | undefined,
  call: ToolCall,
  ports: Pick<Ports, "actions" | "service">,
): Promise<ActionResult<Input>> =>
  registerOnce(
    { workspaceId, inputKind, referenceId, idempotencyKey, isDerivedKey: true },
    { ...call, tool: REGISTER },
    ports,
  );
