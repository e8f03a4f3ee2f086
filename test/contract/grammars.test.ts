// Each grammar of strings against a plain predicate written from the contract's words: on valid strings and on almost valid ones.
import fc from "fast-check";
import { describe, expect, type TestFunction } from "vitest";
import type * as z from "zod/v4";
import { InputBinding } from "../../src/contract/endpoints/bodies.ts";
import { recipeCursor } from "../../src/contract/envelope.ts";
import { InputId } from "../../src/contract/inputs.ts";
import { dateTime, utcInstant } from "../../src/contract/instants.ts";
import { JobETag } from "../../src/contract/jobs.ts";
import { decimalAmount, decimalVersion, positiveDecimalVersion } from "../../src/contract/numbers.ts";
import { RecipeDefinition } from "../../src/contract/recipes.ts";
import * as text from "../../src/contract/text.ts";
import { UsageBucket } from "../../src/contract/usage.ts";
import { proves } from "../proves.ts";
import * as naive from "./naive-grammars.ts";

/** Strings of the alphabet's characters, their length often a bound. */
function word(alphabet: string, min: number, max: number): fc.Arbitrary<string> {
  const character = fc.constantFrom(...alphabet);
  const ofLength = (minLength: number, maxLength: number) =>
    fc.array(character, { minLength, maxLength, size: "max" }).map((characters) => characters.join(""));
  return fc.oneof(ofLength(min, max), ofLength(min, min), ofLength(max, max));
}

/** Any UTF-16 units at all. */
const anyUnits = fc.array(fc.nat(0xffff)).map((units) => String.fromCharCode(...units));

const startingWith = (heads: string, alphabet: string, min: number, max: number): fc.Arbitrary<string> =>
  fc.tuple(fc.constantFrom(...heads), word(alphabet, min - 1, max - 1)).map(([head, tail]) => head + tail);

const withoutTwoDots = (id: string): string => id.replaceAll("..", ".-");

const letters = "abcxyzABCXYZ";
const mixed = `${letters}0189`;
const hex = "0123456789abcdef";

/** Pieces of one character each; the last ones only where lone surrogates are allowed. */
const pieces = (...more: readonly string[]) =>
  fc.array(fc.constantFrom("a", "Z", " ", "\u00a0", "\u3000", "é", "😀", "\u200b", ...more), { maxLength: 160 });

const cut = (units: string, min: number, max: number): string => `x${units}`.slice(0, max).padEnd(min, "x");

const bigUnder = (max: bigint) =>
  fc.oneof(fc.constantFrom(0n, 1n, max - 1n, max), fc.bigInt({ min: 0n, max })).map(String);

const instant = fc
  .tuple(
    fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-30"), noInvalidDate: true }),
    word("0123456789", 0, 6),
  )
  .map(([date, digits]) => `${date.toISOString().slice(0, 19)}${digits === "" ? "" : `.${digits}`}Z`);

const zoned = fc
  .tuple(instant, fc.constantFrom("Z", "z", "+05:30", "-23:59", "+00:00", "-00:00"))
  .map(([utc, zone]) => utc.replace("Z", zone));

const splices = [
  ...["", ".", "..", ":", "::", "-", "_", "/", '"', "=", "+", " ", "\t", "\n", "\u0000", "\u001f", "\u007f", "\u0080"],
  ...[
    "\u009f",
    "\u00a0",
    "\ufeff",
    "a",
    "f",
    "g",
    "A",
    "F",
    "0",
    "00",
    "1",
    "9",
    "٣",
    "é",
    "😀",
    "\ud800",
    "\udc00",
    "T",
  ],
  ...["Z", "x".repeat(40), "9".repeat(4)],
];

/** A valid string with up to three small cuts and splices: often invalid, never by much. */
const nearly = (valid: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      valid,
      fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(2), fc.constantFrom(...splices)), {
        maxLength: 3,
      }),
    )
    .map(([start, edits]) =>
      edits.reduce((whole, [where, removed, splice]) => {
        const at = Math.round(where * whole.length);
        return whole.slice(0, at) + splice + whole.slice(at + removed);
      }, start),
    );

function agrees(schema: z.ZodType, valid: fc.Arbitrary<string>, isValid: (text: string) => boolean): TestFunction {
  const accepts = (candidate: string) => schema.safeParse(candidate).success;
  return () => {
    fc.assert(
      fc.property(valid, (candidate) => {
        expect([accepts(candidate), isValid(candidate)]).toEqual([true, true]);
      }),
      { numRuns: 100 },
    );
    fc.assert(
      fc.property(fc.oneof({ weight: 9, arbitrary: nearly(valid) }, anyUnits), (candidate) => {
        expect(accepts(candidate)).toBe(isValid(candidate));
      }),
      { numRuns: 500 },
    );
  };
}

const workspaceStyleIds = startingWith(mixed, `${mixed}_.:-`, 1, 128).map(withoutTwoDots);

describe("ids", () => {
  proves(
    "2.2/workspace-style-id",
    "workspace-style id",
    agrees(text.workspaceStyleId, workspaceStyleIds, naive.isWorkspaceStyleId),
  );
  proves(
    "2.2/hex",
    "hex64",
    agrees(text.hex64, word(hex, 64, 64), (candidate) => naive.isHex(candidate, 64)),
  );
  proves(
    ["2.2/hex", "2.2/processing-request-input-id"],
    "an id with prefix",
    agrees(
      InputId,
      word(hex, 32, 32).map((digits) => `micinput_${digits}`),
      (candidate) => naive.isPrefixedHex32(candidate, "micinput_"),
    ),
  );
  proves(
    "4.2/job-input-binding-port",
    "port",
    agrees(InputBinding.shape.port, startingWith(letters, `${mixed}_-`, 1, 80), naive.isPort),
  );
  proves(
    "2.2/usage-bucket-metric",
    "metric",
    agrees(UsageBucket.shape.metric, startingWith("AMZ", "AMZ019_", 1, 80), naive.isMetric),
  );
  proves(
    "2.2/recipe-required-permission-form",
    "permission",
    agrees(
      RecipeDefinition.shape.requiredPermissions.element,
      fc.tuple(word(`${mixed}_.-`, 1, 63), word(`${mixed}_.-`, 1, 64)).map((parts) => parts.join(":")),
      naive.isPermission,
    ),
  );
  proves(
    ["2.2/recipe-list-page", "4.2/recipes-cursor"],
    "recipe cursor",
    agrees(recipeCursor, word(`${mixed}_-`, 43, 43), naive.isRecipeCursor),
  );
});

describe("headers", () => {
  proves(
    ["4.2/job-key-length", "4.2/job-key-characters"],
    "Idempotency-Key of jobs",
    agrees(
      text.textKey,
      pieces("\ud800", "\udc00").map((parts) => cut(parts.join(""), 8, 160)),
      (candidate) => naive.isWrittenText(candidate, 8, 160),
    ),
  );
  proves(
    "4.2/input-key",
    "Idempotency-Key of inputs",
    agrees(text.inputKey, word(`${mixed}._:/-`, 1, 128), naive.isInputKey),
  );
  proves(
    "4.2/processing-request-key",
    "Idempotency-Key of processing requests",
    agrees(text.processingKey, startingWith(mixed, `${mixed}_.:-`, 8, 128).map(withoutTwoDots), naive.isProcessingKey),
  );
  proves(
    "4.2/if-match-form",
    "If-Match",
    agrees(
      JobETag,
      bigUnder(9007199254740990n).map((version) => `"${BigInt(version) + 1n}"`),
      naive.isJobETag,
    ),
  );
});

describe("texts", () => {
  const characters = pieces("\ud800", "\udc00", "\u0000", "\n").map((parts) => parts.join("") || "x");
  proves(
    "2.2/problem-texts",
    "1-160 characters",
    agrees(text.chars(1, 160), characters, (candidate) => {
      const count = naive.countCodePoints(candidate);
      return count >= 1 && count <= 160;
    }),
  );
  proves(
    ["4.2/job-client-reference", "4.2/reason"],
    "1-160 UTF-16 units, readable",
    agrees(
      text.plainText(160),
      pieces("\ud800", "\udc00").map((parts) => cut(parts.join(""), 1, 160)),
      (candidate) => naive.isWrittenText(candidate, 1, 160),
    ),
  );
  proves(
    "4.2/processing-request-purpose",
    "purpose",
    agrees(
      text.scalarText(160),
      pieces().map((parts) => ["x", ...parts].slice(0, 160).join("")),
      naive.isPurpose,
    ),
  );
});

describe("numbers as strings", () => {
  const nineteenDigits = bigUnder(9999999999999999999n);
  proves(
    "2.2/offer-resource-version",
    "a decimal version",
    agrees(decimalVersion, nineteenDigits, naive.isDecimalVersion),
  );
  proves(
    "2.2/input-resource-version",
    "a decimal version from 1",
    agrees(
      positiveDecimalVersion,
      nineteenDigits.map((digits) => (digits === "0" ? "1" : digits)),
      naive.isPositiveDecimalVersion,
    ),
  );
  proves(
    "2.2/usage-bucket-amounts",
    "a decimal amount",
    agrees(decimalAmount, bigUnder(9223372036854775807n), naive.isDecimalAmount),
  );
});

describe("instants", () => {
  proves("2.2/date-time", "date-time", agrees(dateTime, fc.oneof(instant, zoned), naive.isDateTime));
  proves("2.2/processing-request-instants", "UTC instant", agrees(utcInstant, instant, naive.isUtcInstant));
});
