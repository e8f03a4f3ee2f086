// A second, hand-written hand at the field rules of section 2: small predicates, independent of src/contract.
import { expect } from "vitest";

export type Rule = (value: unknown) => boolean;

export const text =
  (min: number, max: number): Rule =>
  (value) =>
    typeof value === "string" && [...value].length >= min && [...value].length <= max;

export const like =
  (pattern: RegExp): Rule =>
  (value) =>
    typeof value === "string" && pattern.test(value);

export const whole =
  (min: number, max: number | bigint): Rule =>
  (value) =>
    (typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value))) &&
    value >= min &&
    value <= max;

export const oneOf =
  (...values: readonly (string | boolean | null)[]): Rule =>
  (value) =>
    values.some((one) => one === value);

export const orNull =
  (rule: Rule): Rule =>
  (value) =>
    value === null || rule(value);

export const list =
  (min: number, max: number, rule: Rule): Rule =>
  (value) =>
    Array.isArray(value) && value.length >= min && value.length <= max && value.every(rule);

export const both =
  (first: Rule, second: Rule): Rule =>
  (value) =>
    first(value) && second(value);

export const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isBoolean: Rule = (value) => typeof value === "boolean";
export const isText: Rule = (value) => typeof value === "string";
export const isUnique: Rule = (value) => Array.isArray(value) && new Set(value).size === value.length;

export type Shape = Readonly<Record<string, Rule>>;

/** What of an object breaks its shape: a missing field, one too many, or a value outside its rule. */
export function faults(value: unknown, shape: Shape, optional: Shape = {}): readonly string[] {
  if (!isObject(value)) return [`not an object: ${String(value)}`];
  const fields = new Map<string, unknown>(Object.entries(value));
  const all = { ...shape, ...optional };
  return [
    ...Object.keys(shape).flatMap((name) => (fields.has(name) ? [] : [`${name} is missing`])),
    ...[...fields].flatMap(([name, field]) => {
      const rule = Object.hasOwn(all, name) ? all[name] : undefined;
      if (rule === undefined) return [`${name} is one too many`];
      return rule(field) ? [] : [`${name} is ${JSON.stringify(field, (_, part) => String(part))}`];
    }),
  ];
}

export const object =
  (shape: Shape, optional: Shape = {}): Rule =>
  (value) =>
    faults(value, shape, optional).length === 0;

/** Every one of the values, of which there is at least one, has exactly this shape. */
export function expectAll(values: readonly unknown[], shape: Shape, optional: Shape = {}): void {
  expect(values.length).toBeGreaterThan(0);
  expect(values.flatMap((value) => faults(value, shape, optional))).toEqual([]);
}

const hex = (length: number) => `[0-9a-f]{${length}}`;
export const hex64 = like(new RegExp(`^${hex(64)}$`));
export const prefixed = (prefix: string): Rule => like(new RegExp(`^${prefix}${hex(32)}$`));
export const workspaceStyleId = both(
  like(/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/),
  (value) => !String(value).includes(".."),
);
export const decimalVersion = like(/^(0|[1-9]\d{0,18})$/);
export const amount = both(decimalVersion, (value) => BigInt(String(value)) <= 9223372036854775807n);

const isInstant: Rule = (value) => {
  const instant = String(value);
  const parsed = new Date(instant.replace(/(\.\d{3})\d+/, "$1"));
  return !Number.isNaN(parsed.valueOf()) && parsed.toISOString().slice(0, 19) === instant.slice(0, 19);
};
/** A date-time; the emulator writes all of its in UTC, which makes their validity plain to check. */
export const dateTime = both(text(20, 40), both(like(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/), isInstant));
export const utcInstant = both(like(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/), isInstant);
