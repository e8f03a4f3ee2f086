// Reads the file of `--env-file FILE`, which every command accepts: lines NAME=VALUE, as systemd and Docker read them.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { checkPath, UsageError } from "../core/config.ts";
import { errorCode, errorMessage } from "../core/failure.ts";
import { onSignal } from "./signals.ts";

const FLAG = "--env-file";
/** Node reads this variable only when the process starts. */
const CA_FILE = "NODE_EXTRA_CA_CERTS";

function takeFlag(
  argv: readonly string[],
  environment: NodeJS.ProcessEnv,
): { readonly rest: readonly string[]; readonly file: string | undefined } {
  const index = argv.findIndex((argument) => argument === FLAG || argument.startsWith(`${FLAG}=`));
  if (index < 0) return { rest: argv, file: undefined };
  const [, inline] = argv[index]?.split(/=(.*)/s) ?? [];
  const file = inline ?? argv[index + 1];
  if (file === undefined || file === "") throw new UsageError(`${FLAG} requires the path of a file.`);
  return { rest: argv.toSpliced(index, inline === undefined ? 2 : 1), file: checkPath(FLAG, file, environment) };
}

/** A value needs no quotes, and ends with its line. Quotes around it are removed, as by systemd. Throws UsageError. */
function readEnvFile(file: string): Readonly<Record<string, string>> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(
      `${FLAG} ${JSON.stringify(file)} cannot be read (${errorCode(error) || errorMessage(error)}).`,
    );
  }
  const entries = text.split("\n").flatMap((line, index) => {
    if (/^\s*(?:[#;].*)?$/.test(line)) return [];
    const [, name, value = ""] = /^\s*([A-Za-z_]\w*)=(.*?)\s*$/.exec(line) ?? [];
    // The line may contain a secret, so the message does not quote it.
    if (name === undefined)
      throw new UsageError(`Line ${index + 1} of ${FLAG} ${JSON.stringify(file)} must be NAME=VALUE or # a comment.`);
    return [[name, /^(["'])(.*)\1$/.exec(value)?.[2] ?? value] as const];
  });
  return Object.fromEntries(entries);
}

async function runInNewProcess(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const [, script = ""] = process.argv;
  const child = spawn(process.execPath, [...process.execArgv, script, ...argv], { env: environment, stdio: "inherit" });
  // A terminal sends SIGINT to both processes.
  onSignal((signal) => void (signal === "SIGINT" || child.kill(signal)));
  const [code] = await once(child, "exit");
  return typeof code === "number" ? code : 1;
}

/** Adds the variables of the file that are not set. Returns the other arguments, or the exit code of another process. Throws UsageError. */
export async function applyEnvFile(
  argv: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<readonly string[] | number> {
  const { rest, file } = takeFlag(argv, environment);
  if (file === undefined) return argv;
  const added = Object.entries(readEnvFile(file)).filter(([name]) => environment[name] === undefined);
  for (const [name, value] of added) environment[name] = value;
  return added.some(([name]) => name === CA_FILE) ? await runInNewProcess(rest, environment) : rest;
}
