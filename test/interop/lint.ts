// Holds listed tools against a dialect: what an API would refuse, as `tool/argument: problem`.
import { isJsonObject } from "../../src/contract/json.ts";
import type { ListedTool } from "../support/mcp.ts";
import type { Dialect } from "./dialects.ts";

type Schema = Readonly<Record<string, unknown>>;

interface Place {
  readonly path: string;
  readonly depth: number;
  readonly schema: Schema;
}

const objectOf = (value: unknown): Schema => (isJsonObject(value) ? value : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The schema and every one within it. A boolean one is told of as a schema without anything. */
function places(schema: Schema, path: string, depth: number): readonly Place[] {
  const within = Object.entries(objectOf(schema["properties"])).flatMap(([name, each]) =>
    places(objectOf(each), `${path}/${name}`, depth + 1),
  );
  const items = "items" in schema ? places(objectOf(schema["items"]), `${path}/[]`, depth) : [];
  const open = schema["additionalProperties"];
  const others = isJsonObject(open) && Object.keys(open).length > 0 ? places(open, `${path}/*`, depth + 1) : [];
  const combined = ["anyOf", "oneOf", "allOf"].flatMap((keyword) =>
    listOf(schema[keyword]).flatMap((each) => places(objectOf(each), `${path}/${keyword}`, depth)),
  );
  return [{ path, depth, schema }, ...within, ...items, ...others, ...combined];
}

function* schemaProblems({ path, schema }: Place, isRoot: boolean, dialect: Dialect): Generator<string> {
  const { keywords, notAtRoot, types, formats, textEnums, strict, argumentName } = dialect;
  const at = (problem: string) => `${path}: ${problem}`;
  const { type, format, properties, required, additionalProperties } = schema;
  for (const keyword of Object.keys(schema)) {
    if (!keywords.has(keyword)) yield at(`${keyword} is not known`);
    if (isRoot && notAtRoot.has(keyword)) yield at(`${keyword} stands at the top`);
  }
  if (typeof type !== "string" || !types.has(type)) yield at(`type ${JSON.stringify(type)} is none`);
  if (isRoot && type !== "object") yield at("is no object");
  if (format !== undefined && (typeof format !== "string" || !formats.has(format)))
    yield at(`format ${format} is none`);
  if (type === "array" && !isJsonObject(schema["items"])) yield at("has no schema for its items");
  if (textEnums && listOf(schema["enum"]).some((value) => typeof value !== "string")) yield at("its enum has no texts");
  const names = Object.keys(objectOf(properties));
  for (const name of names) if (!argumentName.test(name)) yield at(`${name} is no name for an argument`);
  for (const name of listOf(required))
    if (typeof name !== "string" || !names.includes(name)) yield at(`${name} is required and not there`);
  if (strict && type === "object" && additionalProperties !== false) yield at("is open to any field");
}

export function problemsOf(tool: ListedTool, dialect: Dialect): readonly string[] {
  const all = places(tool.inputSchema, tool.name, 1);
  const enums = all.flatMap(({ schema }) => listOf(schema["enum"]));
  const names = all.flatMap(({ schema }) => Object.keys(objectOf(schema["properties"])));
  const letters = [...names, ...enums].reduce<number>((sum, text) => sum + String(text).length, 0);
  const limits: readonly (readonly [boolean, string])[] = [
    [dialect.toolName.test(tool.name), "is no name for a tool"],
    [(tool.description ?? "").length > 0, "has no description"],
    [(tool.description ?? "").length <= dialect.maxDescription, "its description is too long"],
    [Math.max(...all.map(({ depth }) => depth)) <= dialect.maxDepth, "is nested too deeply"],
    [names.length <= dialect.maxProperties, "has too many properties"],
    [enums.length <= dialect.maxEnumValues, "has too many values in its enums"],
    [letters <= dialect.maxNamesAndValues, "its names and values are too long"],
  ];
  return [
    ...limits.flatMap(([ok, problem]) => (ok ? [] : [`${tool.name}: ${problem}`])),
    ...all.flatMap((place) => [...schemaProblems(place, place === all[0], dialect)]),
  ];
}
