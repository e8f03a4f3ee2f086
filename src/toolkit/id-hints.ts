// Explains a probable mistake in an id that the API does not have. The API's contract gives no grammar for most ids, so an unusual id is sent
// as it is, and only an answer of 404 is explained.
import type { Arguments } from "../actions/fingerprint.ts";
import { ID_KINDS, idKindOf } from "../api-client/id-kinds.ts";
import { isJsonObject } from "../contract/json.ts";
import { prefixedId } from "../contract/scalars.ts";
import { countPart } from "../core/counts.ts";
import { Failure, type FailureFacts } from "../core/failure.ts";
import { join, say, type Text } from "../core/text.ts";

const HEX_DIGITS = 32;
const MAX_HINTS = 3;

const ASSET_OF_INPUT = say`Pass the input's referenceId, which get_input shows.`;

function describeMisspelling(name: string, id: string, prefix: string): Text | undefined {
  const isValid = (text: string): boolean => prefixedId(prefix).safeParse(text).success;
  if (isValid(id)) return undefined;
  const digits = id.startsWith(prefix) ? id.slice(prefix.length) : "";
  return /^[0-9a-f]+$/.test(digits)
    ? say`${name} has ${countPart(digits.length, "hex digit")} after ${prefix}, not ${HEX_DIGITS}.`
    : say`${name} needs ${HEX_DIGITS} hex digits after ${prefix}.`;
}

interface Hint {
  readonly fact: Text;
  /** Set for an id of another kind, for which the general advice does not help. */
  readonly use?: Text;
}

/** Undefined if nothing about the id looks wrong. */
function describeId(name: string, id: string): Hint | undefined {
  const expected = idKindOf(name);
  if (expected === undefined) return undefined;
  const start = id.trim().toLowerCase();
  const actual = ID_KINDS.find(({ prefixes }) => prefixes.some((prefix) => start.startsWith(prefix)));
  if (actual !== undefined && actual !== expected) {
    const isInputOfAsset = expected === idKindOf("assetId") && actual === idKindOf("inputId");
    return { fact: say`${name} is ${actual.noun}.`, use: isInputOfAsset ? ASSET_OF_INPUT : actual.use };
  }
  const [prefix = "", ...others] = expected.prefixes;
  const fact = others.length > 0 ? undefined : describeMisspelling(name, id, prefix);
  return fact === undefined ? undefined : { fact };
}

function describeIds(args: Arguments): readonly Hint[] {
  return Object.entries(args).flatMap(([name, value]) => {
    if (typeof value === "string") return describeId(name, value) ?? [];
    return Array.isArray(value) ? value.filter(isJsonObject).flatMap(describeIds) : [];
  });
}

const findHints = ({ kind, status }: FailureFacts, args: Arguments): readonly Hint[] =>
  kind === "not_found" && status === 404 ? describeIds(args).slice(0, MAX_HINTS) : [];

/** Names what looks wrong with the ids of a request that failed with 404, for a cell of a row; undefined for every other failure. */
export function missingIdNote(facts: FailureFacts, args: Arguments): Text | undefined {
  const hints = findHints(facts, args);
  return hints.length === 0 ? undefined : join(hints.flatMap(({ fact, use }) => [fact, use]));
}

/** Adds to a failure with status 404 what looks wrong with the ids of the call; returns every other error as it is. */
export function explainMissingId(error: unknown, args: Arguments): unknown {
  if (!(error instanceof Failure)) return error;
  const hints = findHints(error.facts, args);
  if (hints.length === 0) return error;
  const message = join([error.facts.message, ...hints.map(({ fact }) => fact)]);
  const next = join(hints.map(({ use }) => use));
  return error.with({ message, ...(next.length > 0 && { next }) });
}
