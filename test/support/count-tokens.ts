// Counts the tokens of a text in OpenAI's o200k encoding, as the official tokenizer (tiktoken) does.
import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";

/** Splits a text into pieces; a token never extends over two of them. Copied from tiktoken (MIT License, OpenAI). */
const PIECES =
  /[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+('s|'S|'t|'T|'re|'rE|'Re|'RE|'ve|'vE|'Ve|'VE|'m|'M|'ll|'lL|'Ll|'LL|'d|'D)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*('s|'S|'t|'T|'re|'rE|'Re|'RE|'ve|'vE|'Ve|'VE|'m|'M|'ll|'lL|'Ll|'LL|'d|'D)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+/gu;

/** Reads the file of all tokens, in the order of their ranks: one byte with the length, then the bytes as Latin-1. */
function readRanks(): ReadonlyMap<string, number> {
  const data = brotliDecompressSync(readFileSync(new URL("o200k-tokens.br", import.meta.url)));
  const ranks = new Map<string, number>();
  for (let at = 0; at < data.length; ) {
    const end = at + 1 + (data[at] ?? 0);
    ranks.set(data.toString("latin1", at + 1, end), ranks.size);
    at = end;
  }
  return ranks;
}
const ranks = readRanks();

/** The counts of the pieces so far: texts of the same server repeat their words. */
const counts = new Map<string, number>();

function countInPiece(piece: string): number {
  const count = counts.get(piece) ?? mergePairs(Buffer.from(piece).toString("latin1"));
  counts.set(piece, count);
  return count;
}

/** Merges the adjacent pair with the lowest rank as long as a pair is a token. */
function mergePairs(bytes: string): number {
  if (ranks.has(bytes)) return 1;
  const parts = [...bytes];
  for (;;) {
    let lowest = Number.POSITIVE_INFINITY;
    let at = -1;
    for (let index = 0; index + 1 < parts.length; index++) {
      const rank = ranks.get(`${parts[index]}${parts[index + 1]}`) ?? Number.POSITIVE_INFINITY;
      if (rank < lowest) [lowest, at] = [rank, index];
    }
    if (at < 0) return parts.length;
    parts.splice(at, 2, `${parts[at]}${parts[at + 1]}`);
  }
}

/** Special tokens in the text, such as `<|endoftext|>`, count as plain text. */
export const countTokens = (text: string): number =>
  (text.match(PIECES) ?? []).reduce((sum, piece) => sum + countInPiece(piece), 0);
