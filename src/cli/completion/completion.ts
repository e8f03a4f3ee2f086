// `mic-mcp completion SHELL`: the script that lets a shell complete commands, flags, tools and their arguments.
import { parseArgs } from "node:util";
import { UsageError } from "../../config.ts";
import { didYouMean } from "../command-line/nearest.ts";
import { COMMANDS, SHELLS } from "../commands.ts";
import { fish } from "./fish.ts";
import { bash, zsh } from "./posix.ts";
import { powershell } from "./powershell.ts";
import { type Words, words } from "./words.ts";

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], (words: Words) => string>> = { bash, zsh, fish, powershell };

/** Throws UsageError. */
export async function completion(args: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...args], options: COMMANDS.completion.flags, allowPositionals: true });
  const [named = "", ...more] = positionals;
  const shell = SHELLS.find((each) => each === named);
  if (shell === undefined || more.length > 0)
    throw new UsageError(`mic-mcp completion takes one of ${SHELLS.join(", ")}.${didYouMean(named, SHELLS)}`);
  process.stdout.write(`${SCRIPTS[shell](words())}\n`);
  return 0;
}
