// The arguments of a call as a person types them: NAME=VALUE, read as the tool's input schema has each; and a JSON object.
import { UsageError } from "../../config.ts";
import { isJsonObject } from "../../contract/json.ts";
import type { JsonSchema } from "../../contract/json-schema.ts";
import { didYouMean } from "../command-line/nearest.ts";

type Arguments = Record<string, unknown>;

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const wrong = (name: string, takes: string): UsageError => new UsageError(`${name} takes ${takes}.`);

const schemaOf = (schema: unknown): JsonSchema => (isJsonObject(schema) ? schema : {});

/** What a word is for an argument of this schema; bounds are for the tool to check. Throws UsageError. */
function wordAs(name: string, text: string, schema: JsonSchema): unknown {
  switch (schema["type"]) {
    case "integer":
    case "number":
      if (!/^-?\d+(\.\d+)?$/.test(text)) throw wrong(name, "a number");
      return Number(text);
    case "boolean":
      if (text !== "true" && text !== "false") throw wrong(name, "true or false");
      return text === "true";
    case "array": {
      if (!text.startsWith("[")) return [wordAs(name, text, schemaOf(schema["items"]))];
      const list = parse(text);
      if (!Array.isArray(list)) throw wrong(name, "a JSON list, or one value each time it is given");
      return list;
    }
    case "object": {
      const object = parse(text);
      if (!isJsonObject(object)) throw wrong(name, "a JSON object");
      return object;
    }
    default:
      return text;
  }
}

/** What the flag --json holds. Throws UsageError. */
export function jsonArguments(text: string | undefined): Arguments {
  if (text === undefined) return {};
  const object = parse(text);
  if (!isJsonObject(object)) throw new UsageError("--json takes a JSON object.");
  return { ...object };
}

/** Several of one name make a list, where the tool takes one. Throws UsageError. */
export function typedArguments(pairs: readonly string[], schema: JsonSchema): Arguments {
  const properties = schemaOf(schema["properties"]);
  const args = new Map<string, unknown>();
  for (const pair of pairs) {
    const [name = "", ...rest] = pair.split("=");
    if (rest.length === 0) throw new UsageError(`${JSON.stringify(pair)} is not of the form NAME=VALUE.`);
    if (!Object.hasOwn(properties, name)) {
      const names = Object.keys(properties);
      const taken = names.length === 0 ? "It takes none." : `It takes: ${names.join(", ")}.`;
      throw new UsageError(`There is no argument ${JSON.stringify(name)}.${didYouMean(name, names)} ${taken}`);
    }
    const value = wordAs(name, rest.join("="), schemaOf(properties[name]));
    const before = args.get(name);
    if (before !== undefined && !Array.isArray(before)) throw new UsageError(`${name} is given twice.`);
    args.set(name, Array.isArray(before) ? [...before, ...[value].flat()] : value);
  }
  return Object.fromEntries(args);
}
