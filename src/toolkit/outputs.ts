// This module builds the output schemas of tools, together with the types of the data that `run` returns. Clients of SDK v1 compile each
// schema when they list the tools, which takes 2 to 3 ms. So the schemas are shallow, since responses were already checked against the full
// contract. They have no `required`: every agent would pay tokens for it in each session, and no client needs it.
import type { JsonSchema } from "../contract/json.ts";
import type { Output } from "./define-tool.ts";

const object = { type: "object" } as const;
const text = { type: "string" } as const;
const integer = { type: "integer" } as const;
const boolean = { type: "boolean" } as const;
const list = { type: "array" } as const;

type Fields = Readonly<Record<string, JsonSchema>>;

const shape = <T>(properties: Fields): Output<T> => ({ schema: { type: "object", properties } });

/** For tools whose schema would only say that there is a summary and an object. */
const unlisted = <T>(): Output<T> => ({ schema: undefined });

export const outputs = {
  /** One resource, with its state and the next step; after an action, also the action. */
  resource: unlisted,
  /** One page of a list, and the call that reads the next page. `facts`: fields that some calls add. */
  page: <T>(facts: Fields = {}) =>
    shape<readonly T[]>({ summary: text, nextStep: object, ...facts, data: list, page: object }),
  /** The fields of the data at the top level, after the summary. `optional`: fields that are not always present. */
  answer: <T>(fields: Fields, optional: Fields = {}) => shape<T>({ summary: text, ...fields, ...optional }),
  /** A list of the playground API, whose rows are shown by their codes. `T`: the API's response. */
  catalog: <T>(fields: Fields) => shape<T>({ summary: text, ...fields, vintage: text }),
  /** The summary of a view, for the agent. Only the view receives the data. */
  view: unlisted,
  text,
  integer,
  boolean,
  object,
  list,
} as const;
