// Rewrites each accepted form of an argument to its exact form, before arguments are checked and fingerprints are made. The forms are
// those that have one meaning only (docs/interface.md, "Accepted forms"); everything else is left to the check, which refuses it.
import { isLosslessNumber } from "lossless-json";
import * as z from "zod/v4";
import type { Arguments } from "../actions/fingerprint.ts";
import { idKindOf } from "../api-client/id-kinds.ts";
import { isJsonObject, type JsonSchema, schemaOf } from "../contract/json.ts";
import { formatUtc, parseDateTime } from "../contract/scalars.ts";
import { percentDecode } from "../core/percent-decode.ts";
import { join, json, own, quoted, raw, say, type Text } from "../core/text.ts";
import { parseExactJson } from "./exact-json.ts";
import type { ToolResult } from "./results.ts";

/** `notes`: one sentence for each value that means less or more than its exact form shows. They become part of the summary. */
export interface ExactArguments {
  readonly arguments: Arguments;
  readonly notes: readonly Text[];
}

/** One place in the arguments. A list's items have the name of the list. */
interface Field {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly notes: Text[];
}

/** Returns the exact form, or the value itself if the rule does not apply to it. */
type Rule = (value: unknown, field: Field) => unknown;

/** Other names of arguments. A name that is not an argument of the tool stands for the first in its list that is one. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  referenceId: ["assetId"],
  assetId: ["referenceId"],
  fileId: ["referenceId", "assetId"],
  file: ["referenceId", "assetId", "files"],
  fileIds: ["files"],
  referenceIds: ["files"],
  versionId: ["recipeVersionId"],
  recipeVersionId: ["versionId"],
  recipe: ["recipeVersionId", "versionId"],
  parameters: ["parameterValues"],
};

const MAX_URL_LENGTH = 4096;

/** A URI (`mic://jobs/{jobId}`) or a URL at the API, with the collection and the id. */
const RESOURCE = /^(?:mic:\/\/|https?:\/\/[^/?#]+\/(?:[^?#]*\/)?v1\/mic\/)([a-z-]+)\/([^/?#\s]+)(?:\/content)?$/;

const STATE_NAMES: ReadonlySet<string> = new Set(["state", "states"]);

/** A larger value requests as much as possible. Capping any other number would change the request. */
const CAPPED_NAMES: ReadonlySet<string> = new Set(["limit", "perState", "waitSeconds"]);

/** Date-times that the API accepts only in UTC, with at most six fractional digits. */
const UTC_NAMES: ReadonlySet<string> = new Set(["expiresAt"]);

const isIdName = (name: string): boolean => /Ids?$|^(?:port|files|recipeVersionHash)$/.test(name);

/** An id as the API gives them, in any case. Ids of other forms may depend on case. */
const USUAL_ID = /^(?:mic[a-z]+|dev(?:sign)?file)_[0-9a-f]{32}$/i;

/** Trims an id, unless it contains whitespace: such a text is not a copied id. */
const readId: Rule = (value, { name }) => {
  if (typeof value !== "string" || !isIdName(name)) return value;
  const trimmed = value.trim();
  if (!/^\S+$/.test(trimmed)) return value;
  return USUAL_ID.test(trimmed) ? trimmed.toLowerCase() : trimmed;
};

const extractId: Rule = (value, { name }) => {
  const collections = idKindOf(name)?.collections;
  if (typeof value !== "string" || collections === undefined || value.length > MAX_URL_LENGTH) return value;
  const [, collection = "", segment] = RESOURCE.exec(value) ?? [];
  if (segment === undefined || !collections.includes(collection)) return value;
  return percentDecode(segment) ?? value;
};

/** "all", which is the same as no states. */
const isAllStates = (name: string, value: unknown): boolean =>
  STATE_NAMES.has(name) &&
  /^\s*all\s*$/i.test(Array.isArray(value) && value.length === 1 ? String(value[0]) : String(value));

/** Arguments that take an LGD code. */
const PLACE_NAMES: ReadonlySet<string> = new Set([...STATE_NAMES, "name", "names"]);

/** A state's code or name. A number is the LGD code of a state or a district. */
const readPlace: Rule = (value, { name }) => {
  if (!PLACE_NAMES.has(name)) return value;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return String(value);
  if (!STATE_NAMES.has(name)) return value;
  return typeof value === "string" && value.trim() !== "" ? value.trim() : value;
};

/** Words for values of an enum that have one meaning only. */
const ENUM_WORDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  by: {
    ...{ mandals: "mandalCount", tehsils: "mandalCount", taluks: "mandalCount", talukas: "mandalCount" },
    districts: "districtCount",
  },
  order: { ascending: "asc", descending: "desc" },
  retryMode: { resume: "SAFE_RESUME" },
  states: { canceled: "CANCELLED" },
};

/** Accepts any case, and the plural: "districts". */
const foldEnum: Rule = (value, { name, schema, notes }) => {
  if (typeof value !== "string" || !Array.isArray(schema["enum"])) return value;
  const text = value.trim().toLowerCase();
  const isMeant = (option: unknown): boolean =>
    typeof option === "string" && [text, text.replace(/s$/, "")].includes(option.toLowerCase());
  const matches = schema["enum"].filter(isMeant);
  if (matches.length === 1) return matches[0];
  const meaning = new Map(Object.entries(ENUM_WORDS[name] ?? {})).get(text);
  if (meaning === undefined) return value;
  notes.push(say`${name} ${quoted(text)} was read as ${meaning}.`);
  return meaning;
};

const DAY_MS = 86_400_000;
const LOCAL_DATE_TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?$/i;

/** Returns the instant that a date means, in UTC. A filter also accepts a year, "today", "yesterday" and a time without an offset. */
function instantOf(text: string, isFilter: boolean): string | undefined {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return `${text}T00:00:00Z`;
  if (!isFilter) return undefined;
  if (/^\d{4}$/.test(text)) return `${text}-01-01T00:00:00Z`;
  const daysAgo = ["today", "yesterday"].indexOf(text.toLowerCase());
  if (daysAgo >= 0) return `${new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10)}T00:00:00Z`;
  const [, date, time, seconds = ":00"] = LOCAL_DATE_TIME.exec(text) ?? [];
  return date === undefined ? undefined : `${date}T${time}${seconds}Z`;
}

/** Filters by time. */
const TIME_FILTERS: ReadonlySet<string> = new Set(["createdSince", "createdBefore", "updatedSince"]);

/** The year of a date, for a filter by year. */
const readYear: Rule = (value, { name, notes }) => {
  const [, year] =
    typeof value === "string" && TIME_FILTERS.has(name) ? (/^\s*(\d{4})-\d\d(?!\d)/.exec(value) ?? []) : [];
  if (year === undefined) return value;
  notes.push(say`${name} ${quoted(String(value), MAX_NAME)} was read as the year ${year}.`);
  return Number(year);
};

const readDate: Rule = (value, { name, schema, notes }) => {
  if (schema["format"] !== "date-time" || !(typeof value === "string" || typeof value === "number")) return value;
  const text = String(value).trim();
  const micros = parseDateTime(text);
  if (micros !== undefined) return UTC_NAMES.has(name) && !text.endsWith("Z") ? formatUtc(micros) : text;
  const instant = instantOf(text, TIME_FILTERS.has(name));
  if (instant === undefined || parseDateTime(instant) === undefined) return value;
  // A date-time may contain a space.
  notes.push(say`${name} ${raw(text)} was read as ${instant}.`);
  return instant;
};

const readNumber: Rule = (value) => {
  if (typeof value !== "string" || !/^[+-]?\d{1,16}(\.\d{1,16})?$/.test(value.trim())) return value;
  return Number(value);
};

const cap: Rule = (value, { name, schema, notes }) => {
  const { maximum } = schema;
  if (!CAPPED_NAMES.has(name) || typeof maximum !== "number" || !Number.isSafeInteger(value)) return value;
  if (Number(value) <= maximum) return value;
  notes.push(say`${name} ${Number(value)} was lowered to ${maximum}, the maximum.`);
  return maximum;
};

const readBoolean: Rule = (value) => {
  const text = typeof value === "string" ? value.trim().toLowerCase() : "";
  return text === "true" || text === "false" ? text === "true" : value;
};

/** An object as a JSON text. The values of a free-form object stay as they are. */
const readObject: Rule = (value, { schema, notes }) => {
  const object = typeof value === "string" ? parseExactJson(value) : value;
  if (!isJsonObject(object) || isLosslessNumber(object)) return value;
  return isJsonObject(schema["properties"]) ? toExactObject(object, schema, notes) : object;
};

/** The inputs of run_job as ids of files or inputs, or as an object with the id for each port. */
function readPorts(value: unknown, { schema }: Field): unknown {
  const properties = schemaOf(schemaOf(schema["items"])["properties"]);
  if (!Object.hasOwn(properties, "port") || !Object.hasOwn(properties, "referenceId")) return value;
  const ids = Array.isArray(value) ? value : [value];
  if (ids.every((id) => isFileId(id) || isInputId(id)))
    return ids.map((id) => ({ [isInputId(id) ? "inputId" : "referenceId"]: id }));
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value);
  const isPort = ([name, id]: readonly [string, unknown]): boolean =>
    typeof id === "string" && !Object.hasOwn(properties, name) && !Object.hasOwn(ALIASES, name);
  if (entries.length === 0 || !entries.every(isPort)) return value;
  return entries.map(([port, id]) => ({ port, [isInputId(id) ? "inputId" : "referenceId"]: id }));
}

/** A repeated id means one thing: no file runs twice. */
function removeRepeatedIds(items: readonly unknown[], { name, notes }: Field): readonly unknown[] {
  const unique = [...new Set(items)];
  if (!isIdName(name) || unique.length === items.length) return items;
  notes.push(say`${name}: each repeated id counts once.`);
  return unique;
}

/** "FAILED, PAUSED" as a list, if the values are listed. Only the geography can tell "AP, TG" from the name of one state. */
function splitValues(value: unknown, { name, schema, notes }: Field): unknown {
  const [text, ...others] = Array.isArray(value) ? value : [value];
  const isText = typeof text === "string" && others.length === 0 && !text.trimStart().startsWith("[");
  if (!isText || !text.includes(",") || schemaOf(schema["items"])["enum"] === undefined) return value;
  const values = text.split(",").map((each) => each.trim());
  notes.push(say`${name} ${quoted(text, MAX_NAME)} was read as ${json(values)}.`);
  return values;
}

/** A list, a list as a JSON text, or its only item. Other texts are not split: "Lucknow, UP" is one name. */
const readList: Rule = (given, field) => {
  const { name, schema, notes } = field;
  const items = { name, schema: schemaOf(schema["items"]), notes };
  const value = splitValues(readPorts(given, field), field);
  const isJsonText = typeof value === "string" && value.trimStart().startsWith("[");
  const list = isJsonText ? parseExactJson(value) : value;
  if (Array.isArray(list))
    return removeRepeatedIds(
      list.map((item) => toExactValue(item, items)),
      field,
    );
  const item = toExactValue(value, items);
  const isItem = items.schema["type"] === "object" ? isJsonObject(item) : typeof item === items.schema["type"];
  return isItem && !isJsonText ? [item] : value;
};

/** The table of rules, by the type that the listed schema has. Each rule gets the result of the rule before it. */
const RULES: Readonly<Record<string, readonly Rule[]>> = {
  string: [readId, extractId, readPlace, foldEnum, readDate],
  integer: [readNumber, readYear, cap],
  number: [readNumber, cap],
  boolean: [readBoolean],
  array: [readList],
  object: [readObject],
};

const toExactValue = (value: unknown, field: Field): unknown =>
  (RULES[String(field.schema["type"])] ?? []).reduce((exact, rule) => rule(exact, field), value);

const isFileId = (value: unknown): boolean => typeof value === "string" && /^\s*dev(sign)?file_/i.test(value);
const isInputId = (value: unknown): boolean => typeof value === "string" && /^\s*micinput_/i.test(value);

/** run_job: the id of a file as `inputId` is its `referenceId`, because the call registers files. */
function renameFileId(name: string, value: unknown, properties: Arguments): string {
  return name === "inputId" && isFileId(value) && Object.hasOwn(properties, "referenceId") ? "referenceId" : name;
}

/** The name of the argument that the caller meant. */
function exactName(name: string, value: unknown, properties: Arguments): string {
  if (Object.hasOwn(properties, name)) return renameFileId(name, value, properties);
  const aliases = Object.hasOwn(ALIASES, name) ? (ALIASES[name] ?? []) : [];
  return aliases.find((alias) => Object.hasOwn(properties, alias)) ?? name;
}

/** Texts that a client in another language writes for an absent value. */
export const ABSENT_TEXTS: ReadonlySet<unknown> = new Set(["null", "undefined"]);

/** Whether a call may lack the argument. A workspace may be configured, so that the schema requires it only without one. */
export const isOptional = ({ required }: JsonSchema, name: string): boolean =>
  name === "workspaceId" || !Array.isArray(required) || !required.includes(name);

/** Arguments of an action that say nothing about what it does. In any other, an empty value may be an error that changes the action. */
const NOTES: ReadonlySet<string> = new Set(["workspaceId", "alias", "clientReference"]);

/** Proxies and models fill optional arguments that they do not use. Such a value of a read is the same as none. */
function isFiller(name: string, value: unknown, isAction: boolean): boolean {
  if (value === "") return !isAction || NOTES.has(name);
  if (isAction) return false;
  if (value === 0) return name === "limit" || name === "perState";
  return Array.isArray(value) && value.every((item) => item === "" || ABSENT_TEXTS.has(item));
}

/** `acceptsNull`: whether null is a value of this argument. For every other known argument it means "not given", as undefined does. */
function toExactObject(
  given: Arguments,
  schema: JsonSchema,
  notes: Text[],
  acceptsNull: (name: string) => boolean = () => false,
): Arguments {
  const properties = schemaOf(schema["properties"]);
  const { required: requiredNames } = schema;
  const isOptional = (name: string): boolean => !Array.isArray(requiredNames) || !requiredNames.includes(name);
  const isGiven = ([name, value]: readonly [string, unknown]): boolean =>
    !(isAllStates(name, value) && isOptional(name)) &&
    ((value !== undefined && (value !== null || acceptsNull(name))) ||
      !Object.hasOwn(properties, exactName(name, value, properties)));
  const entries = Object.entries(given).filter(isGiven);
  const names = new Set(entries.map(([name]) => name));
  const exact = Object.fromEntries(
    entries.map(([name, value]) => {
      const meant = exactName(name, value, properties);
      // Two values for one argument contradict each other: the check refuses the other name.
      const known = names.has(meant) ? name : meant;
      names.add(known);
      const listed = Object.hasOwn(properties, known) ? schemaOf(properties[known]) : {};
      return [known, toExactValue(value, { name: known, schema: listed, notes })];
    }),
  );
  // A file can be registered as one kind of input only.
  const { required } = schema;
  const needsKind = Array.isArray(required) && required.includes("inputKind") && !names.has("inputKind");
  return needsKind && isFileId(exact["referenceId"]) ? { ...exact, inputKind: "M4_FILE" } : exact;
}

/** How callers write the name of a place, in `name` or `names`. */
const PLACE = ["name", "names"];

/** A value goes to the first listed argument that is not given and accepts it. No name has another meaning in its tool. */
const NEAR_MISSES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  find_district: {
    ...{ query: PLACE, queries: PLACE, district: PLACE, districtName: PLACE, place: PLACE },
    ...{ code: PLACE, lgdCode: PLACE, districtCode: PLACE, stateCode: ["state"], stateName: ["state"] },
  },
  list_actions: { status: ["state"] },
  list_districts: { stateCode: ["state"], stateName: ["state"] },
  list_jobs: {
    ...{ status: ["states"], recipe: ["recipeVersionId"], recipeId: ["recipeVersionId"] },
    ...{ since: ["createdSince"], createdAfter: ["createdSince"], before: ["createdBefore"] },
    ...{ updatedAfter: ["updatedSince"], endedSince: ["updatedSince"], finishedSince: ["updatedSince"] },
  },
  rank_divisions: { stateCode: ["states"], stateName: ["states"], since: ["createdSince"], prefix: ["startsWith"] },
  show_actions: { status: ["state"] },
  show_divisions: { stateCode: ["states"], stateName: ["states"] },
};

/** The same for `created_since`, `createdSince` and the plural. */
const foldName = (name: string): string => name.toLowerCase().replaceAll(/[_-]|s$/g, "");

/**
 * The arguments of the tool that an unknown name may mean: those with the same letters (`created_since`, `jobId` for `jobIds`), those of the
 * table, or its only id.
 */
export function nearMissTargets(tool: string, name: string, known: readonly string[]): readonly string[] {
  if (known.includes(name)) return [];
  const folded = foldName(name);
  const own = known.filter((each) => foldName(each) === folded);
  if (own.length > 0) return own;
  const ids = known.filter((each) => idKindOf(each) !== undefined);
  if (folded === "id") return ids.length === 1 ? ids : [];
  const table = Object.entries((Object.hasOwn(NEAR_MISSES, tool) ? NEAR_MISSES[tool] : undefined) ?? {});
  return table.find(([nearMiss]) => foldName(nearMiss) === folded)?.[1] ?? [];
}

/** A single value as the list of one, for an argument that is not a list. */
const unwrap = (value: unknown, { type }: JsonSchema): unknown =>
  Array.isArray(value) && value.length === 1 && type !== "array" ? value[0] : value;

/** Puts each value under the argument that its name means. A name stays, and the check refuses it, if all arguments that it could mean are given. */
function readNearMisses(
  tool: string,
  { shape }: z.ZodObject,
  properties: JsonSchema,
  given: Arguments,
  notes: Text[],
): Arguments {
  if (Object.keys(given).every((name) => Object.hasOwn(shape, name))) return given;
  const isAbsent = (value: unknown): boolean => value === null || value === undefined;
  const taken = new Set(Object.keys(given).filter((name) => !isAbsent(given[name])));
  const entries = Object.entries(given).flatMap(([name, value]): readonly (readonly [string, unknown])[] => {
    const exact = (target: string): unknown => unwrap(value, schemaOf(properties[target]));
    const accepts = (target: string): boolean => {
      const field = { name: target, schema: schemaOf(properties[target]), notes: [] };
      return z.safeParse(shape[target] ?? z.never(), toExactValue(exact(target), field)).success;
    };
    const targets = nearMissTargets(tool, name, Object.keys(shape));
    if (targets.length > 0 && isAbsent(value)) return [];
    const free = targets.filter((each) => !taken.has(each));
    const target = free.find(accepts) ?? free[0];
    if (target === undefined) return [[name, value]];
    taken.add(target);
    notes.push(say`${quoted(name, MAX_NAME)} was read as ${quoted(target)}.`);
    return [[target, exact(target)]];
  });
  return Object.fromEntries(entries);
}

/**
 * Arguments that hosts add to calls: `wait_for_previous` by Gemini CLI and Qwen Code, `toolCallId` and `tool` by n8n
 * (https://github.com/n8n-io/n8n/issues/21500). No tool may have an argument with one of these names.
 */
const HOST_ARGUMENTS: ReadonlySet<string> = new Set(["wait_for_previous", "toolCallId", "tool"]);

const MAX_IGNORED = 5;
const MAX_NAME = 100;

function ignoredText(unknown: readonly string[]): Text {
  const names = unknown.slice(0, MAX_IGNORED).map((name) => quoted(name, MAX_NAME));
  const more = unknown.length > names.length && say` and ${unknown.length - names.length} more`;
  const nouns = own(unknown.length === 1 ? "argument" : "arguments");
  return say`Ignored unknown ${nouns} ${join(names, ", ")}${more}: the tool takes no arguments.`;
}

/**
 * Returns the arguments of a tool in their exact form. `listed`: the schema of `input` as tools/list shows it. Wrong values and unknown
 * arguments stay as they are: the check refuses them. A tool without arguments ignores all of them, because hosts add one to such a tool.
 */
export function toExactArguments(
  tool: { readonly name: string; readonly effect: string },
  input: z.ZodObject,
  listed: JsonSchema,
  given: Arguments,
): ExactArguments {
  const acceptsNull = (name: string): boolean => {
    const field = Object.hasOwn(input.shape, name) ? input.shape[name] : undefined;
    return field !== undefined && z.safeParse(field, null).success;
  };
  const isAction = !["read", "save"].includes(tool.effect);
  const notes: Text[] = [];
  const givenOrAbsent = ([name, value]: readonly [string, unknown]): readonly [string, unknown] => {
    if (!isOptional(listed, name) || !isFiller(name, value, isAction)) return [name, value];
    if (value === 0) notes.push(say`${name} 0 was read as not given.`);
    return [name, undefined];
  };
  const own = Object.fromEntries(
    Object.entries(given)
      .filter(([name]) => !HOST_ARGUMENTS.has(name))
      .map(givenOrAbsent),
  );
  if (Object.keys(input.shape).length === 0) {
    const unknown = Object.keys(own);
    return { arguments: {}, notes: unknown.length === 0 ? [] : [ignoredText(unknown)] };
  }
  const named =
    tool.effect === "read" ? readNearMisses(tool.name, input, schemaOf(listed["properties"]), own, notes) : own;
  return { arguments: toExactObject(named, listed, notes, acceptsNull), notes };
}

/** Returns the result with the notes at the start of its summary and its text. */
export function withNotes<T>(result: ToolResult<T>, notes: readonly Text[]): ToolResult<T> {
  if (notes.length === 0) return result;
  return { ...result, summary: join([...notes, result.summary]) };
}
