// Finds the grammar of a schema: the words for it in docs/contract.md, and values at its bounds. Grammars with a name are written by hand, once
// each. Those with only bounds, values or a prefix are derived from the JSON Schema. fields.test.ts puts the values into each field.
import * as z from "zod/v4";
import { CreateInput, CreateJob, Port } from "../../src/contract/endpoints/bodies.ts";
import { stateCode } from "../../src/contract/endpoints/playground.ts";
import { recipeCursor } from "../../src/contract/envelope.ts";
import { JobETag } from "../../src/contract/jobs.ts";
import { jsonObject, toJsonSchema } from "../../src/contract/json.ts";
import { CatalogMetadata, State } from "../../src/contract/playground.ts";
import { ProcessingRequest } from "../../src/contract/processing-requests.ts";
import { RecipeDefinition, RecipeParameters } from "../../src/contract/recipes.ts";
import * as scalars from "../../src/contract/scalars.ts";
import { UsageBucket } from "../../src/contract/usage.ts";
import { words } from "../support/words.ts";

type JsonType = "null" | "boolean" | "number" | "string" | "array" | "object";

export interface Grammar {
  /** Matches the rule of a field with this grammar in docs/contract.md. */
  readonly rule: RegExp;
  readonly accepts: readonly unknown[];
  /** Refused by the schema and by its JSON Schema. */
  readonly refuses: readonly unknown[];
  /** Refused by the schema, although the JSON Schema does not express the rule. */
  readonly refusesBeyondJsonSchema: readonly unknown[];
}

const grammar = (
  rule: RegExp,
  accepts: readonly unknown[],
  refuses: readonly unknown[],
  refusesBeyondJsonSchema: readonly unknown[] = [],
): Grammar => ({ rule, accepts, refuses, refusesBeyondJsonSchema });

const valuesByType: Readonly<Record<JsonType, readonly unknown[]>> = {
  null: [null],
  boolean: [true, false],
  number: [0, 1, 400, 1.5],
  string: ["", "0", "1", "true", "null", "text"],
  array: [[], ["text"], [1], [[]]],
  object: [{}, { text: "text" }],
};

/** Values of every JSON type except one: no type is coerced to another. */
const otherTypes = (own: JsonType): readonly unknown[] =>
  Object.entries(valuesByType).flatMap(([type, values]) => (type === own ? [] : values));

/** A text form: other types are refused, too. */
const form = (rule: RegExp, accepts: readonly string[], refuses: readonly string[], beyond: readonly string[] = []) =>
  grammar(rule, accepts, ["", ...refuses, ...otherTypes("string")], beyond);

/** Every letter and digit. */
const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

/** Matches a range of numbers or lengths, such as `1-128`, `1 to 128` or `at most 128`. */
const range = (min: number, max: number): string =>
  `(?<![\\d-])(?:${min}(?:-| to )${min === 0 ? `|at most ` : ""})${max}(?!\\d)`;

const oneOf = (...values: readonly string[]): Grammar =>
  form(
    new RegExp(`(?<!, |\\w)${values.map(escaped).join("(?:, | or )")}(?!\\w|, [A-Z]| or )`),
    values,
    values
      .flatMap((value) => [value.toLowerCase(), value.toUpperCase(), ` ${value}`, `${value}\n`, `${value}X`])
      .filter((value) => !values.includes(value))
      .concat("UNKNOWN"),
  );

const x = (length: number): string => "x".repeat(length);
const emoji = (length: number): string => "😀".repeat(length);

/** `min`-`max` characters, counted in code points. Any characters are allowed, including lone surrogates and control characters. */
const text = (min: number, max: number): Grammar =>
  grammar(
    new RegExp(`${range(min, max)} characters(?!.*(control|UTF-16|letter))`),
    [x(min), x(min + 1), x(max - 1), x(max), emoji(max), "\ud800".repeat(max), "\u0000", "\u009f", " ", ".."],
    [...(min > 0 ? [x(min - 1)] : []), x(max + 1), `${emoji(max)}x`, ...otherTypes("string")],
  );

/** scalars.test.ts tries all control characters and blanks. */
const unreadable = [
  "some \u0000 text",
  "\u001fsome text",
  "some text\u007f",
  "some \u009f text",
  x(8).replaceAll("x", "\u2003"),
];

/** No control characters, not blank, `min`-`max` UTF-16 units: 80 emoji are 160 of them. `max` is even. */
const writtenText = (min: number, max: number): Grammar =>
  form(
    new RegExp(`${range(min, max)}.* UTF-16 units, no control characters, not blank`),
    [x(min), x(max - 1), x(max), emoji(Math.ceil(min / 2)), emoji(max / 2), " some text ", "\ud800 lone half"],
    [x(max + 1)],
    [x(min - 1), ...[Math.ceil(min / 2) - 1, max / 2 + 1, max].map(emoji), `${emoji(max / 2)}x`, ...unreadable],
  );

/** No control characters, not blank, valid Unicode, 1-`max` characters: an emoji counts as one. */
const unicodeText = (max: number): Grammar =>
  form(
    new RegExp(`${range(1, max)} characters, no control characters, not blank, valid Unicode`),
    ["x", x(max - 1), x(max), emoji(max), " some text ", "\ud83d\ude00"],
    [x(max + 1), `${emoji(max)}x`],
    ["\ud800", "text \udc00", "text \ude00\ud83d", "\ud83d text", ...unreadable],
  );

/** Text with bounds: the three kinds have equal JSON Schemas. */
function boundedText(schema: z.ZodType, min: number, max: number): Grammar {
  if (schema.safeParse("\u0000".repeat(max)).success) return text(min, max);
  return schema.safeParse("x\ud800").success ? writtenText(min, max) : unicodeText(max);
}

function hex(prefix: string, count: number, rule: string): Grammar {
  const digits = (length: number) => "0123456789abcdef".repeat(8).slice(0, length);
  const [less, right, more] = [digits(count - 1), digits(count), digits(count + 1)];
  const otherPrefixes = ["", prefix.toUpperCase(), prefix.slice(0, -1), `x${prefix}`, "micother_"];
  return form(
    new RegExp(rule),
    [right, "0".repeat(count), "f".repeat(count)].map((one) => prefix + one),
    [
      ...[less, more, right.toUpperCase(), `g${less}`, `${right}\n`].map((one) => prefix + one),
      ` ${prefix}${right}`,
      ...(prefix === "" ? [] : otherPrefixes.map((other) => other + right)),
    ],
  );
}

const notDateTimes = [
  ...["2026-11-20 10:00:00Z", " 2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z\n", "Fri, 20 Nov 2026 10:00:00 GMT"],
  ...words(`
    2026-11-20 10:00:00Z 2026-11-20T10:00:00 2026-11-20T10:00Z 2026-11-20T10:00:00.Z 2026-11-20T10:00:00,5Z
    2026-13-01T10:00:00Z 2026-00-01T10:00:00Z 2026-01-00T10:00:00Z 2026-01-32T10:00:00Z 2026-04-31T10:00:00Z
    2026-02-29T10:00:00Z 2028-02-30T10:00:00Z 2026-11-20T24:00:00Z 2026-11-20T25:00:00Z 2026-11-20T10:60:00Z
    2026-11-20T10:00:60Z 2026-12-31T23:58:60Z 2026-12-31T23:59:61Z 26-11-20T10:00:00Z 2026-1-20T10:00:00Z
    +002026-11-20T10:00:00Z ２０２６-11-20T10:00:00Z 2026-11-20T10:00:00ZZ`),
];

const integer = (min: number, max: number): Grammar =>
  grammar(
    new RegExp(range(min, max)),
    [min, min + 1, max - 1, max],
    [min - 1, -1, max + 1, min + 0.5, NaN, Infinity, ...otherTypes("number")],
    [BigInt(min), BigInt(min + 1)],
  );

const notDecimal = [" 1", "1 ", "1\n", ...words("00 01 -1 +1 -0 1.0 1e3 0x1 1_000 1,000 ١ 10000000000000000000")];

/** An array of `min`-`max` items; the items made by `item` differ if they must. */
function list(min: number, max: number, item: (index: number) => unknown): Grammar {
  const items = (length: number) => Array.from({ length }, (_, index) => item(index));
  return grammar(
    new RegExp(range(min, max)),
    [items(min), items(min + 1), items(max - 1), items(max)],
    [...(min > 0 ? [items(min - 1)] : []), items(max + 1), [item(0), null], { 0: item(0) }, ...otherTypes("array")],
  );
}

/** A key of any name survives, even `__proto__`. */
const freeForm: Grammar = grammar(
  /\bobject\b/,
  [
    ...[{}, { "": null, a: [1, "1", true, { b: {} }], constructor: 1, toString: {} }, { big: 9223372036854775807n }],
    JSON.parse('{"__proto__":{"polluted":true},"deep":{"__proto__":1}}'),
  ],
  otherTypes("object"),
);

const workspaceStyleIds = form(
  /workspace-style id/,
  [..."AZaz09", `${alphanumeric}_.:-`, "micws_1", "a.b.c", "a_.:-", "9.", `x${"-".repeat(127)}`],
  ["_a", ".a", ":a", "-a", "a b", "a/b", "a\n", "é", "aé", x(129)],
  ["a..b", "a..", "a...b", `${x(126)}..`],
);

const twoLetters = form(
  /two (ASCII )?letters/,
  ["TG", "AP", "ZZ"],
  ["T", "TGA", "T1", "36", "T ", " T", "TG\n", "ÄÖ", "ßa", "ſs", "𝐓𝐆", "त्"],
);

const bind = (...pairs: readonly string[]) => pairs.map((pair) => ({ port: pair[0], inputId: pair[1] }));
const bindings = list(1, 32, (index) => ({ port: `port${index}`, inputId: `input${index}` }));
const permissions = list(0, 200, (index) => `part:${index}`);
const keyed = (...keys: readonly unknown[]) => keys.map((key) => ({ [String(key)]: {} }));
const properties = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`reference:${index}`, {}]));
const cursor = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ012345_";
const key = (length: number): string => "k".repeat(length);

const dateTimes = form(
  /^ *date-time/,
  words(`
    2026-11-20T10:00:00Z 2026-11-20t10:00:00z 2026-11-20T10:00:00+05:30 2026-11-20T10:00:00-23:59
    2026-11-20T10:00:00.5Z 2026-11-20T10:00:00.1234567Z 2028-02-29T23:59:59Z 2016-12-31T23:59:60Z
    2016-12-31T23:59:60.999Z 2017-01-01T05:29:60+05:30 2016-12-31T15:59:60-08:00 2000-02-29T00:00:00Z
    0000-01-01T00:00:00Z 9999-12-31T23:59:59Z 2026-11-20T10:00:00.1111111111111111111Z`),
  notDateTimes.concat(
    words(`
      1900-02-29T10:00:00Z 2017-01-01T05:29:60+05:31 2016-12-31T23:59:60+05:30 2016-12-31T23:59:60-00:01
      2026-11-20T10:00:00+24:00 2026-11-20T10:00:00+05:60 2026-11-20T10:00:00+0530 2026-11-20T10:00:00+05
      2026-11-20T10:00:00.11111111111111111111Z`),
  ),
);

const utcInstants = form(
  /UTC instant/,
  words(`
    9999-12-31T23:59:59Z 2026-11-20T10:00:00Z 2026-11-20T10:00:00.1Z 2026-11-20T10:00:00.123456Z
    2028-02-29T23:59:59.999999Z 2016-12-31T23:59:60Z`),
  notDateTimes.concat(
    words(`
      2026-11-20T10:00:00.1234567Z 2026-11-20T10:00:00+00:00 2026-11-20T10:00:00+05:30 2026-11-20T10:00:00-00:00
      2026-11-20t10:00:00Z 2026-11-20T10:00:00z`),
  ),
);

/** A number beyond 2^53-1 is not exact: such values are bigints. */
const revisions = grammar(
  /1 to 9223372036854775807/,
  [1, 2, scalars.MAX_SAFE, 1n, 9007199254740992n, 9223372036854775806n, 9223372036854775807n],
  [0, -1, 1.5, NaN, Infinity, 0n, -1n, ...otherTypes("number")],
  [9223372036854775808n, 18446744073709551616n, 2 ** 53, 2 ** 62],
);

const counts = grammar(
  />= 0/,
  [0, 1, scalars.MAX_SAFE - 1, scalars.MAX_SAFE],
  [-1, 0.5, NaN, Infinity, ...otherTypes("number")],
  [scalars.MAX_SAFE + 1, 9007199254740992n, 1n],
);

const versions = words("1 10 9223372036854775807 9223372036854775808 9999999999999999999");
const decimalVersions = form(/1-19 decimal digits without a leading zero$/, ["0", ...versions], notDecimal);
const positiveVersions = form(/1-19 decimal digits without a leading zero, value >= 1/, versions, ["0", ...notDecimal]);
const amounts = form(
  /a decimal integer without leading zeros, 0 to 9223372036854775807/,
  words("0 1 10 9223372036854775806 9223372036854775807"),
  notDecimal,
  words("9223372036854775808 9999999999999999999"),
);

const uris = form(
  /a URI/,
  words(`
    https://catalogue.example/lgd http://[::1]:80/a?b=c#d https://zone.example/AZaz09-._~!$&'()*+,;=:@%20?/#?
    urn:lgd:districts mailto:lgd@example.org http://catalogue.example:99999/ http://catalogue.example:/
    https://user:word@catalogue.example/%C3%A9 file:///lgd.csv x:`),
  [
    ...["https://catalogue.example/two words", " https://catalogue.example/lgd"],
    ...words("catalogue /lgd/districts //catalogue.example/lgd https://catalogue.example/é 1https://catalogue.example"),
  ],
  words(`
    https:// http:catalogue http://[::1 http://[::1]x/ https://catalogue.example:port/ https://catalogue.example/%zz
    https://catalogue.example/%4 https://catalogue.example/a[1] https://catalogue.example/#a#b`),
);

const references = grammar(
  /at most 200 properties; keys are workspace-style ids, values any JSON objects/,
  [
    ...[0, 1, 199, 200].map(properties),
    ...keyed(...workspaceStyleIds.accepts, "constructor", "toString"),
    ...freeForm.accepts.map((year) => ({ year })),
  ],
  [
    ...keyed("", "_a", ".a", "a b", "a/b", "é", x(129)),
    ...[JSON.parse('{"__proto__":{}}'), { year: {}, "two words": {} }, properties(201)],
    ...[...otherTypes("object"), ...freeForm.refuses.map((year) => ({ year }))],
  ],
  keyed(...workspaceStyleIds.refusesBeyondJsonSchema),
);

const metrics = form(
  /1-80 characters: an uppercase letter, then uppercase letters, digits, `_`/,
  ["A", "Z9_", "ZABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", "JOBS_RUN", `M${"_".repeat(79)}`],
  ["a", "1A", "_A", "JOBS-RUN", "JOBS RUN", "jOBS", "JObS", "Aa", "É", "A\n", "A".repeat(81)],
);

const permissionForms = form(
  /1-128 characters, `<part>:<part>`, parts of letters, digits, `_` `.` `-`/,
  [
    ...[`${alphanumeric}_.-:${alphanumeric}`, `a:${alphanumeric}_.-`, `a:${x(126)}`, `${x(126)}:b`],
    ...words("a:b _:- A9_.-:. ..:.."),
  ],
  ["a", ":", "a:", ":b", "a:b:c", "a::b", "a b:c", "a/b:c", "é:b", "a:b\n", `a:${x(127)}`],
);

const ports = form(
  /1-80 characters, a letter first, then letters, digits, `_` `-`/,
  [..."AZaz", `${alphanumeric}_-`, "a-b_9", x(79), x(80)],
  ["1a", "_a", "-a", "a.b", "a b", "a:b", "é", "aé", "a\n", x(81)],
);

const eTags = form(
  /an integer from 1 to the maximum, at most 16 digits without a leading zero, in double quotes/,
  words('"1" "9" "10" "1000000000000000" "9007199254740990" "9007199254740991"'),
  [
    ...words(`"0" "01" "-1" "+1" "1.5" "" " "1 1" '1' W/"1" "a" "1e3" * "10000000000000000" 1`),
    ...['" 1"', ' "1"', '"1" ', '"1"\n', '"1", "2"', `"${"9".repeat(400)}"`],
  ],
  words('"9007199254740992" "9999999999999999"'),
);

/** The grammars with a name, by their schema. */
export const named: ReadonlyMap<z.ZodType, Grammar> = new Map<z.ZodType, Grammar>([
  [scalars.hex64, hex("", 64, "hex64")],
  [scalars.workspaceStyleId, workspaceStyleIds],
  [scalars.dateTime, dateTimes],
  [scalars.utcInstant, utcInstants],
  [scalars.decimalVersion, decimalVersions],
  [scalars.positiveDecimalVersion, positiveVersions],
  [scalars.decimalAmount, amounts],
  [scalars.textKey, { ...writtenText(8, 160), rule: /8 to 160 UTF-16 units/ }],
  [
    scalars.inputKey,
    form(
      /1-128 letters, digits, `\.` `_` `:` `\/` `-`/,
      [`${alphanumeric}._:/-`, ...words("a Z 0 . _ : / - .. ../.. a/b:c_d.e-f"), key(127), key(128)],
      [key(129), "a b", ..."a~b a,b a+b a@b é 😀 ~".split(" "), 'a"b', "a\n", "\u0000"],
    ),
  ],
  [
    scalars.processingKey,
    form(
      /8-128 characters: a letter or digit first, then letters, digits, `_` `\.` `:` `-`/,
      [
        ...[`${alphanumeric}_.:-`, key(127), key(128), ...[..."AZaz09"].map((head) => `${head}2345678`)],
        ...words("a.b:c_d- Z------- 9_.:-.:_ Abcdefg."),
      ],
      [
        ...words("1234567 _2345678 .2345678 :2345678 -2345678 1234/678 1234567é"),
        ...["1234 678", "12345678\n", key(129)],
      ],
      ["1234..78", "123456..", "1...5678"],
    ),
  ],
  [JobETag, eTags],
  [ProcessingRequest.shape.revision, revisions],
  [State.shape.districtCount, counts],
  [State.shape.code, twoLetters],
  [stateCode, twoLetters],
  [CatalogMetadata.shape.sourceRef.unwrap(), uris],
  [
    recipeCursor,
    form(
      /exactly 43 letters, digits, `_` or `-`/,
      [cursor, "-".repeat(43), "_".repeat(43), "0".repeat(43)],
      [x(42), x(44), `${x(42)}.`, `${cursor}\n`],
    ),
  ],
  [UsageBucket.shape.metric, metrics],
  [
    RecipeDefinition.shape.requiredPermissions,
    grammar(
      /0-200, unique/,
      [...permissions.accepts, ["a:b", "a:B", "b:a"]],
      [...permissions.refuses, words("a:b a:b"), words("a:b c:d a:b")],
    ),
  ],
  [RecipeDefinition.shape.requiredPermissions.element, permissionForms],
  [RecipeParameters.shape.references, references],
  [jsonObject, freeForm],
  [Port, ports],
  [
    CreateJob.shape.inputBindings,
    grammar(bindings.rule, [...bindings.accepts, bind("ab", "ba"), bind("ax", "AX")], bindings.refuses, [
      bind("a1", "a2"),
      bind("a1", "b1"),
      bind("a1", "b2", "c3", "a4"),
    ]),
  ],
  [
    // In a sample with the kind M4_FILE.
    CreateInput.shape.referenceId,
    form(
      text(1, 128).rule,
      ["devfile_a", "devsignfile_a", `devfile_${x(120)}`],
      [`devfile_${x(121)}`],
      ["a", "devfile", "micinput_a", "xdevfile_a", x(128)],
    ),
  ],
]);

/** The parts of a JSON Schema that a grammar is derived from. */
const Derived = z.object({
  const: z.union([z.string(), z.literal(false)]).optional(),
  enum: z.array(z.string()).optional(),
  type: z.enum(["boolean", "integer", "string", "array", "object"]),
  pattern: z.string().optional(),
  ...{ minLength: z.number().optional(), maxLength: z.number().optional() },
  ...{ minimum: z.number().default(NaN), maximum: z.number().default(NaN) },
  ...{ minItems: z.number().default(0), maxItems: z.number().default(NaN) },
});

export const isOptional = (schema: z.ZodType): boolean => schema.safeParse(undefined).success;
export const isNullable = (schema: z.ZodType): boolean => schema.safeParse(null).success;

/** The schema without `optional` and `nullable`. */
export function plain(schema: z.ZodType): z.ZodType {
  if (!(schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)) return schema;
  const inner = schema.unwrap();
  if (inner instanceof z.ZodType) return plain(inner);
  throw new Error("a schema of zod's core");
}

function derive(schema: z.ZodType): Grammar {
  const json = Derived.parse(toJsonSchema(schema, "output"));
  if (json.const === false) return grammar(/the constant false/, [false], [true, ...otherTypes("boolean")]);
  const values = json.const === undefined ? json.enum : [json.const];
  if (values) return oneOf(...values);
  const prefix = /^\^(\w+_)\[0-9a-f\]\{32\}\$$/.exec(json.pattern ?? "")?.[1];
  if (prefix !== undefined) return hex(prefix, 32, `\`${prefix}\` and hex32`);
  if (json.pattern !== undefined) throw new Error(`no grammar has the pattern ${json.pattern}: add it`);
  if (json.type === "boolean") return grammar(/boolean/, [true, false], otherTypes("boolean"));
  if (json.type === "integer") return integer(json.minimum, json.maximum);
  if (schema instanceof z.ZodArray && schema.element instanceof z.ZodType) {
    const { element } = schema;
    const ofMany = list(json.minItems, json.maxItems, () => sampleOf(element));
    const { accepts, refuses } = grammarOf(element);
    return {
      ...ofMany,
      accepts: [...ofMany.accepts, ...accepts.map((value) => [value])],
      refuses: [...ofMany.refuses, ...refuses.map((value) => [value])],
    };
  }
  if (json.type === "object") return grammar(/^/, [sampleOf(schema)], otherTypes("object"));
  if (json.maxLength !== undefined) return boundedText(schema, json.minLength ?? 0, json.maxLength);
  // Any text: the page states no bound and no form.
  const rule = /^(?!.*(\d|letter|hex|character|constant|date-time|URI|\bid\b))/;
  return grammar(rule, ["", " ", "text", x(10_000)], otherTypes("string"));
}

export function grammarOf(schema: z.ZodType): Grammar {
  const inner = plain(schema);
  const found = named.get(inner) ?? derive(inner);
  if (!isNullable(schema)) return found;
  const { accepts, refuses } = found;
  return { ...found, accepts: [...accepts, null], refuses: refuses.filter((value) => value !== null) };
}

/** Returns a valid value with all optional fields. */
export function sampleOf(schema: z.ZodType): unknown {
  const inner = plain(schema);
  if (inner instanceof z.ZodObject)
    return Object.fromEntries(
      Object.entries(inner.shape).map(([name, part]) => [name, part instanceof z.ZodType ? sampleOf(part) : undefined]),
    );
  if (inner instanceof z.ZodArray && inner.element instanceof z.ZodType) return [sampleOf(inner.element)];
  return (named.get(inner) ?? derive(inner)).accepts[0];
}
