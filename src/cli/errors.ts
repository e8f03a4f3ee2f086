// Reports the failure of a command on stderr and determines its exit code (docs/interface.md, "Program").
import { distance } from "fastest-levenshtein";
import { UsageError } from "../core/config.ts";
import {
  errorCode,
  errorMessage,
  type Failure,
  type FailureKind,
  type FailureReport,
  toReport,
} from "../core/failure.ts";
import { type Command, flagsOf, isCommandName } from "./commands.ts";
import { PERSON } from "./terminal-reader.ts";

/** Returns whether the name starts with the same letter and contains the typed letters in their order, such as "lvl" for "level". */
function isAbbreviation(typed: string, name: string): boolean {
  if (typed[0] !== name[0]) return false;
  let rest = name;
  for (const letter of typed) {
    const at = rest.indexOf(letter);
    if (at < 0) return false;
    rest = rest.slice(at + 1);
  }
  return true;
}

/** Returns "" if no name is similar. One letter in three (but always one) may differ, or letters may be left out; case is ignored. */
export function didYouMean(typed: string, names: readonly string[], shown = (name: string): string => name): string {
  const lower = typed.toLowerCase();
  const [best] = names
    .map((name) => ({ name, off: distance(lower, name.toLowerCase()) }))
    .filter(
      ({ name, off }) => off <= Math.max(1, Math.floor(name.length / 3)) || isAbbreviation(lower, name.toLowerCase()),
    )
    .sort((one, other) => one.off - other.off);
  return best === undefined ? "" : ` Did you mean ${shown(best.name)}?`;
}

/** Returns the choice with this name. Throws UsageError. `what`: the argument or flag, as the help shows it. */
export function parseChoice<const T extends string>(what: string, typed: string, choices: readonly T[]): T {
  const choice = choices.find((each) => each === typed);
  if (choice !== undefined) return choice;
  throw new UsageError(`${what} must be one of ${choices.join(", ")}.${didYouMean(typed, choices)}`);
}

// Node's messages continue with advice about positional arguments that start with a dash; no command takes one.
const UNKNOWN_FLAG = /^Unknown option '(-[^']*)'/;
const POSITIONAL = /^Unexpected argument '([^']*)'/;
const FLAG_VALUE = /^Option '(?:-\w, )?(--[\w-]+)[^']*' (does not take)?/;

function toUsageError(error: unknown, command: Command): unknown {
  if (!errorCode(error).startsWith("ERR_PARSE_ARGS")) return error;
  const reason = errorMessage(error);
  const positional = POSITIONAL.exec(reason)?.[1];
  if (positional !== undefined && isCommandName(positional))
    return new UsageError(`Write flags after the command: mic-mcp ${positional} … --FLAG.`);
  if (positional !== undefined)
    return new UsageError(`mic-mcp ${command.name} has no place for the argument ${positional}.`);
  const [, flag, takesNone] = FLAG_VALUE.exec(reason) ?? [];
  if (flag !== undefined)
    return new UsageError(takesNone ? `${flag} takes no value.` : `${flag} needs a value: ${flag}=VALUE.`);
  const unknown = UNKNOWN_FLAG.exec(reason)?.[1];
  if (unknown === undefined) return new UsageError(reason);
  const names = ["help", "version", "env-file", ...flagsOf(command).map(({ name }) => name)];
  const suggestion = didYouMean(unknown.replace(/^-+/, ""), names, (flag) => `--${flag}`);
  return new UsageError(`mic-mcp ${command.name} has no flag ${unknown}.${suggestion}`);
}

// The code of a deployment has its own copies of these classes (src/teams/program.ts).
const isFailure = (error: unknown): error is Failure => error instanceof Error && error.name === "Failure";
const isUsageError = (error: unknown): boolean => error instanceof Error && error.name === "UsageError";

/** Describes an error to the user. `next`: the next step of a Failure, if it has one. */
export const describeError = (error: unknown): Pick<FailureReport, "message" | "next"> =>
  isFailure(error) ? toReport(error.facts, PERSON) : { message: errorMessage(error) };

const EXIT_CODES: Readonly<Partial<Record<FailureKind, number>>> = { invalid_arguments: 2, not_configured: 4 };

export const exitCodeOf = ({ kind }: Pick<FailureReport, "kind">): number => EXIT_CODES[kind] ?? 1;

/** `topic`: the command whose help is named (default: this one). Returns exit code 2 for a UsageError, else 1. */
export function reportError(
  thrown: unknown,
  command: Command,
  topic: string = command.name,
): { readonly code: 1 | 2; readonly reason: string } {
  const error = toUsageError(thrown, command);
  const isUsage = isUsageError(error);
  const isAboutVariables = error instanceof UsageError && error.isAboutVariables;
  const help = isAboutVariables ? undefined : `Run mic-mcp ${topic} --help for its arguments and flags.`;
  const next = isUsage ? help : describeError(error).next;
  const reason = errorMessage(error);
  process.stderr.write(`mic-mcp: ${reason}\n${next === undefined ? "" : `${next}\n`}`);
  return { code: isUsage ? 2 : 1, reason };
}
