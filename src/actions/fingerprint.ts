// The request fingerprint is equal for calls that do the same, whatever their notes and spelling (docs/interface.md, "Deduplication").
import { createHash } from "node:crypto";
import type * as z from "zod/v4";
import type { Endpoint, ParameterName, ParameterSchemas } from "../contract/endpoints/endpoint.ts";
import { isJsonObject } from "../contract/json.ts";

/** The arguments of a tool, without the idempotencyKey. */
export type Arguments = Readonly<Record<string, unknown>>;

/** Sorts the fields of each object by name. A field "__proto__" remains an ordinary field. */
function sortFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortFields);
  if (!isJsonObject(value)) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sortFields(value[name])]));
}

export const sha256Hex = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Returns canonical JSON: the same text for equal arguments, whatever the order of their fields. Undefined fields are left out. */
export const canonicalArguments = (args: Arguments): string => JSON.stringify(sortFields(args));

/** Parses the arguments in a canonical text. Returns {} if it is not a JSON object. */
export function parseCanonicalArguments(text: string): Arguments {
  const args: unknown = JSON.parse(text);
  return isJsonObject(args) ? args : {};
}

/** Names of the top-level arguments in which two canonical texts differ. */
export function differingArguments(one: string, other: string): string[] {
  const read = (text: string) => new Map(Object.entries(parseCanonicalArguments(text)));
  const [a, b] = [read(one), read(other)];
  const names = new Set([...a.keys(), ...b.keys()]);
  return [...names].filter((name) => JSON.stringify(a.get(name)) !== JSON.stringify(b.get(name))).sort();
}

/** An argument that determines the effect of an action. A call with `default` is identical to one without the argument. */
interface Identifying<V = unknown> {
  readonly default: V;
}
export function identifies(): Identifying<undefined>;
export function identifies<const V>(argument: Identifying<V>): Identifying<V>;
export function identifies(argument: Identifying = { default: undefined }): Identifying {
  return argument;
}

type Note = "note" | `note: ${string}`;

/** What identifies one tool's actions. */
export interface ActionTraits<Name extends string = string> {
  /** The argument that contains the id of the resource that the action acts on. */
  readonly targetArgument: Name;
  /** A `note` does not change which action a call is. The arguments that the API does not receive are notes, too. */
  readonly arguments: Readonly<Record<Name, Identifying | Note>>;
}

/** An optional argument has a default (null: none). Any text may be a note; a note with other values has a reason. */
type RoleOf<V> =
  | Identifying<undefined extends V ? Exclude<V, undefined> | null : undefined>
  | (string extends V ? "note" : `note: ${string}`);

/** The traits of the actions of an endpoint: all its parameters and body fields are named. */
export type TraitsOf<E extends Endpoint> = ActionTraits<ParameterName<E>> & {
  readonly arguments: { readonly [N in ParameterName<E>]: RoleOf<z.output<ParameterSchemas<E>[N]>> };
};

const identifyingArguments = (traits: ActionTraits) =>
  Object.entries(traits.arguments).flatMap(([name, role]) => (typeof role === "string" ? [] : [[name, role] as const]));

export const isNote = (name: string, { arguments: roles }: ActionTraits): boolean =>
  typeof (roles[name] ?? "note") === "string";

/** The file, acquisition or dataset version that an input refers to. */
export interface InputReference {
  readonly inputKind: string;
  readonly referenceId: string;
}

/** Two calls are identical if they have a fingerprint in common. */
export interface ActionIdentity {
  /** Canonical JSON of all arguments. */
  readonly canonical: string;
  /** Each input whose reference is known counts as its reference. */
  readonly fingerprint: string;
  /**
   * Each input counts as the call names it; null if the action binds none. Unlike `fingerprint`, it follows from the call alone. It covers the
   * scope and is short, because it is the only column of its index that finds a row.
   */
  readonly boundFingerprint: string | null;
  /** The id of the resource that the action acts on; empty if it has none. */
  readonly targetId: string;
}

/** The references of inputs, by input id. */
export type InputReferences = ReadonlyMap<string, InputReference>;

/** Returns the references of the inputs whose registrations the journal contains. Throws Failure. */
export type FindReferences = (inputIds: readonly string[]) => Promise<InputReferences>;

const isNullish = (value: unknown): boolean => value === null || value === undefined;

/** Removes nulls, and the whitespace around strings: neither changes the effect of a call. */
function normalize(value: unknown): unknown {
  if (typeof value === "string") return value.trim();
  if (Array.isArray(value)) return value.map(normalize);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, part]) => (isNullish(part) ? [] : [[name, normalize(part)]])),
  );
}

interface Binding {
  readonly port: string;
  readonly input: unknown;
}

const toBindings = (value: unknown) => (Array.isArray(value) ? value.filter(isJsonObject) : []);

/** Sorts bindings by port. An input with a reference becomes that reference. */
const normalizeBindings = (value: unknown, references: ReadonlyMap<unknown, InputReference>): readonly Binding[] =>
  toBindings(value)
    .map(({ port, inputId, inputKind, referenceId }): Binding => {
      const reference = inputId === undefined ? { inputKind, referenceId } : references.get(inputId);
      return { port: String(port), input: reference ?? inputId };
    })
    .sort((one, other) => (one.port < other.port ? -1 : 1));

/** Returns the same text for the arguments of identical calls that differ only in spelling: the order of bindings, nulls, outer whitespace. */
export function withoutSpelling(canonical: string): string {
  const { inputBindings, ...others } = parseCanonicalArguments(canonical);
  const bindings = toBindings(inputBindings);
  bindings.sort((one, other) => (String(one["port"]) < String(other["port"]) ? -1 : 1));
  return canonicalArguments({ arguments: normalize({ ...others, bindings }) });
}

/** Removes the arguments that have their default, so that they are equal to absent ones everywhere. */
function withoutDefaults(args: Arguments, traits: ActionTraits): Arguments {
  const same = (one: unknown, other: unknown) => JSON.stringify(sortFields(one)) === JSON.stringify(sortFields(other));
  const defaults = identifyingArguments(traits).filter(
    ([name, role]) => role.default !== undefined && same(normalize(args[name]), role.default),
  );
  return defaults.length === 0 ? args : { ...args, ...Object.fromEntries(defaults.map(([name]) => [name, undefined])) };
}

/**
 * Identifies a call. An `inputBindings` entry may name its input by `inputId`, or by `inputKind` and `referenceId`. `parameterValues` are
 * compared exactly, except for the order of their fields. `scope`: the names of the service and the tool. `known`: the references that the
 * call itself named. Throws the errors of `findReferences`.
 */
export async function identifyAction(
  given: Arguments,
  traits: ActionTraits,
  scope: readonly string[],
  findReferences: FindReferences,
  known: InputReferences = new Map(),
): Promise<ActionIdentity> {
  const args = withoutDefaults(given, traits);
  const ids = toBindings(args["inputBindings"])
    .map(({ inputId }) => inputId)
    .filter((id) => typeof id === "string");
  const references = ids.length === 0 ? known : new Map([...(await findReferences(ids)), ...known]);
  function partsWith(replaced: InputReferences): Arguments {
    const parts: Record<string, unknown> = {};
    for (const [name] of identifyingArguments(traits)) {
      const value = args[name];
      if (name === "inputBindings") parts[name] = normalizeBindings(value, replaced);
      else if (!isNullish(value)) parts[name] = name === "parameterValues" ? value : normalize(value);
    }
    return parts;
  }
  return {
    canonical: canonicalArguments(args),
    fingerprint: sha256Hex(canonicalArguments(partsWith(references))),
    boundFingerprint:
      ids.length === 0 ? null : sha256Hex(canonicalArguments({ scope, parts: partsWith(new Map()) })).slice(0, 32),
    targetId: String(args[traits.targetArgument] ?? ""),
  };
}
