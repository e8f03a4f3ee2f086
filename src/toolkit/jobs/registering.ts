// Registering an input, once; and what the journal knows of registrations before.
import type { ActionAbout } from "../../actions/history.ts";
import type { ActionTraits } from "../../actions/identity.ts";
import { createMicPublicInput } from "../../contract/endpoints/job-processing.ts";
import type { Input } from "../../contract/inputs.ts";
import { inputSubject } from "../advice/input.ts";
import type { Ports } from "../ports.ts";
import type { ActionResult } from "../results.ts";
import { type ActionArguments, runAction } from "../run-action.ts";
import type { ToolCall } from "../tool-call.ts";
import type { ToolName } from "../tool-names.ts";

const REGISTER: ToolName = "register_input";

export const registerTraits: ActionTraits = { about: "referenceId", notes: ["alias", "clientReference"] };

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
  });

/** What an input stands for. */
export interface FileReference {
  readonly workspaceId: string;
  readonly inputKind: string;
  readonly referenceId: string;
}

/** The journal's registrations that may have made an input of this: what is not settled first, then the latest. */
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

/** That very registration: its outcome, or what becomes of it now. */
export const settleRegistration = (
  { arguments: given, idempotencyKey }: ActionAbout,
  call: ToolCall,
  ports: Pick<Ports, "actions" | "service">,
): Promise<ActionResult<Input>> => registerOnce({ ...given, idempotencyKey }, { ...call, tool: REGISTER }, ports);

export const registerNew = (
  { workspaceId, inputKind, referenceId }: FileReference,
  call: ToolCall,
  ports: Pick<Ports, "actions" | "service">,
): Promise<ActionResult<Input>> =>
  registerOnce({ workspaceId, inputKind, referenceId }, { ...call, tool: REGISTER }, ports);
