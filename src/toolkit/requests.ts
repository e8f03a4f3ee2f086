// From a tool's flat arguments back to the endpoint's request: path, query, body, Idempotency-Key.
import * as z from "zod/v4";
import { keySchemas } from "../actions/keys.ts";
import type { CallRequest } from "../api-client/encode.ts";
import type { Endpoint, KeyGrammar } from "../contract/endpoints/endpoint.ts";
import { isJsonObject, type Json, type JsonObject, jsonObject } from "../contract/json.ts";

type Args = Readonly<Record<string, unknown>>;

const isText = (value: unknown): value is string => typeof value === "string";
const isTextOrNumber = (value: unknown): value is string | number => isText(value) || typeof value === "number";
// Arguments come out of JSON and a strict schema.
const isJson = (value: unknown): value is Json => value !== undefined && typeof value !== "function";

function pick<T>(args: Args, names: readonly string[], fits: (value: unknown) => value is T): Record<string, T> {
  const picked: Record<string, T> = {};
  for (const name of names) {
    const value = args[name];
    if (fits(value)) picked[name] = value;
  }
  return picked;
}

export function requestOf(endpoint: Endpoint, args: Args): CallRequest {
  const body: JsonObject | undefined = endpoint.body && pick(args, Object.keys(endpoint.body.shape), isJson);
  return {
    path: pick(args, Object.keys(endpoint.pathParameters.shape), isText),
    query: pick(args, Object.keys(endpoint.query.shape), isTextOrNumber),
    ...(body && { body }),
  };
}

/** A text whose grammar is held to, not listed: what is copied from a result or said by another tool need not be said again. */
export const heldTo = (schema: z.ZodType<string | null | undefined>) =>
  z.string().superRefine((value, { addIssue }) => {
    for (const { message } of schema.safeParse(value).error?.issues ?? []) addIssue({ code: "custom", message });
  });

const KEY_LENGTHS: Readonly<Record<KeyGrammar, string>> = {
  text: "8 to 160",
  input: "1 to 128",
  processing: "8 to 128",
};

/** The `idempotencyKey` argument of an action (docs/interface.md, "Tools"). Its grammar is checked, but not listed as a pattern. */
export const keyArgument = (grammar: KeyGrammar) => ({
  idempotencyKey: heldTo(keySchemas[grammar])
    .describe(
      "Leave out. To run an identical call again, pass a new key; to ask about an earlier action, pass its key. " +
        `${KEY_LENGTHS[grammar]} characters.`,
    )
    .optional(),
});

function objectWithin(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    const held: unknown = JSON.parse(value);
    return isJsonObject(held) ? held : value;
  } catch {
    return value;
  }
}

/** A free-form object. Some models send it as a string of JSON: that is read as the object that it holds. Listed as an object alone. */
export const objectArgument = z.preprocess(objectWithin, jsonObject);
