// The inputs of run_job: each is given, or registered before, or registered now; and all have to be READY.

import { canonicalArguments } from "../../actions/canonical.ts";
import type { ActionAbout } from "../../actions/history.ts";
import type { InputBinding } from "../../contract/endpoints/bodies.ts";
import { createMicJob, getMicPublicInput } from "../../contract/endpoints/job-processing.ts";
import type { Input } from "../../contract/inputs.ts";
import { Failure } from "../../failure.ts";
import type { Ports } from "../ports.ts";
import type { ToolCall } from "../tool-call.ts";
import { type FileReference, registerNew, registrationsOf, settleRegistration } from "./registering.ts";
import { type Step, stepOf } from "./run-steps.ts";
import type { SubmitArguments } from "./submitting.ts";

export interface WantedInput {
  readonly port: string;
  readonly inputId?: string | undefined;
  readonly referenceId?: string | undefined;
  readonly inputKind?: Input["inputKind"] | undefined;
}

/** Where the input of a port comes from. */
export interface InputSource {
  readonly port: string;
  /** Undefined of an input that is given by its id. */
  readonly reference: FileReference | undefined;
  /** What may be bound, as far as it is known. */
  readonly inputIds: readonly string[];
  readonly registrations: readonly ActionAbout[];
}

const isMade = ({ state }: ActionAbout): boolean => state === "succeeded";

async function sourceOf(wanted: WantedInput, workspaceId: string, given: ReadonlySet<string>, ports: InputPorts) {
  const { port, inputId, referenceId = "", inputKind = "M4_FILE" } = wanted;
  if (inputId !== undefined) return { port, reference: undefined, inputIds: [inputId], registrations: [] };
  const reference: FileReference = { workspaceId, inputKind, referenceId };
  const known = (await registrationsOf(reference, ports)).filter(
    // One input cannot be bound to two ports.
    ({ resourceId }) => resourceId === undefined || !given.has(resourceId),
  );
  // What has been made is there, whatever has become of other attempts.
  const registrations = [...known.filter(isMade), ...known.filter((action) => !isMade(action))];
  return { port, reference, inputIds: registrations.flatMap(({ resourceId = [] }) => resourceId), registrations };
}

type InputPorts = Pick<Ports, "actions" | "service">;

/** Looks into the journal alone. Throws Failure. */
export async function sourcesOf(
  wanted: readonly WantedInput[],
  workspaceId: string,
  ports: InputPorts,
): Promise<readonly InputSource[]> {
  const given = new Set(wanted.flatMap(({ inputId = [] }) => inputId));
  return await Promise.all(wanted.map((each) => sourceOf(each, workspaceId, given, ports)));
}

/** The bindings of an earlier submission, where it is of the same work with inputs of these sources. */
export function bindingsOf(
  stored: Readonly<Record<string, unknown>>,
  { workspaceId, recipeVersionId, parameterValues }: Omit<SubmitArguments, "inputBindings">,
  sources: readonly InputSource[],
): readonly InputBinding[] | undefined {
  const work = ({ workspaceId, recipeVersionId, parameterValues }: Readonly<Record<string, unknown>>): string =>
    canonicalArguments({ workspaceId, recipeVersionId, parameterValues });
  if (work(stored) !== work({ workspaceId, recipeVersionId, parameterValues })) return undefined;
  const bindings = createMicJob.body.shape.inputBindings.safeParse(stored["inputBindings"]).data;
  if (bindings?.length !== sources.length) return undefined;
  const isOurs = ({ port, inputId }: InputBinding): boolean =>
    sources.some((source) => source.port === port && source.inputIds.includes(inputId));
  return bindings.every(isOurs) ? bindings : undefined;
}

/** An input as it is now, and the action that made it, where that is ours. */
export interface Obtained {
  readonly port: string;
  readonly inputId: string;
  /** Undefined where it may not be read: then the service judges alone. */
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

/** The source's input: the one that is given or was registered, else a new one. `onStep` hears of each action at once. Throws Failure. */
export async function obtain(
  { port, reference, inputIds, registrations }: InputSource,
  call: ToolCall,
  ports: InputPorts,
  onStep: (step: Step) => void,
): Promise<Obtained> {
  const [given] = inputIds;
  if (!reference && given !== undefined)
    return { port, inputId: given, input: await readInput(given, call, ports), step: undefined };
  for (const registration of registrations) {
    const made = await settleRegistration(registration, call, ports);
    const step = stepOf("register_input", made);
    // Of an action that is resumed the answer may be an old one.
    const input = (await readInput(made.data.id, call, ports)) ?? made.data;
    if (input.state === "EXPIRED") continue;
    onStep(step);
    return { port, inputId: input.id, input, step };
  }
  if (!reference) throw new Error(`port ${port} has no source`);
  const made = await registerNew(reference, call, ports);
  const step = stepOf("register_input", made);
  onStep(step);
  const input = step.replayed ? ((await readInput(made.data.id, call, ports)) ?? made.data) : made.data;
  return { port, inputId: input.id, input, step };
}
