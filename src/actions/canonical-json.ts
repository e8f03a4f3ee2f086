// Canonical JSON gives equal arguments the same text, whatever the order of their fields.
import { createHash } from "node:crypto";
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

/** Returns the same text for equal arguments, whatever the order of their fields. Undefined fields are left out. */
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
