// What agents see of a tool's answer as its output schema, and in types what its `run` returns.
// Schemas are shallow on purpose: answers were already checked against the whole contract. They have no `required`: every agent would
// pay for it in each session, and no client needs it. test/tools/success.test.ts checks that what is promised is there.
import type { JsonSchema } from "../contract/json-schema.ts";
import type { Output } from "./define-tool.ts";

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

type Fields = Readonly<Record<string, JsonSchema>>;

/** Fields that are always there, each with the schema of its type. */
type FieldSchemas<T> = { readonly [K in keyof T as undefined extends T[K] ? never : K]?: FieldSchema<T[K]> } & Fields;

const advised = { summary: text, nextStep: object } as const;
const envelope = { data: object, meta: object } as const;

const shape = <T>(properties: Fields): Output<T> => ({ schema: { type: "object", properties } });

export const outputs = {
  /** One resource: its state and what to do next. A wait that found nothing new has no `meta`. */
  advised: <T>() => shape<T>({ ...advised, ...envelope }),
  /** What an action made. */
  action: <T>() => shape<T>({ ...advised, ...envelope, action: object }),
  /** With what was read and the call that reads on. `facts`: what some calls add. */
  page: <T>(facts: Fields = {}) =>
    shape<readonly T[]>({ ...advised, ...facts, data: objects, page: object, meta: object }),
  /** Fields of the data themselves, after the summary; `optional`: fields that are not always there. */
  answer: <T>(fields: FieldSchemas<T>, optional: Fields = {}) => shape<T>({ summary: text, ...fields, ...optional }),
  text,
  integer,
  boolean,
  object,
  objects,
  texts: list(text),
} as const;
