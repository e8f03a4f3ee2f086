// Tests an object's schema and its JSON Schema against literal rules of its fields, with one change to a valid sample at a time.
import { isDeepStrictEqual } from "node:util";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, type TestFunction, test } from "vitest";
import type * as z from "zod/v4";
import { toJsonSchema } from "../../src/contract/json.ts";
import { parseDateTime } from "../../src/contract/scalars.ts";
import type { FieldRule } from "./field-rules.ts";

type Path = readonly string[];
type Fields = Readonly<Record<string, unknown>>;
/** Contract rules in square brackets, and the fields (dotted if nested) to which they apply. */
type Group = readonly [cited: string, fields: Readonly<Record<string, FieldRule>>];

const FREE_FORM: ReadonlySet<string> = new Set(["definition", "references", "parameterValues"]);

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

export function changeAt(root: unknown, [key, ...rest]: Path, change: (old: unknown) => unknown): unknown {
  if (key === undefined) return change(root);
  if (isList(root)) return root.map((item, index) => (String(index) === key ? changeAt(item, rest, change) : item));
  if (!isObject(root) || !Object.hasOwn(root, key)) throw new Error(`the sample has no ${key}`);
  return { ...root, [key]: changeAt(root[key], rest, change) };
}

const withoutKey = (key: string) => (fields: unknown) =>
  Object.fromEntries(Object.entries(isObject(fields) ? fields : {}).filter(([name]) => name !== key));

const withExtraKey = (key: string) => (fields: unknown) => ({ ...(isObject(fields) ? fields : {}), [key]: "extra" });

/** Every object of the sample with its path, except free-form ones. */
function objectsIn(value: unknown, path: Path = []): [Path, Fields][] {
  if (isList(value)) return value.flatMap((item, index) => objectsIn(item, [...path, String(index)]));
  if (!isObject(value) || FREE_FORM.has(path.at(-1) ?? "")) return [];
  const below = Object.entries(value).flatMap(([key, part]) => objectsIn(part, [...path, key]));
  return [[path, value], ...below];
}

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

function createSchemaCheck(schema: z.ZodType) {
  const output = ajv.compile(toJsonSchema(schema, "output"));
  const input = ajv.compile(toJsonSchema(schema, "input"));

  const accepts = (value: unknown): readonly string[] => {
    const result = schema.safeParse(value);
    if (!result.success) return [`is refused: ${result.error.message}`];
    return [
      ...(isDeepStrictEqual(result.data, value) ? [] : ["is changed"]),
      // Argument schemas contain no null, even if one is accepted (json-schema.ts).
      ...(holdsNull(value) ? [output] : [output, input]).flatMap((allows) =>
        allows(withoutBigints(value)) ? [] : [`is refused by JSON Schema: ${ajv.errorsText(allows.errors)}`],
      ),
    ];
  };

  /** Refused because of the value at `path`, and for no other reason. */
  const refuses = (value: unknown, path: Path, byJsonSchema: boolean): readonly string[] => {
    const result = schema.safeParse(value);
    if (result.success) return ["is accepted"];
    const elsewhere = result.error.issues.filter((issue) =>
      path.some((key, depth) => String(issue.path[depth]) !== key),
    );
    return [
      ...elsewhere.map((issue) => `is refused for another place, ${issue.path.join(".")}: ${issue.message}`),
      ...(byJsonSchema && [output, input].some((allows) => allows(withoutBigints(value)))
        ? ["is accepted by JSON Schema"]
        : []),
    ];
  };
  return { accepts, refuses };
}

const abbreviate = (value: unknown): string => {
  const json =
    JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? `${part}n` : part)) ?? String(value);
  return json.length <= 80 ? json : `${json.slice(0, 60)}… (${json.length} characters)`;
};

const describeErrors = (name: string, value: unknown, errors: readonly string[]) =>
  errors.map((error) => `${name} ${abbreviate(value)} ${error}`);

/** The errors in the schema's decisions on the values of a rule, each put into a valid value at `path`. */
function checkRule(
  { accepts, refuses }: ReturnType<typeof createSchemaCheck>,
  rule: FieldRule,
  name = "",
  put = (value: unknown) => value,
): readonly string[] {
  const path = name === "" ? [] : name.split(".");
  const refusal = (byJsonSchema: boolean) => (value: unknown) =>
    describeErrors(name, value, refuses(put(value), path, byJsonSchema));
  return [
    ...rule.accepts.flatMap((value) => describeErrors(name, value, accepts(put(value)))),
    ...rule.refuses.flatMap(refusal(true)),
    ...(rule.refusesBeyondJsonSchema ?? []).flatMap(refusal(false)),
  ];
}

export const createRuleTest =
  (schema: z.ZodType, rule: FieldRule): TestFunction =>
  () =>
    expect(checkRule(createSchemaCheck(schema), rule)).toEqual([]);

const toDottedPath = (path: Path): string => path.map((key) => (/^\d+$/.test(key) ? "*" : key)).join(".");

/**
 * Tests that an object has exactly its fields, at every level, and tests each field. The title begins with the object's name.
 * `sample` is valid and has all optional fields. All fields are required except those in `optional` (dotted, `*` for any item).
 */
export function testObject(
  title: string,
  schema: z.ZodType,
  sample: Fields,
  groups: readonly Group[],
  optional: readonly string[] = [],
): void {
  const check = createSchemaCheck(schema);
  const { accepts, refuses } = check;
  for (const [cited, fields] of groups)
    test(`${title.split(" has ", 1)}: ${Object.keys(fields).join(", ")} ${cited}`, () => {
      const checkField = ([name, rule]: [string, FieldRule]) =>
        checkRule(check, rule, name, (value) => changeAt(sample, name.split("."), () => value));
      expect(Object.entries(fields).flatMap(checkField)).toEqual([]);
    });
  test(title, () => {
    const levels = objectsIn(sample);
    const removed = levels.flatMap(([path, fields]) =>
      Object.keys(fields).flatMap((key) => {
        const at = [...path, key];
        const rest = changeAt(sample, path, withoutKey(key));
        const errors = optional.includes(toDottedPath(at)) ? accepts(rest) : refuses(rest, at, true);
        return describeErrors(`without ${toDottedPath(at)},`, rest, errors);
      }),
    );
    const extended = levels.flatMap(([path]) =>
      ["extra", "ID", "__proto__", "constructor", "toString", ""].flatMap((key) => {
        const more = changeAt(sample, path, withExtraKey(key));
        return describeErrors(`with an extra ${toDottedPath([...path, key])},`, more, refuses(more, path, true));
      }),
    );
    expect([...describeErrors("the sample", sample, accepts(sample)), ...removed, ...extended]).toEqual([]);
    expect([null, [], [sample], "{}", 1, true].filter((value) => schema.safeParse(value).success)).toEqual([]);
    const tested = groups.flatMap(([, fields]) => Object.keys(fields).map((name) => name.split(".", 1).join()));
    expect(new Set(tested), "every field has a rule").toEqual(new Set(Object.keys(sample)));
  });
}
