// One text for arguments that mean the same: an agent that types them again may order keys differently.
import { createHash } from "node:crypto";
import * as z from "zod/v4";
import { isJsonObject } from "../contract/json.ts";

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  // Pairs, since a "__proto__" key would not survive in an object.
  return {
    pairs: Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name])]),
  };
}

export const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Equal for equal arguments in any order of their keys; absent ones do not count. */
export function canonicalArguments(args: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(sorted(Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined))));
}

const Pairs = z.object({ pairs: z.array(z.tuple([z.string(), z.unknown()])) });

function unsorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unsorted);
  const { data } = Pairs.safeParse(value);
  return data ? Object.fromEntries(data.pairs.map(([name, part]) => [name, unsorted(part)])) : value;
}

/** The arguments behind a canonical text. */
export const readCanonical = (text: string): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Pairs.parse(JSON.parse(text)).pairs.map(([name, part]) => [name, unsorted(part)]));

/** Names of the top-level arguments in which two canonical texts differ. */
export function differingArguments(one: string, other: string): string[] {
  const read = (text: string): Map<string, string> => {
    const parsed: { pairs?: [string, unknown][] } = JSON.parse(text);
    return new Map((parsed.pairs ?? []).map(([name, value]) => [name, JSON.stringify(value)]));
  };
  const [a, b] = [read(one), read(other)];
  return [...new Set([...a.keys(), ...b.keys()])].filter((name) => a.get(name) !== b.get(name)).sort();
}
