// Formats texts for the person at the terminal, to whom a call of a tool is a command.
import { escapeText } from "../core/untrusted-text.ts";
import type { Runtime } from "../mcp/runtime.ts";
import { type ResultReader, withoutWorkspace } from "../toolkit/results.ts";

/** Lists of free text, in which a comma before a space does not end an item: "Patna, Bihar" is one name. */
export const FREE_TEXT_LISTS: ReadonlySet<string> = new Set(["names"]);

const isText = (value: unknown): value is string => typeof value === "string";

export const quoteForShell = (text: string): string =>
  /^[\w.,:/=@%+-]*[\w/=@%+-]$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

function toWords(name: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every(isText) && !value.some((each) => /^\[|,/.test(each))) {
    return FREE_TEXT_LISTS.has(name) ? value.map((each) => `${name}=${each}`) : [`${name}=${value.join(",")}`];
  }
  return [`${name}=${isText(value) ? value : JSON.stringify(value)}`];
}

/** Untrusted values are quoted, so they cannot become commands, and their invisible characters are escaped. `flags`: appended. */
export function formatCallCommand(
  tool: string,
  args: Readonly<Record<string, unknown>>,
  flags: readonly string[] = [],
): string {
  const { jobId, waitSeconds, idempotencyKey, ...rest } = args;
  const words =
    tool === "get_job" && isText(jobId) && waitSeconds !== undefined
      ? ["watch", quoteForShell(jobId)]
      : tool === "resolve_actions" && isText(idempotencyKey) && Object.keys(rest).length === 0
        ? ["resolve", quoteForShell(idempotencyKey)]
        : ["call", tool, ...Object.entries(args).flatMap(([name, value]) => toWords(name, value).map(quoteForShell))];
  return escapeText(["mic-mcp", ...words, ...flags].join(" "));
}

/** The person at the terminal. `flags`: those of this command that another command needs, too. `workspaceId`: the default workspace. */
export const terminalReader = (
  { offered }: Pick<Runtime, "offered">,
  flags: readonly string[],
  workspaceId?: string,
): ResultReader => ({
  isOffered: (name) => offered.has(name),
  workspaceId,
  isTerminal: true,
  formatCall: (tool, args) => formatCallCommand(tool, withoutWorkspace(args, workspaceId), flags),
});

/** The person at the terminal in commands that offer no tools. */
export const PERSON: ResultReader = {
  isOffered: () => true,
  isTerminal: true,
  formatCall: (tool, args) => formatCallCommand(tool, args),
};
