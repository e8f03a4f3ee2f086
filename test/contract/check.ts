// Compares a schema and its JSON Schema with values that they must accept and refuse, each put into a valid sample.
import { isDeepStrictEqual } from "node:util";
import { Ajv2020 } from "ajv/dist/2020.js";
import type * as z from "zod/v4";
import { toJsonSchema } from "../../src/contract/json.ts";
import { parseDateTime } from "../../src/contract/scalars.ts";
import type { Grammar } from "./grammars.ts";

export type Path = readonly string[];
type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

export function changeAt(root: unknown, [key, ...rest]: Path, change: (old: unknown) => unknown): unknown {
  if (key === undefined) return change(root);
  if (isList(root) && Number(key) < root.length)
    return root.map((item, index) => (String(index) === key ? changeAt(item, rest, change) : item));
  if (!isObject(root) || !Object.hasOwn(root, key)) throw new Error(`the sample has no ${key}`);
  return { ...root, [key]: changeAt(root[key], rest, change) };
}

export const withoutKey = (key: string) => (fields: unknown) =>
  Object.fromEntries(Object.entries(isObject(fields) ? fields : {}).filter(([name]) => name !== key));

export const withKey = (key: string) => (fields: unknown) => ({ ...Object(fields), [key]: "extra" });

/** The value with each bigint as a number, as JSON carries it. */
function withoutBigints(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (isList(value)) return value.map(withoutBigints);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withoutBigints(part)]));
}

const holdsNull = (value: unknown): boolean =>
  value === null || (isList(value) ? value : isObject(value) ? Object.values(value) : []).some(holdsNull);

const isDateTime = (text: string): boolean => parseDateTime(text) !== undefined;
/** An absolute URI: a scheme, a colon, and only characters that RFC 3986 allows. */
const uri = /^[A-Za-z][A-Za-z0-9+.-]*:[\w.~:/?#[\]@!$&'()*+,;=%-]*$/;
export const ajv = new Ajv2020({ strict: true, formats: { "date-time": isDateTime, uri, int64: true } });

const abbreviate = (value: unknown): string => {
  const json =
    JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? `${part}n` : part)) ?? String(value);
  return json.length <= 80 ? json : `${json.slice(0, 60)}… (${json.length} characters)`;
};

/** Functions that return the errors in the schema's decisions about a value. */
export function createCheck(schema: z.ZodType) {
  const output = ajv.compile(toJsonSchema(schema, "output"));
  const input = ajv.compile(toJsonSchema(schema, "input"));
  const describe = (value: unknown, ...errors: readonly string[]) =>
    errors.map((error) => `${abbreviate(value)} ${error}`);

  function accepts(value: unknown): readonly string[] {
    const result = schema.safeParse(value);
    if (!result.success) return describe(value, `is refused: ${result.error.message}`);
    // Argument schemas contain no null, even if one is accepted (src/contract/json.ts).
    const refusal = (holdsNull(value) ? [output] : [output, input]).find((allows) => !allows(withoutBigints(value)));
    return describe(
      value,
      ...(isDeepStrictEqual(result.data, value) ? [] : ["is changed"]),
      ...(refusal ? ["is refused by JSON Schema"] : []),
    );
  }

  /** Refused because of the value at `path`, and for no other reason. */
  function refuses(value: unknown, path: Path, byJsonSchema = true): readonly string[] {
    const result = schema.safeParse(value);
    if (result.success) return describe(value, "is accepted");
    const elsewhere = result.error.issues.filter((issue) => path.some((key, at) => String(issue.path[at]) !== key));
    const isAllowed = byJsonSchema && [output, input].some((allows) => allows(withoutBigints(value)));
    return describe(
      value,
      ...elsewhere.map((issue) => `is refused for another place, ${issue.path.join(".")}: ${issue.message}`),
      ...(isAllowed ? ["is accepted by JSON Schema"] : []),
    );
  }

  return {
    accepts,
    refuses,
    /** Each value of the grammar is put into the sample at `path`. */
    grammar: (grammar: Grammar, sample: unknown = undefined, path: Path = []): readonly string[] => {
      const put = (value: unknown) => changeAt(sample, path, () => value);
      return [
        ...grammar.accepts.flatMap((value) => accepts(put(value))),
        ...grammar.refuses.flatMap((value) => refuses(put(value), path)),
        ...grammar.refusesBeyondJsonSchema.flatMap((value) => refuses(put(value), path, false)),
      ];
    },
  };
}
