// A field of an operation: which rules of docs/contract.md it has, and the values with which a test tries them (operations.ts).
import { isDeepStrictEqual } from "node:util";
import * as rule from "./contract/field-rules.ts";
import type { OperationRow } from "./operations.ts";
import type { RequirementId } from "./requirements.ts";
import { isThorough, runs } from "./support/thorough.ts";

/** A parameter, a header or a body field. */
export interface Field {
  readonly rules: readonly RequirementId[];
  readonly values: rule.FieldRule;
  readonly isOptional?: true;
  /** Nothing else depends on it: a request with any good value succeeds. */
  readonly isFree?: true;
}
export type Fields = Readonly<Record<string, Field>>;

export const of = (rules: RequirementId | readonly RequirementId[], values: rule.FieldRule) => ({
  rules: [rules].flat(),
  values,
});
export const optional = (rules: RequirementId | readonly RequirementId[], values: rule.FieldRule) =>
  ({ ...of(rules, values), isOptional: true }) as const;
export const free = <F extends Field>(one: F) => ({ ...one, isFree: true }) as const;

/** Where a field stands in a request. */
export type Place = "path" | "query" | "header" | "body";
export interface PlacedField extends Field {
  readonly place: Place;
  /** Dotted where it lies deeper. */
  readonly name: string;
}

const placed = (place: Place, fields: Fields = {}): readonly PlacedField[] =>
  Object.entries(fields).map(([name, field]) => ({ ...field, place, name }));

/** Of path, query and body, in this order. */
export const fieldsOf = ({ pathFields, queryFields, bodyFields }: OperationRow): readonly PlacedField[] => [
  ...placed("path", pathFields),
  ...placed("query", queryFields),
  ...placed("body", bodyFields),
];

export type KeyGrammar = "text" | "input" | "processing";

const keyFields: Readonly<Record<KeyGrammar, Field>> = {
  text: free(of(["4.2/job-key-length", "4.2/job-key-characters"], rule.textKey)),
  input: free(of("4.2/input-key", rule.inputKey)),
  processing: free(of("4.2/processing-request-key", rule.processingKey)),
};

export const headersOf = ({ key, ifMatch }: OperationRow): readonly PlacedField[] =>
  placed("header", {
    ...(key && { "Idempotency-Key": keyFields[key] }),
    ...(ifMatch && { "If-Match": of("4.2/if-match-form", rule.eTag) }),
  });

/** A valid value of each field, the deeper ones within theirs: the first that it takes. */
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

/** As many of a field's values are sent; the schemas try all of them. */
const MANY = runs(10, 40);

const typeOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);

const ALIKE = [
  [/[\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/g, " "],
  [/\\u00[0-9a-f]{2}|\\[bfnrt]|[\u007f-\u009f]/g, "\u007f"],
  [/[a-z]/g, "a"],
  [/[A-Z]/g, "A"],
] as const;

/** Letters alike but for their case, control characters alike, and blanks. */
const shapeOf = (value: unknown): string =>
  ALIKE.reduce((json, [kind, one]) => json.replace(kind, one), JSON.stringify(value));

const oneOfEach = (values: readonly unknown[], kind: (value: unknown) => string): readonly unknown[] => [
  ...new Map(values.map((value) => [kind(value), value])).values(),
];

/** Every nth, and the last. */
const spread = (values: readonly unknown[], count: number): readonly unknown[] =>
  values.filter((_, at) => at % Math.ceil(values.length / count) === 0 || at === values.length - 1);

/**
 * What of a rule's values a caller can send. The schemas try each letter of long lists, and several values of each wrong type;
 * here one of each stands for them, since what lies between a caller and the schema does not tell them apart.
 */
function sendable({ accepts }: rule.FieldRule, values: readonly unknown[]): readonly unknown[] {
  const own = new Set(accepts.map(typeOf));
  const json = values.filter(isJson);
  const right = json.filter((value) => own.has(typeOf(value)));
  const wrong = json.filter((value) => !own.has(typeOf(value)));
  const each = right.length <= MANY ? right : oneOfEach(right, shapeOf);
  return [...(isThorough ? each : spread(each, MANY)), ...oneOfEach(wrong, typeOf)];
}

export const goodValues = (values: rule.FieldRule): readonly unknown[] => sendable(values, values.accepts);
export const badValues = (values: rule.FieldRule): readonly unknown[] =>
  sendable(values, [...values.refuses, ...(values.refusesBeyondJsonSchema ?? [])]);
