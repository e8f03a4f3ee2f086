// The inputs of run_job: each is given, or registered before, or registered now; and all have to be READY.

import { againKey, stepKey } from "../../actions/keys.ts";
import type { ActionAbout } from "../../actions/of-service.ts";
import { getMicPublicInput } from "../../contract/endpoints/job-processing.ts";
import type { Input } from "../../contract/inputs.ts";
import { Failure } from "../../failure.ts";
import type { Ports } from "../ports.ts";
import type { ActionResult } from "../results.ts";
import type { ToolCall } from "../tool-call.ts";
import { type FileReference, registerNew, registrationsOf, resumeRegistration } from "./registering.ts";
import { type Step, stepOf } from "./run-steps.ts";

export interface WantedInput {
  readonly port: string;
  readonly inputId?: string | undefined;
  readonly referenceId?: string | undefined;
  readonly inputKind?: Input["inputKind"] | undefined;
}

/** Where the input of a port comes from. */
export interface InputSource {
  readonly port: string;
  /** An input that is given by its id. */
  readonly inputId?: string;
  readonly reference?: FileReference;
  readonly registrations: readonly ActionAbout[];
}

type InputPorts = Pick<Ports, "actions" | "service">;

async function sourceOf(wanted: WantedInput, workspaceId: string, given: ReadonlySet<string>, ports: InputPorts) {
  const { port, inputId, referenceId = "", inputKind = "M4_FILE" } = wanted;
  if (inputId !== undefined) return { port, inputId, registrations: [] };
  const reference: FileReference = { workspaceId, inputKind, referenceId };
  const registrations = (await registrationsOf(reference, ports)).filter(
    // One input cannot be bound to two ports.
    ({ resourceId }) => resourceId === undefined || !given.has(resourceId),
  );
  return { port, reference, registrations };
}

/** Reads only the journal. Throws Failure. */
export async function sourcesOf(
  wanted: readonly WantedInput[],
  workspaceId: string,
  ports: InputPorts,
): Promise<readonly InputSource[]> {
  const given = new Set(wanted.flatMap(({ inputId = [] }) => inputId));
  return await Promise.all(wanted.map((each) => sourceOf(each, workspaceId, given, ports)));
}

/** An input as it is now, and the action that made it, if that is ours. */
export interface Obtained {
  readonly port: string;
  readonly inputId: string;
  /** Undefined if it may not be read: then only the API judges it. */
  readonly input: Input | undefined;
  readonly step: Step | undefined;
}

async function readInput(inputId: string, { context }: ToolCall, { service }: InputPorts): Promise<Input | undefined> {
  try {
    return (await service.call(getMicPublicInput, { path: { inputId } }, context)).value.data;
  } catch (error) {
    if (error instanceof Failure && error.facts.kind === "forbidden") return undefined;
    throw error;
  }
}

/**
 * Returns the input that is given, or was registered, or registers it. `callKey`: the key of the whole call, from which a registration's
 * key is derived. `onStep` receives each action at once. Throws Failure.
 */
export async function obtain(
  { port, inputId, reference, registrations }: InputSource,
  callKey: string | undefined,
  call: ToolCall,
  ports: InputPorts,
  onStep: (step: Step) => void,
): Promise<Obtained> {
  if (inputId !== undefined) return { port, inputId, input: await readInput(inputId, call, ports), step: undefined };
  if (!reference) throw new Error(`port ${port} has no source`);

  /** Undefined if the input has expired, and has to be registered again. */
  async function usable(made: ActionResult<Input>): Promise<Obtained | undefined> {
    // Its answer may be an old one.
    const input = made.replay ? made.data : ((await readInput(made.data.id, call, ports)) ?? made.data);
    if (input.state === "EXPIRED") return undefined;
    const step = stepOf("register_input", made);
    onStep(step);
    return { port, inputId: input.id, input, step };
  }

  // What succeeded is there, whatever became of other attempts.
  const isMade = ({ state }: ActionAbout): boolean => state === "succeeded";
  const ordered = [...registrations.filter(isMade), ...registrations.filter((each) => !isMade(each))];
  let expired: string | undefined;
  for (const registration of ordered) {
    const made = await resumeRegistration(registration, call, ports);
    const obtained = await usable(made);
    if (obtained) return obtained;
    expired ??= made.data.id;
  }
  const key = expired === undefined ? callKey && stepKey(callKey, reference.referenceId) : againKey(expired);
  const made = await registerNew(reference, key, call, ports);
  const step = stepOf("register_input", made);
  onStep(step);
  return { port, inputId: made.data.id, input: made.data, step };
}
