// Reads and writes the README table of mutants, which each complete run updates.
import { basename } from "node:path";
import type { Mutant } from "./mutant.ts";

export const README = "test/faults/README.md";
const HEAD = ["| mutation | where | fails |", "|---|---|---|"];

export interface Row {
  readonly what: string;
  readonly where: string;
  readonly fails: string;
}

/** `name`: the test that failed. */
export const rowOf = ({ what, killedBy }: Mutant, where: string, name: string): Row => ({
  what,
  where: `\`${where}\``,
  fails: `${basename(killedBy.file)}: ${name}`,
});

const cell = (text: string): string => text.replaceAll("|", "\\|");

/** Returns the rows of the table in a text. */
export function readTable(text: string): readonly Row[] {
  const lines = text.split("\n");
  return lines
    .slice(lines.indexOf(HEAD[0] ?? "") + HEAD.length)
    .filter((line) => line.startsWith("|"))
    .map((line) => line.split(/(?<!\\)\|/).map((part) => part.trim().replaceAll("\\|", "|")))
    .map(([, what = "", where = "", fails = ""]) => ({ what, where, fails }));
}

/** Returns the text with these rows in place of those in its table. */
export function writeTable(text: string, rows: readonly Row[]): string {
  const lines = text.split("\n");
  const from = lines.indexOf(HEAD[0] ?? "");
  const tableEnd = lines.slice(from).findIndex((line) => !line.startsWith("|"));
  const tableRows = rows.map(({ what, where, fails }) => `| ${[what, where, fails].map(cell).join(" | ")} |`);
  return [...lines.slice(0, from), ...HEAD, ...tableRows, ...(tableEnd < 0 ? [] : lines.slice(from + tableEnd))].join(
    "\n",
  );
}
