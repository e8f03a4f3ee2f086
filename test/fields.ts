// Describes a field of an operation (operations.ts): the rules of docs/contract.md that apply, and values to try.
import { isDeepStrictEqual } from "node:util";
import * as rule from "./contract/field-rules.ts";
import type { OperationRow } from "./operations.ts";
import { isThorough, runCount } from "./support/thorough.ts";

/** A parameter, a header or a body field. */
export interface Field {
  readonly rules: readonly string[];
  readonly values: rule.FieldRule;
  readonly isOptional?: true;
  /** No other field depends on it: a request with any valid value succeeds. */
  readonly isIndependent?: true;
}
export type Fields = Readonly<Record<string, Field>>;

export const requiredField = (rules: string | readonly string[], values: rule.FieldRule) => ({
  rules: [rules].flat(),
  values,
});
export const optionalField = (rules: string | readonly string[], values: rule.FieldRule) =>
  ({ ...requiredField(rules, values), isOptional: true }) as const;
export const independentField = <F extends Field>(one: F) => ({ ...one, isIndependent: true }) as const;

/** Part of a request that contains a field. */
export type FieldLocation = "path" | "query" | "header" | "body";
export interface LocatedField extends Field {
  readonly location: FieldLocation;
  /** Dotted path if the field is nested. */
  readonly name: string;
}

const locateFields = (location: FieldLocation, fields: Fields = {}): readonly LocatedField[] =>
  Object.entries(fields).map(([name, field]) => ({ ...field, location, name }));

export const fieldsOf = ({ pathFields, queryFields, bodyFields }: OperationRow): readonly LocatedField[] => [
  ...locateFields("path", pathFields),
  ...locateFields("query", queryFields),
  ...locateFields("body", bodyFields),
];

export type KeyGrammar = "text" | "input" | "processing";

const keyFields: Readonly<Record<KeyGrammar, Field>> = {
  text: independentField(requiredField(["4.2/job-key-length", "4.2/job-key-characters"], rule.textKey)),
  input: independentField(requiredField("4.2/input-key", rule.inputKey)),
  processing: independentField(requiredField("4.2/processing-request-key", rule.processingKey)),
};

export const headersOf = ({ key, ifMatch }: OperationRow): readonly LocatedField[] =>
  locateFields("header", {
    ...(key && { "Idempotency-Key": keyFields[key] }),
    ...(ifMatch && { "If-Match": requiredField("4.2/if-match-form", rule.eTag) }),
  });

/** Builds a valid request part: each field has its first accepted value, which includes values for nested fields. */
export const sampleOf = (fields: Fields = {}): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, { values }]) => (name.includes(".") ? [] : [[name, values.accepts[0]]])),
  );

function isJson(value: unknown): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value);
  } catch {
    return false;
  }
}

/** Maximum number of values of one kind that are sent per field. The schema tests try all of them. */
const MAX_SENT_VALUES = runCount(10, 40);

const typeOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);

const CHARACTER_CLASSES = [
  [/[\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/g, " "],
  [/\\u00[0-9a-f]{2}|\\[bfnrt]|[\u007f-\u009f]/g, "\u007f"],
  [/[a-z]/g, "a"],
  [/[A-Z]/g, "A"],
] as const;

/** Maps values that differ only in letters of the same case, in control characters or in blanks to the same shape. */
const shapeOf = (value: unknown): string =>
  CHARACTER_CLASSES.reduce((json, [kind, one]) => json.replace(kind, one), JSON.stringify(value));

const pickOneOfEach = (values: readonly unknown[], kind: (value: unknown) => string): readonly unknown[] => [
  ...new Map(values.map((value) => [kind(value), value])).values(),
];

/** Every nth value, and the last. */
const sampleEvenly = (values: readonly unknown[], count: number): readonly unknown[] =>
  values.filter((_, at) => at % Math.ceil(values.length / count) === 0 || at === values.length - 1);

/**
 * Selects the values of a rule that a caller can send. The schema tests try each letter of long lists and several values of each
 * wrong type. Here one value of each shape or type represents them, because the layers between a caller and the schema do not
 * distinguish them.
 */
function selectSendable({ accepts }: rule.FieldRule, values: readonly unknown[]): readonly unknown[] {
  const own = new Set(accepts.map(typeOf));
  const json = values.filter(isJson);
  const right = json.filter((value) => own.has(typeOf(value)));
  const wrong = json.filter((value) => !own.has(typeOf(value)));
  const each = right.length <= MAX_SENT_VALUES ? right : pickOneOfEach(right, shapeOf);
  return [...(isThorough ? each : sampleEvenly(each, MAX_SENT_VALUES)), ...pickOneOfEach(wrong, typeOf)];
}

export const goodValues = (values: rule.FieldRule): readonly unknown[] => selectSendable(values, values.accepts);
export const badValues = (values: rule.FieldRule): readonly unknown[] =>
  selectSendable(values, [...values.refuses, ...(values.refusesBeyondJsonSchema ?? [])]);
