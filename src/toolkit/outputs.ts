// What agents see of a tool's answer as its output schema, and in types what its `run` returns.
// Schemas are shallow on purpose: answers were already held against the whole contract.
import type { JsonSchema } from "../contract/json-schema.ts";

/** `T`: what stands in the `data` of the tool's result. */
export interface Output<T> {
  readonly schema: JsonSchema;
  /** Never there: it ties the schema to the type of the data. */
  readonly data?: T;
}

const object = { type: "object" } as const;
const text = { type: "string" } as const;
const integer = { type: "integer" } as const;
const boolean = { type: "boolean" } as const;
const list = <const S extends JsonSchema>(items: S) => ({ type: "array", items }) as const;
const objects = list(object);

type FieldSchema<V> = V extends string
  ? typeof text
  : V extends number
    ? typeof integer
    : V extends boolean
      ? typeof boolean
      : V extends readonly (infer E)[]
        ? { readonly type: "array"; readonly items: FieldSchema<E> }
        : typeof object;

/** Fields that are always there, each with the schema of its type. */
type FieldSchemas<T> = { readonly [K in keyof T as undefined extends T[K] ? never : K]?: FieldSchema<T[K]> };

/** No `required`: every agent would pay for it in each session, and no client needs it. test/tools/success.test.ts holds that what is promised is there. */
const shape = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({ type: "object", properties });

/** `schema`'s fields are those of the data itself. */
const whole = <T>(fields: FieldSchemas<T> & Readonly<Record<string, JsonSchema>>): Output<T> => ({
  schema: shape(fields),
});

const envelope = { data: object, meta: object } as const;
const advice = { summary: text, nextStep: object } as const;

export const outputs = {
  /** One resource: how it stands and what to do next. Where nothing is new, no `meta` is given. */
  advised: <T>(): Output<T> => ({ schema: shape({ ...advice, ...envelope }) }),
  /** What an action made. */
  action: <T>(): Output<T> => ({ schema: shape({ ...advice, ...envelope, action: object }) }),
  /** With what was read and the call that reads on. `facts`: what some calls say beside. */
  page: <T>(facts: Readonly<Record<string, JsonSchema>> = {}): Output<readonly T[]> => ({
    schema: shape({ ...advice, ...facts, data: objects, page: object, meta: object }),
  }),
  whole,
  /** The same behind a sentence, with fields that are not always there. */
  answer: <T>(
    fields: FieldSchemas<T> & Readonly<Record<string, JsonSchema>>,
    optional: Readonly<Record<string, JsonSchema>> = {},
  ): Output<T> => ({ schema: shape({ summary: text, ...fields, ...optional }) }),
  text,
  integer,
  boolean,
  object,
  objects,
  texts: list(text),
} as const;
