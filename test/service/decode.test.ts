// The quick ways through an answer say the same as the thorough ones: the platform's JSON parser as the lossless one, zod's
// generated validators as zod.
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { parse as parseLossless } from "lossless-json";
import { describe, expect, test } from "vitest";
import { endpoints } from "../../src/contract/endpoints/index.ts";
import { ContractViolation, checkAgainst, parseJson, readNumber } from "../../src/service/decode.ts";
import {
  capabilitySet,
  districtsResponse,
  enveloped,
  input,
  job,
  jobList,
  micEnveloped,
  openApiDocument,
  operation,
  processingRequest,
  recipeList,
  recipeOffer,
  statesResponse,
  usageSummary,
} from "../contract/samples.ts";
import { runs } from "../support/thorough.ts";

/** What the lossless parser says: a value, or that it is none. */
function lossless(text: string): unknown {
  try {
    return {
      value: parseLossless(text, null, { parseNumber: readNumber, onDuplicateKey: ({ newValue }) => newValue }),
    };
  } catch {
    return "refused";
  }
}

function ours(text: string): unknown {
  try {
    return { value: parseJson(Buffer.from(text)) };
  } catch (error) {
    expect(error).toBeInstanceOf(ContractViolation);
    return "refused";
  }
}

// Numbers as services write them, and as they should not.
const numberText = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
  fc.constantFrom(
    "9007199254740991",
    "9007199254740992",
    "-9007199254740993",
    "1e400",
    "1E2",
    "-0",
    "0.10",
    "01",
    "1.",
  ),
);
const nameText = fc.oneof(
  fc.constantFrom('"a"', '"b"', '":a"', '"__proto__"', '"constructor"', '"1"', '"2"', '"a\\u0062"', '"\\""'),
  fc.string({ unit: "binary" }).map((text) => JSON.stringify(text)),
);
const space = fc.constantFrom("", "", "", " ", "\n\t");

/** JSON texts, some of them wrong: spaces anywhere, escapes, a name twice, integers of any length. */
const { text: jsonText } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { depthSize: "small" },
    numberText,
    nameText,
    fc.constantFrom("true", "false", "null", "nul", ""),
    fc.array(tie("text"), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
    fc
      .array(fc.tuple(nameText, space, space, tie("text")), { maxLength: 5 })
      .map(
        (fields) => `{${fields.map(([name, before, after, part]) => `${name}${before}:${after}${part}`).join(",")}}`,
      ),
  ),
}));

describe("parseJson", () => {
  test("says what the lossless parser says, of any text", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const said = lossless(text);
        // Emptiness has words of its own.
        expect(isDeepStrictEqual(ours(text), text.trim() === "" ? "refused" : said), text).toBe(true);
      }),
      { numRuns: runs(1_000, 5_000) },
    );
  });

  test.each([
    ['{"a":1,"a":2}', { value: { a: 2 } }],
    ['{"a":9007199254740993,"a":2}', { value: { a: 2 } }],
    ['{"a":1,"a":9007199254740993}', { value: { a: 9007199254740993n } }],
    ['{"a":9007199254740993}', { value: { a: 9007199254740993n } }],
    ["[ -12345678901234567]", { value: [-12345678901234567n] }],
    ['{"a":"1234567890123456"}', { value: { a: "1234567890123456" } }],
  ])("%s", (text, said) => {
    expect(ours(text)).toEqual(said);
    expect(lossless(text)).toEqual(said);
  });
});

const bodies: Readonly<Record<string, unknown>> = {
  listPlaygroundStates: statesResponse,
  listPlaygroundDistricts: districtsResponse,
  getPlaygroundOpenApi: openApiDocument,
  getMicPublicCapabilities: enveloped(capabilitySet),
  createMicPublicInput: enveloped(input),
  getMicPublicInput: enveloped(input),
  listMicExecutableRecipes: recipeList,
  getMicExecutableRecipe: micEnveloped(recipeOffer),
  createMicJob: enveloped(job),
  listMicJobs: jobList,
  getMicJob: enveloped(job),
  cancelMicJob: enveloped(operation),
  retryMicJob: enveloped(job),
  getMicPublicOperation: enveloped(operation),
  getMicPublicUsage: enveloped(usageSummary),
  requestMicSharedFileProcessing: micEnveloped(processingRequest),
  getMicSharedFileProcessingRequest: micEnveloped(processingRequest),
};

/** Every place in a value. */
function placesIn(value: unknown, at: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([name, part]) => placesIn(part, [...at, name]))];
}

function withPart(value: unknown, [name, ...rest]: readonly string[], part: unknown): unknown {
  if (name === undefined) return part;
  const copy: unknown = structuredClone(value);
  if (typeof copy === "object" && copy !== null) Reflect.set(copy, name, withPart(Reflect.get(copy, name), rest, part));
  return copy;
}

const oddity = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    undefined,
    "",
    "x".repeat(5_000),
    0,
    -1,
    1.5,
    2 ** 53,
    10n ** 18n,
    true,
    [],
    {},
    "\u{1f600}",
  ),
  fc.string({ unit: "binary" }),
  fc.double(),
  fc.jsonValue(),
);

test.each(endpoints.filter(({ success }) => success.body !== "binary"))(
  "$id: the generated validator judges as zod does",
  (endpoint) => {
    const { body: schema } = endpoint.success;
    if (schema === "binary") throw new Error("no schema");
    const valid = bodies[endpoint.id];
    // What is given back is what came in: no schema of an answer changes anything.
    expect(schema.parse(valid)).toStrictEqual(valid);
    // From the second time on it is the generated one.
    for (let time = 0; time < 3; time++) expect(checkAgainst(schema, valid)).toEqual({ value: valid, drift: [] });
    fc.assert(
      fc.property(fc.constantFrom(...placesIn(valid)), oddity, (place, part) => {
        const body = withPart(valid, place, part);
        const thorough = schema.safeParse(structuredClone(body));
        if (thorough.success) expect(checkAgainst(schema, body)).toEqual({ value: thorough.data, drift: [] });
        else if (thorough.error.issues.every(({ code }) => code !== "unrecognized_keys"))
          expect(() => checkAgainst(schema, body)).toThrow(ContractViolation);
      }),
      { numRuns: runs(50, 300) },
    );
  },
);
