// Reports the failure of a command on stderr and determines its exit code (docs/interface.md, "Program").
import { distance } from "fastest-levenshtein";
import { UsageError } from "../core/config.ts";
import { errorCode, errorMessage, Failure, type FailureFacts } from "../core/failure.ts";
import type { Command } from "./commands.ts";

/**
 * Returns a suggestion for a mistyped name, or "" if no name is similar. At most one letter in three (but always one) may differ; case is
 * ignored.
 */
export function didYouMean(typed: string, names: readonly string[], shown = (name: string): string => name): string {
  const lower = typed.toLowerCase();
  const [best] = names
    .map((name) => ({ name, off: distance(lower, name.toLowerCase()) }))
    .filter(({ name, off }) => off <= Math.max(1, Math.floor(name.length / 3)))
    .sort((one, other) => one.off - other.off);
  return best === undefined ? "" : ` Did you mean ${shown(best.name)}?`;
}

/** Node's message continues with advice about positional arguments that start with a dash; no command takes one. */
const UNKNOWN_FLAG = /^Unknown option '(-[^']*)'/;

/** Converts an error of parseArgs to a UsageError; returns other errors unchanged. */
function toUsageError(error: unknown, { name, flags }: Command): unknown {
  if (!errorCode(error).startsWith("ERR_PARSE_ARGS")) return error;
  const reason = errorMessage(error);
  const unknown = UNKNOWN_FLAG.exec(reason)?.[1];
  if (unknown === undefined) return new UsageError(reason);
  const names = ["help", "version", ...Object.keys(flags)];
  const suggestion = didYouMean(unknown.replace(/^-+/, ""), names, (flag) => `--${flag}`);
  return new UsageError(`mic-mcp ${name} has no flag ${unknown}.${suggestion}`);
}

const rephraseTextForUser = (text: string): string =>
  text
    .replace(/(^|[.:] )Ask the user to (.)/g, (_, start: string, letter: string) => start + letter.toUpperCase())
    .replace(/\bask the user to /g, "");

/** The advice of a failure is written for an agent. A command addresses the user directly. */
export const rephraseFailureForUser = (facts: FailureFacts): FailureFacts => ({
  ...facts,
  message: rephraseTextForUser(facts.message),
  ...(facts.next !== undefined && { next: rephraseTextForUser(facts.next) }),
});

/** Reports an error on stderr. Returns its reason and the exit code: 2 for a UsageError, else 1. */
export function reportError(thrown: unknown, command: Command): { readonly code: 1 | 2; readonly reason: string } {
  const error = toUsageError(thrown, command);
  const isUsage = error instanceof UsageError;
  const next = isUsage
    ? `Run mic-mcp ${command.name} --help for its arguments and flags.`
    : error instanceof Failure
      ? rephraseFailureForUser(error.facts).next
      : undefined;
  const reason = errorMessage(error);
  process.stderr.write(`mic-mcp: ${reason}\n${next === undefined ? "" : `${next}\n`}`);
  return { code: isUsage ? 2 : 1, reason };
}
