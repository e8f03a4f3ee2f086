// Makes output fit a terminal. Tab-separated lines become tables: wide columns are cut, and the least useful ones left out. Other lines are
// broken between words.
import { stripVTControlCharacters } from "node:util";
import { isTerminal, type Screen } from "./terminal.ts";

const GAP = 2;
/** Longer cells without spaces are ids. A cut id keeps its prefix and enough of its end to be recognized. */
const MAX_CODE_WIDTH = 24;
const ID_WIDTH = 16;
const MIN_TEXT_WIDTH = 20;

const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u;
/** Characters of two cells: those of East Asia, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3ffff}]|\p{Emoji_Presentation}/u;

const characterWidth = (character: string): number => (NO_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1);

const textWidth = (text: string): number => [...text].reduce((width, each) => width + characterWidth(each), 0);

type Kind = "id" | "time" | "text" | "short";

interface Column {
  readonly at: number;
  readonly kind: Kind;
  readonly fullWidth: number;
  width: number;
}

function kindOf(cells: readonly string[], width: number): Kind {
  if (cells.some((cell) => /\s/.test(cell))) return "text";
  if (cells.some(Boolean) && cells.every((cell) => /^$|^\d{4}-\d\d-\d\dT/.test(cell))) return "time";
  return width > MAX_CODE_WIDTH ? "id" : "short";
}

/** Selects columns and their widths so that a line has at most `maxWidth` cells. The first column stays as it is, if possible. */
function fitColumns(rows: readonly (readonly string[])[], maxWidth: number): readonly Column[] {
  let columns: readonly Column[] = (rows[0] ?? []).map((_, at) => {
    const cells = rows.map((row) => row[at] ?? "");
    const fullWidth = Math.max(...cells.map(textWidth));
    return { at, kind: kindOf(cells.slice(1), fullWidth), fullWidth, width: fullWidth };
  });
  const freeCells = () => maxWidth - columns.reduce((sum, { width }) => sum + width + GAP, -GAP);
  const leaveOut = (isLessUseful: (column: Column) => boolean): void => {
    while (freeCells() < 0) {
      const last = columns.findLast((column) => column.at > 0 && isLessUseful(column));
      if (last === undefined) return;
      columns = columns.filter((column) => column !== last);
    }
  };
  const later = columns.slice(1).reverse();
  for (const column of later) if (freeCells() < 0 && column.kind === "id") column.width = ID_WIDTH;
  leaveOut(({ kind }) => kind === "time");
  for (const column of later)
    if (freeCells() < 0 && column.kind === "text")
      column.width = Math.max(Math.min(MIN_TEXT_WIDTH, column.fullWidth), column.width + freeCells());
  leaveOut(({ kind }) => kind === "id");
  leaveOut(() => true);
  for (const column of columns) {
    const missing = column.fullWidth - column.width;
    if (column.kind === "text") column.width += Math.min(missing, Math.max(0, freeCells()));
    else if (missing <= freeCells()) column.width = column.fullWidth;
    if (columns.length === 1) column.width = Math.min(column.fullWidth, maxWidth);
  }
  return columns;
}

/** Cuts an id in its middle and another text at its end, and pads it to the width. */
function formatCell(text: string, { kind, width }: Column): string {
  const padding = width - textWidth(text);
  if (padding >= 0) return text + " ".repeat(padding);
  if (kind === "id") return `${text.slice(0, width - 7)}…${text.slice(-6)}`;
  let [kept, used] = ["", 1];
  for (const character of text) {
    used += characterWidth(character);
    if (used > width) break;
    kept += character;
  }
  return formatCell(`${kept}…`, { kind: "text", width, at: 0, fullWidth: width });
}

function formatBlock(rows: readonly (readonly string[])[], maxWidth: number): readonly string[] {
  const columns = fitColumns(rows, maxWidth);
  const lines = rows.map((row) =>
    columns
      .map((column) => formatCell(row[column.at] ?? "", column))
      .join(" ".repeat(GAP))
      .trimEnd(),
  );
  const leftOut = rows[0]?.filter((_, at) => columns.every((column) => column.at !== at)) ?? [];
  const isCut = columns.some(({ width, fullWidth }) => width < fullWidth);
  if (leftOut.length === 0 && !isCut) return lines;
  const what = leftOut.length === 0 ? "Some cells are cut." : `Not shown: ${leftOut.join(", ")}.`;
  return [...lines, `${what} A wider terminal or --json shows everything.`];
}

/** Aligns adjacent lines with the same number of tabs as a table of at most `maxWidth` cells, and leaves other lines unchanged. */
export function alignColumns(text: string, maxWidth = Number.POSITIVE_INFINITY): string {
  const lines = text.split("\n").map((line) => line.split("\t"));
  const aligned: string[] = [];
  for (let begin = 0, end = 0; begin < lines.length; begin = end) {
    const count = lines[begin]?.length ?? 0;
    end = begin + 1;
    while (count > 1 && lines[end]?.length === count) end += 1;
    const block = lines.slice(begin, end);
    aligned.push(...(count > 1 ? formatBlock(block, maxWidth) : block.map((cells) => cells.join())));
  }
  return aligned.join("\n");
}

/** Aligns the tables of a text on a terminal, and returns the text unchanged for a program that reads it. */
export const formatTables = (text: string, stream: Screen): string =>
  isTerminal(stream) ? alignColumns(text, stream.columns || undefined) : text;

/** The first column of a line, with its indentation and the gap after it. */
const FIRST_COLUMN = /^ *(?:\S.*? {3,}(?=\S)|-> )?/;

function wrapLine(line: string, width: number): string {
  const widthOf = (text: string): number => textWidth(stripVTControlCharacters(text));
  if (widthOf(line) <= width) return line;
  const [head = ""] = FIRST_COLUMN.exec(line) ?? [];
  const indent = " ".repeat(widthOf(head) <= width / 2 ? widthOf(head) : 6);
  const lines: string[] = [];
  let current = head;
  for (const word of line.slice(head.length).split(" ")) {
    const isFirst = current === head || current === indent;
    if (current.trim() !== "" && widthOf(`${current} ${word}`) > width) {
      lines.push(current.trimEnd());
      current = `${indent}${word}`;
    } else current += isFirst ? word : ` ${word}`;
  }
  return [...lines, current].join("\n");
}

/** Breaks lines that are too long for a terminal between words; the rest of a column stays below it. */
export const wrapLines = (text: string, stream: Screen): string =>
  isTerminal(stream) && stream.columns
    ? text
        .split("\n")
        .map((line) => wrapLine(line, stream.columns ?? 0))
        .join("\n")
    : text;
