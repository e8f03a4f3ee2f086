// What a terminal can show, and what a pipe must not get: colours, lines that are drawn anew, columns.
import { styleText } from "node:util";

/** Where a command writes: process.stdout or process.stderr. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Lines can be drawn anew there. */
export const isTerminal = (stream: Pick<Screen, "isTTY">): boolean =>
  stream.isTTY === true && process.env["TERM"] !== "dumb";

type Style = Parameters<typeof styleText>[0];

const hasColours = (): boolean => !process.env["NO_COLOR"] && !process.env["NODE_DISABLE_COLORS"];

/** Coloured on a terminal, unless NO_COLOR or the like says otherwise. */
export const styled = (style: Style, text: string, stream: Pick<Screen, "isTTY">): string =>
  isTerminal(stream) && hasColours() ? styleText(style, text, { validateStream: false }) : text;

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
