// What a person is told of a command line that cannot be read: which word it is, and which one was probably meant.
import { UsageError } from "../../config.ts";
import { errorCode, reasonOf } from "../../failure.ts";
import type { Command } from "./command.ts";
import { didYouMean } from "./nearest.ts";

/** node goes on to say how a word that begins with a dash is written; none of ours does. */
const UNKNOWN_FLAG = /^Unknown option '(-[^']*)'/;

/** What parseArgs has thrown, in our words; whatever else was thrown as it is. */
export function asUsageError(error: unknown, { name, flags }: Command): unknown {
  if (!errorCode(error).startsWith("ERR_PARSE_ARGS")) return error;
  const reason = reasonOf(error);
  const unknown = UNKNOWN_FLAG.exec(reason)?.[1];
  if (unknown === undefined) return new UsageError(reason);
  const names = ["help", "version", ...Object.keys(flags)];
  const like = didYouMean(unknown.replace(/^-+/, ""), names, (flag) => `--${flag}`);
  return new UsageError(`mic-mcp ${name} has no flag ${unknown}.${like}`);
}
