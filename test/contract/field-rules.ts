// Values that a field of docs/contract.md accepts and refuses. object-rules.ts puts each one into a valid sample.
import { words } from "../support/words.ts";

type JsonType = "null" | "boolean" | "number" | "string" | "array" | "object";

export interface FieldRule {
  readonly accepts: readonly unknown[];
  /** Refused by the schema and by its JSON Schema. */
  readonly refuses: readonly unknown[];
  /** Refused by the schema, although the JSON Schema does not express the rule. */
  readonly refusesBeyondJsonSchema?: readonly unknown[];
}

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

/** Every letter and digit, so that both ends of each range are tried. */
export const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

export const nullable = (rule: FieldRule): FieldRule => ({
  ...rule,
  accepts: [...rule.accepts, null],
  refuses: rule.refuses.filter((value) => value !== null),
});

export const boolean: FieldRule = { accepts: [true, false], refuses: otherTypes("boolean") };

export const onlyFalse: FieldRule = { accepts: [false], refuses: [true, ...otherTypes("boolean")] };

export const anyText: FieldRule = { accepts: ["", " ", "text", "x".repeat(10_000)], refuses: otherTypes("string") };

export const oneOf = (...values: readonly string[]): FieldRule => ({
  accepts: values,
  refuses: [
    ...values
      .flatMap((value) => [value.toLowerCase(), value.toUpperCase(), ` ${value}`, `${value}\n`, `${value}X`, [value]])
      .filter((value) => !(typeof value === "string" && values.includes(value))),
    "UNKNOWN",
    "",
    ...otherTypes("string"),
  ],
});

/**
 * `min`-`max` characters, counted in code points. Any characters are allowed, including lone surrogates and control characters.
 */
export const text = (min: number, max: number): FieldRule => ({
  accepts: [
    ...[min, min + 1, max - 1, max].map((length) => "x".repeat(length)),
    ...["😀".repeat(max), "\ud800".repeat(max), "\u0000", "\u009f", " ", ".."],
  ],
  refuses: [
    ...(min > 0 ? ["x".repeat(min - 1)] : []),
    "x".repeat(max + 1),
    `${"😀".repeat(max)}x`,
    ...otherTypes("string"),
  ],
});

const controlCharacters: readonly string[] = Array.from({ length: 0x41 }, (_, index) =>
  String.fromCharCode(index < 0x20 ? index : 0x5f + index),
);

export const blankCharacters: readonly string[] = [
  ..." \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000",
];

const unreadable: readonly string[] = [
  ...controlCharacters.flatMap((control) => [`some ${control} text`, `${control}some text`, `some text${control}`]),
  ...blankCharacters.map((character) => character.repeat(8)),
  blankCharacters.join(""),
];

/** No control characters, not blank, `min`-`max` UTF-16 units: 80 emoji are 160 of them. `max` is even. */
export const writtenText = (min: number, max: number): FieldRule => ({
  accepts: [
    ...[min, max - 1, max].map((length) => "x".repeat(length)),
    ...["😀".repeat(Math.ceil(min / 2)), "😀".repeat(max / 2), " some text ", "\ud800 lone half"],
  ],
  refuses: ["", "x".repeat(max + 1), ...otherTypes("string")],
  refusesBeyondJsonSchema: [
    "x".repeat(min - 1),
    ...[Math.ceil(min / 2) - 1, max / 2 + 1, max].map((length) => "😀".repeat(length)),
    `${"😀".repeat(max / 2)}x`,
    ...unreadable,
  ],
});

/** No control characters, not blank, valid Unicode, 1-`max` characters: an emoji counts as one. */
export const unicodeText = (max: number): FieldRule => ({
  accepts: ["x", "x".repeat(max - 1), "x".repeat(max), "😀".repeat(max), " some text ", "\ud83d\ude00"],
  refuses: ["", "x".repeat(max + 1), `${"😀".repeat(max)}x`, ...otherTypes("string")],
  refusesBeyondJsonSchema: ["\ud800", "text \udc00", "text \ude00\ud83d", "\ud83d text", ...unreadable],
});

const hexDigits = (count: number): string => "0123456789abcdef".repeat(8).slice(0, count);

const hexAfter = (prefix: string, count: number): FieldRule => ({
  accepts: [prefix + hexDigits(count), prefix + "0".repeat(count), prefix + "f".repeat(count)],
  refuses: [
    ...[hexDigits(count - 1), hexDigits(count + 1), hexDigits(count).toUpperCase()].map((hex) => prefix + hex),
    ...[`${prefix}g${hexDigits(count - 1)}`, `${prefix}${hexDigits(count)}\n`, ` ${prefix}${hexDigits(count)}`],
    ...otherTypes("string"),
  ],
});

export const hex64: FieldRule = hexAfter("", 64);

export function prefixedHex32(prefix: string): FieldRule {
  const { accepts, refuses } = hexAfter(prefix, 32);
  const otherPrefixes = ["", prefix.toUpperCase(), prefix.slice(0, -1), `x${prefix}`, "micother_"];
  return { accepts, refuses: [...refuses, ...otherPrefixes.map((other) => other + hexDigits(32))] };
}

export const workspaceStyleId: FieldRule = {
  accepts: [...alphanumeric, `${alphanumeric}_.:-`, "micws_1", "a.b.c", "a_.:-", "9.", `x${"-".repeat(127)}`],
  refuses: ["", "_a", ".a", ":a", "-a", "a b", "a/b", "a\n", "é", "aé", "x".repeat(129), ...otherTypes("string")],
  refusesBeyondJsonSchema: ["a..b", "a..", "a...b", `${"x".repeat(126)}..`],
};

const notDateTimes = [
  ...["", "2026-11-20 10:00:00Z", " 2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z\n", "Fri, 20 Nov 2026 10:00:00 GMT"],
  ...words(`
    2026-11-20 10:00:00Z 2026-11-20T10:00:00 2026-11-20T10:00Z 2026-11-20T10:00:00.Z 2026-11-20T10:00:00,5Z
    2026-13-01T10:00:00Z 2026-00-01T10:00:00Z 2026-01-00T10:00:00Z 2026-01-32T10:00:00Z 2026-04-31T10:00:00Z
    2026-02-29T10:00:00Z 2028-02-30T10:00:00Z 2026-11-20T24:00:00Z 2026-11-20T25:00:00Z 2026-11-20T10:60:00Z
    2026-11-20T10:00:60Z 2026-12-31T23:58:60Z 2026-12-31T23:59:61Z 26-11-20T10:00:00Z 2026-1-20T10:00:00Z
    +002026-11-20T10:00:00Z ２０２６-11-20T10:00:00Z 2026-11-20T10:00:00ZZ`),
];

/** A string in date-time format, at most 40 characters. */
export const dateTime: FieldRule = {
  accepts: words(`
    2026-11-20T10:00:00Z 2026-11-20t10:00:00z 2026-11-20T10:00:00+05:30 2026-11-20T10:00:00-23:59
    2026-11-20T10:00:00.5Z 2026-11-20T10:00:00.1234567Z 2028-02-29T23:59:59Z 2016-12-31T23:59:60Z
    2016-12-31T23:59:60.999Z 2017-01-01T05:29:60+05:30 2016-12-31T15:59:60-08:00 2000-02-29T00:00:00Z
    0000-01-01T00:00:00Z 9999-12-31T23:59:59Z 2026-11-20T10:00:00.1111111111111111111Z`),
  refuses: [
    ...notDateTimes,
    ...words(`
      1900-02-29T10:00:00Z 2017-01-01T05:29:60+05:31 2016-12-31T23:59:60+05:30 2016-12-31T23:59:60-00:01
      2026-11-20T10:00:00+24:00 2026-11-20T10:00:00+05:60 2026-11-20T10:00:00+0530 2026-11-20T10:00:00+05
      2026-11-20T10:00:00.11111111111111111111Z`),
    ...otherTypes("string"),
  ],
};

/** `YYYY-MM-DDThh:mm:ss`, optional 1-6 fractional digits, `Z`. */
export const utcInstant: FieldRule = {
  accepts: words(`
    9999-12-31T23:59:59Z 2026-11-20T10:00:00Z 2026-11-20T10:00:00.1Z 2026-11-20T10:00:00.123456Z
    2028-02-29T23:59:59.999999Z 2016-12-31T23:59:60Z`),
  refuses: [
    ...notDateTimes,
    ...words(`
      2026-11-20T10:00:00.1234567Z 2026-11-20T10:00:00+00:00 2026-11-20T10:00:00+05:30 2026-11-20T10:00:00-00:00
      2026-11-20t10:00:00Z 2026-11-20T10:00:00z`),
    ...otherTypes("string"),
  ],
};

export const MAX_SAFE = 9007199254740991;

export const integer = (min: number, max: number): FieldRule => ({
  accepts: [min, min + 1, max - 1, max],
  refuses: [min - 1, -1, max + 1, min + 0.5, NaN, Infinity, ...otherTypes("number")],
  refusesBeyondJsonSchema: [BigInt(min), BigInt(min + 1)],
});

export const count: FieldRule = {
  accepts: [0, 1, MAX_SAFE - 1, MAX_SAFE],
  refuses: [-1, 0.5, NaN, Infinity, ...otherTypes("number")],
  refusesBeyondJsonSchema: [MAX_SAFE + 1, 9007199254740992n, 1n],
};

/** An integer from 1 to 9223372036854775807. Values beyond 2^53-1 are bigints, because a number is not exact there. */
export const revision: FieldRule = {
  accepts: [1, 2, MAX_SAFE, 1n, 9007199254740992n, 9223372036854775806n, 9223372036854775807n],
  refuses: [0, -1, 1.5, NaN, Infinity, 0n, -1n, ...otherTypes("number")],
  refusesBeyondJsonSchema: [9223372036854775808n, 18446744073709551616n, 2 ** 53, 2 ** 62],
};

const notDecimal = [
  ...["", " 1", "1 ", "1\n"],
  ...words("00 01 -1 +1 -0 1.0 1e3 0x1 1_000 1,000 ١ 10000000000000000000"),
];
const otherThanText = otherTypes("string");

/** Decimal digits, no leading zero, 1-19 chars. */
export const decimalVersion: FieldRule = {
  accepts: ["0", "1", "10", "9223372036854775807", "9223372036854775808", "9999999999999999999"],
  refuses: [...notDecimal, ...otherThanText],
};

/** Like decimalVersion, with a value >= 1. */
export const positiveDecimalVersion: FieldRule = {
  accepts: ["1", "2", "10", "9223372036854775807", "9999999999999999999"],
  refuses: ["0", ...notDecimal, ...otherThanText],
};

/** A non-negative decimal integer without leading zeros, at most 9223372036854775807. */
export const decimalAmount: FieldRule = {
  accepts: ["0", "1", "10", "9223372036854775806", "9223372036854775807"],
  refuses: [...notDecimal, ...otherThanText],
  refusesBeyondJsonSchema: ["9223372036854775808", "9999999999999999999"],
};

/** An array of `min`-`max` items; the items made by `item` differ. */
export function list(min: number, max: number, item: (index: number) => unknown): FieldRule {
  const items = (length: number) => Array.from({ length }, (_, index) => item(index));
  return {
    accepts: [items(min), items(min + 1), items(max - 1), items(max)],
    refuses: [...(min > 0 ? [items(min - 1)] : []), items(max + 1), [item(0), null], { 0: item(0) }, ...notLists],
  };
}
const notLists = otherTypes("array");

/** An array of `min`-`max` strings, each with its own rule. */
export function textList(min: number, max: number, item: FieldRule): FieldRule {
  const valid = item.accepts.filter((value) => typeof value === "string");
  const ofMany = list(min, max, () => valid[0]);
  return {
    accepts: [...ofMany.accepts, ...valid.map((value) => [value])],
    refuses: [...ofMany.refuses, ...item.refuses.map((value) => [value])],
  };
}

/** An object whose fields have separate tests. */
export const object = (sample: object): FieldRule => ({ accepts: [sample], refuses: otherTypes("object") });

/** Any JSON object, passed on unchanged: a key of any name survives, even `__proto__`. */
export const freeFormObject: FieldRule = {
  accepts: [
    {},
    { "": null, a: [1, "1", true, { b: {} }], constructor: 1, toString: {} },
    JSON.parse('{"__proto__":{"polluted":true},"deep":{"__proto__":1}}'),
    { big: 9223372036854775807n },
  ],
  refuses: otherTypes("object"),
};

export const inputKey: FieldRule = {
  accepts: [
    `${alphanumeric}._:/-`,
    ...["a", "Z", "0", ".", "_", ":", "/", "-", "..", "../..", "a/b:c_d.e-f"],
    ...["k".repeat(127), "k".repeat(128)],
  ],
  refuses: [
    ...["", "k".repeat(129), "a b", "a~b", "a,b", "a+b", "a@b", 'a"b', "a\n", "\u0000", "é", "😀", "~"],
    ...otherThanText,
  ],
};

export const processingKey: FieldRule = {
  accepts: [
    `${alphanumeric}_.:-`,
    ...[...alphanumeric].map((head) => `${head}2345678`),
    ...["a.b:c_d-", "Z-------", "9_.:-.:_", "Abcdefg.", "k".repeat(127), "k".repeat(128)],
  ],
  refuses: [
    ...["", "1234567", "k".repeat(129), "_2345678", ".2345678", ":2345678", "-2345678", "1234 678", "1234/678"],
    ...["12345678\n", "1234567é", ...otherThanText],
  ],
  refusesBeyondJsonSchema: ["1234..78", "123456..", "1...5678"],
};

/** The Idempotency-Key of job creation, retry and cancellation. */
export const textKey: FieldRule = writtenText(8, 160);

/**
 * The Idempotency-Key as an argument: it becomes a header, so only printable ASCII is allowed (docs/interface.md,
 * "Interpretations of the contract").
 */
export const textKeyArgument: FieldRule = {
  accepts: ["k".repeat(8), "k".repeat(160), 'a b"c,d;e'],
  refuses: [
    ...["", "k".repeat(7), "k".repeat(161), " ".repeat(8), " kkkkkkkk", "kkkkkkkk ", "schlüssel", "kkkkkkkk\n"],
    ...["\u0000", "\u001f", "\u007f", "\u009f"].map((control) => `text${control}text`),
    ...otherThanText,
  ],
};

export const eTag: FieldRule = {
  accepts: ['"1"', '"9"', '"10"', '"1000000000000000"', '"9007199254740990"', '"9007199254740991"'],
  refuses: [
    ...['"0"', '"01"', '"-1"', '"+1"', '"1.5"', '""', '"', '"1', '1"', "'1'", 'W/"1"', '"a"', '"1e3"', "*", '" 1"'],
    ...['"10000000000000000"', ' "1"', '"1" ', '"1"\n', '"1", "2"', `"${"9".repeat(400)}"`, ...otherThanText, "", "1"],
  ],
  refusesBeyondJsonSchema: ['"9007199254740992"', '"9999999999999999"'],
};

const cursor43 = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ012345_";
/** Exactly 43 characters of base64url. */
export const recipeCursor: FieldRule = {
  accepts: [cursor43, "-".repeat(43), "_".repeat(43), "0".repeat(43)],
  refuses: ["", "a".repeat(42), "a".repeat(44), `${"a".repeat(42)}.`, `${cursor43}\n`, ...otherThanText],
};

/** A two-letter state code. Lowercase is accepted and converted to uppercase. */
export const stateCode: FieldRule = {
  accepts: ["TG", "AP", "MZ"],
  refuses: ["", "T", "TGA", "T1", "36", "T ", " T", "TG\n", "ÄÖ", "ßa", "ſs", "𝐓𝐆", "त्", ...otherThanText],
};

/** A letter, then letters, digits, `_` and `-`, 80 characters in total. */
export const port: FieldRule = {
  accepts: [...alphanumeric.slice(0, 52), `${alphanumeric}_-`, "a-b_9", "a".repeat(79), "a".repeat(80)],
  refuses: ["", "1a", "_a", "-a", "a.b", "a b", "a:b", "é", "aé", "a\n", "a".repeat(81), ...otherThanText],
};

const binding = (of: string, inputId: string) => ({ port: of, inputId });
/** 1-32 bindings without a duplicate port or input. */
export const inputBindings: FieldRule = {
  accepts: [
    ...list(1, 32, (index) => binding(`port${index}`, `input${index}`)).accepts,
    [binding("a", "b"), binding("b", "a")],
    [binding("a", "x"), binding("A", "X")],
  ],
  refuses: list(1, 32, (index) => binding(`port${index}`, `input${index}`)).refuses,
  refusesBeyondJsonSchema: [
    [binding("a", "1"), binding("a", "2")],
    [binding("a", "1"), binding("b", "1")],
    [binding("a", "1"), binding("b", "2"), binding("c", "3"), binding("a", "4")],
  ],
};

export const fileReference: FieldRule = {
  accepts: ["devfile_a", "devsignfile_a", `devfile_${"a".repeat(120)}`],
  refuses: ["", `devfile_${"a".repeat(121)}`, ...otherThanText],
  refusesBeyondJsonSchema: ["a", "devfile", "micinput_a", "xdevfile_a", "a".repeat(128)],
};
