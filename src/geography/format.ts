// A geography answer for people: aligned rows, thousands separated, one line on how complete and how old it is.
import { excerpt } from "../excerpt.ts";
import { escaped, quote } from "../outside.ts";
import type { Coverage } from "./country.ts";
import type { Vintage } from "./vintage.ts";

const MAX_CELL = 80;

export const thousands = (value: number): string => {
  const [whole = "", ...fraction] = String(value).split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...fraction].join(".");
};

/** Cut: a cell is no place for more. Two spaces would begin the next one. */
const cell = (value: string | number): string =>
  typeof value === "number" ? thousands(value) : excerpt(escaped(value).replace(/\s+/g, " ").trim(), MAX_CELL);

/** Rows under their header, numbers to the right. */
export function alignedTable(columns: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const isNumber = columns.map((_, index) => rows.length > 0 && rows.every((row) => typeof row[index] === "number"));
  const lines = [columns, ...rows.map((row) => row.map(cell))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => [...(line[index] ?? "")].length)));
  const padded = (text: string, index: number): string => {
    const padding = " ".repeat((widths[index] ?? 0) - [...text].length);
    return isNumber[index] ? padding + text : text + padding;
  };
  return lines.map((line) => line.map(padded).join("  ").trimEnd()).join("\n");
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${thousands(count)} ${count === 1 ? one : many}`;

function vintageText({ sourceUpdatedAt, mixed, fallbackUsed }: Vintage): string {
  const stated =
    sourceUpdatedAt.length === 0
      ? "vintage not stated by the service"
      : `vintage ${sourceUpdatedAt.map((text) => quote(text)).join(", ")} as the service states it`;
  const mixture = mixed ? (sourceUpdatedAt.length === 1 ? " (for a part of it)" : " (mixed)") : "";
  return `Catalogue ${stated}${mixture}; fallbackUsed ${fallbackUsed}`;
}

/** Unread states under one reason, in one piece. */
function unreadText({ unread }: Coverage): string {
  const byReason = new Map<string, string[]>();
  for (const { state, reason, retryAfterSeconds } of unread) {
    const why = retryAfterSeconds === undefined ? reason : `${reason}; ask again in ${retryAfterSeconds} s`;
    byReason.set(why, [...(byReason.get(why) ?? []), state]);
  }
  return [...byReason].map(([why, states]) => `; ${states.length} unread: ${states.join(" ")} (${why})`).join("");
}

export function coverageLine(coverage: Coverage, vintage: Vintage): string {
  const { oldest, newest } = vintage.readAt;
  const read = `${coverage.statesRead} of ${plural(coverage.statesTotal, "state")} read ${oldest}`;
  return `${vintageText(vintage)}; ${read}${newest === oldest ? "" : ` to ${newest}`}${unreadText(coverage)}.`;
}
