// Counts o200k tokens of a text, or of another value as JSON without spaces.
import { countTokens } from "../test/support/count-tokens.ts";

/**
 * Hex strings with the average token count of random ones: 19 tokens for 32 digits (range 12 to 29) and 37 for 64 digits (range
 * 27 to 50).
 */
const HEX_32 = "0668073c43c0b451d3633d02ecfffdd5";
const HEX_64 = "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9";

/** Ids, keys and checksums are random. Their token counts differ between runs, so all are replaced by an average one. */
const normalizeHex = (text: string): string =>
  text.replace(/(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{32})(?![0-9a-f])/g, ({ length }) =>
    length === HEX_64.length ? HEX_64 : HEX_32,
  );

export const countModelTokens = (value: unknown): number =>
  countTokens(normalizeHex(typeof value === "string" ? value : JSON.stringify(value)));
