// What a terminal can show, and what a pipe must not get: colours, lines that are drawn anew, columns.
import { styleText } from "node:util";

/** Lines can be drawn anew there. */
export const isTerminal = (stream: NodeJS.WriteStream): boolean =>
  stream.isTTY === true && process.env["TERM"] !== "dumb";

type Style = Parameters<typeof styleText>[0];

/** Coloured on a terminal, unless NO_COLOR or the like says otherwise. */
export const styled = (style: Style, text: string, stream: NodeJS.WriteStream): string =>
  isTerminal(stream) ? styleText(style, text, { stream }) : text;

/** Tab-separated lines beside each other, in columns; other lines as they are. */
export function aligned(text: string): string {
  const lines = text.split("\n").map((line) => line.split("\t"));
  let begin = 0;
  while (begin < lines.length) {
    const count = lines[begin]?.length ?? 0;
    let end = begin + 1;
    while (end < lines.length && lines[end]?.length === count) end += 1;
    const block = lines.slice(begin, end);
    if (count > 1)
      for (let column = 0; column < count - 1; column++) {
        const width = Math.max(...block.map((cells) => cells[column]?.length ?? 0));
        for (const cells of block) cells[column] = (cells[column] ?? "").padEnd(width);
      }
    begin = end;
  }
  return lines.map((cells) => cells.join("  ").trimEnd()).join("\n");
}
