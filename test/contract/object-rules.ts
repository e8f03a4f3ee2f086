// Tests an object's schema and its JSON Schema against literal rules of its fields, with one change to a valid sample at a time.
import { isDeepStrictEqual } from "node:util";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, type TestFunction, test } from "vitest";
import type * as z from "zod/v4";
import { toJsonSchema } from "../../src/contract/json.ts";
import type { FieldRule } from "./field-rules.ts";
import { isDateTime, isUri } from "./naive-grammars.ts";

type Path = readonly string[];
type Fields = Readonly<Record<string, unknown>>;
type Rules = Readonly<Record<string, FieldRule>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** Returns `root` with the value at `path` changed. */
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
function objectsIn(value: unknown, freeForm: readonly string[], path: Path = []): [Path, Fields][] {
  if (isList(value)) return value.flatMap((item, index) => objectsIn(item, freeForm, [...path, String(index)]));
  if (!isObject(value) || freeForm.includes(path.at(-1) ?? "")) return [];
  const below = Object.entries(value).flatMap(([key, part]) => objectsIn(part, freeForm, [...path, key]));
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

export const ajv = new Ajv2020({ strict: true, formats: { "date-time": isDateTime, uri: isUri, int64: true } });

/** Returns the errors in a schema's decision on a value, or an empty list if it is right. */
export function createSchemaCheck(schema: z.ZodType) {
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

/** Creates a test that a schema accepts and refuses exactly the values of a rule. */
export function createRuleTest(schema: z.ZodType, rule: FieldRule): TestFunction {
  const { accepts, refuses } = createSchemaCheck(schema);
  return () => {
    expect([
      ...rule.accepts.flatMap((value) => describeErrors("", value, accepts(value))),
      ...rule.refuses.flatMap((value) => describeErrors("", value, refuses(value, [], true))),
      ...(rule.refusesBeyondJsonSchema ?? []).flatMap((value) => describeErrors("", value, refuses(value, [], false))),
    ]).toEqual([]);
  };
}

const toDottedPath = (path: Path): string => path.map((key) => (/^\d+$/.test(key) ? "*" : key)).join(".");

export interface ObjectOptions {
  /** Optional fields, dotted, `*` for any item. All other fields are required. */
  readonly optional?: readonly string[];
  /** Names of fields that contain free-form objects. */
  readonly freeForm?: readonly string[];
  /** Other tests have the rules of its other fields. */
  readonly isInPart?: boolean;
}

/** Creates the tests of one object. `sample` is valid and has all its optional fields. */
export function createObjectTests(
  schema: z.ZodType,
  sample: Fields,
  { optional = [], freeForm = [], isInPart = false }: ObjectOptions = {},
) {
  const { accepts, refuses } = createSchemaCheck(schema);
  const tested = new Set<string>();

  function checkField(name: string, rule: FieldRule): readonly string[] {
    const path = name.split(".");
    const sampleWith = (value: unknown) => changeAt(sample, path, () => value);
    const refusal = (byJsonSchema: boolean) => (value: unknown) =>
      describeErrors(name, value, refuses(sampleWith(value), path, byJsonSchema));
    return [
      ...rule.accepts.flatMap((value) => describeErrors(name, value, accepts(sampleWith(value)))),
      ...rule.refuses.flatMap(refusal(true)),
      ...(rule.refusesBeyondJsonSchema ?? []).flatMap(refusal(false)),
    ];
  }

  /** Tests the fields (dotted if nested) against their rules. */
  function createFieldsTest(rules: Rules): TestFunction {
    // Registered with the first rules; runs when all rules are registered.
    if (tested.size === 0 && !isInPart)
      test("every field has a rule", () => expect([...tested].sort()).toEqual(Object.keys(sample).sort()));
    for (const name of Object.keys(rules)) tested.add(name.split(".", 1).join());
    return () => expect(Object.entries(rules).flatMap(([name, rule]) => checkField(name, rule))).toEqual([]);
  }

  /** Tests every level: required fields are required, optional fields are optional, and no others are allowed. */
  function expectExactFields(): void {
    const levels = objectsIn(sample, freeForm);
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
  }

  /**
   * Creates a test. With field rules, it tests the fields; their names precede a title that consists only of the cited contract
   * rules. With only a title, it tests that the object has exactly its fields. Once fields have rules, every field must have one.
   */
  return (title: string, rulesOrTest: Rules | TestFunction = expectExactFields): void => {
    if (typeof rulesOrTest === "function") test(title, rulesOrTest);
    else test(title.replace(/^(?=\[)/, `${Object.keys(rulesOrTest).join(", ")} `), createFieldsTest(rulesOrTest));
  };
}
