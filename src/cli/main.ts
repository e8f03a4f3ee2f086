// The command line: which command, its help, and the exit code (docs/interface.md, "Program").
import { parseArgs } from "node:util";
import { UsageError } from "../config.ts";
import { help, helpOf, welcome } from "./command-line/help.ts";
import { didYouMean } from "./command-line/nearest.ts";
import { tell } from "./command-line/told.ts";
import { COMMANDS, type CommandName, commandNames, isCommandName } from "./commands.ts";
import { wholeNumber } from "./flags.ts";
import { keptAlive } from "./keep-alive.ts";
import { serveFlags } from "./serve-flags.ts";
import { version } from "./version.ts";

async function runServe(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { isHttp, isTeams, misplaced, host, port, whole } = serveFlags(args, environment);
  if (misplaced !== undefined) throw new UsageError(misplaced);
  const listen = { host, port: wholeNumber("port", port, 65535) };
  if (isTeams) return await (await import("../teams/program.ts")).serve(whole, listen);
  const { serve } = await import("./serve.ts");
  return await serve(whole, isHttp ? listen : undefined);
}

type Run = (args: readonly string[], environment: NodeJS.ProcessEnv) => Promise<number>;

const RUN: Readonly<Record<CommandName, Run>> = {
  serve: runServe,
  call: async (args, environment) => await (await import("./call/call.ts")).call(args, environment),
  watch: async (args, environment) => await (await import("./watch/watch.ts")).watch(args, environment),
  show: async (args, environment) => await (await import("./show/show.ts")).show(args, environment),
  actions: async (args, environment) => await (await import("./actions.ts")).actions(args, environment),
  resolve: async (args, environment) => await (await import("./resolve.ts")).resolve(args, environment),
  demo: async (args) => {
    parseArgs({ args: [...args], options: COMMANDS.demo.flags });
    return await (await import("../demo/demo.ts")).demo();
  },
  login: async (args, environment) => await (await import("./login.ts")).login(args, environment),
  logout: async (args, environment) => await (await import("./login.ts")).logout(args, environment),
  status: async (args, environment) => await (await import("./status.ts")).status(args, environment),
  doctor: async (args, environment) => await (await import("./doctor.ts")).doctor(args, environment),
  teams: async (args, environment) => await (await import("../teams/program.ts")).teams(args, environment),
  migrate: async (args, environment) => await (await import("../teams/program.ts")).migrate(args, environment),
  emulator: async (args) => await (await import("./emulator.ts")).emulator(args),
  completion: async (args) => await (await import("./completion/completion.ts")).completion(args),
};

const say = (text: string): number => {
  process.stdout.write(`${text}\n`);
  return 0;
};

/** Of a tool where one is named, else of a command, else of all. */
async function showHelp([first = "", ...rest]: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const tool = rest.find((word) => !word.startsWith("-"));
  if (first === "call" && tool !== undefined)
    return say(await (await import("./call/call.ts")).helpOfTool(tool, environment));
  return say(isCommandName(first) ? helpOf(COMMANDS[first]) : help());
}

const asksForHelp = (word: string): boolean => word === "--help" || word === "-h";

/** The command that a line names; without one it is serve's. Throws UsageError. */
function commandOf(argv: readonly string[]): { readonly name: CommandName; readonly args: readonly string[] } {
  const [first, ...args] = argv;
  if (first === undefined || first.startsWith("-")) return { name: "serve", args: argv };
  if (isCommandName(first)) return { name: first, args };
  const like = didYouMean(first, commandNames, (name) => `mic-mcp ${name}`);
  throw new UsageError(`${JSON.stringify(first)} is not a command of mic-mcp.${like}`);
}

async function runCommand(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { name, args } = commandOf(argv);
  try {
    const work = RUN[name](args, environment);
    // A server lives as long as its stdin or its port, and has to end within a second of either.
    return await (name === "serve" ? work : keptAlive(work));
  } catch (thrown) {
    const { code, reason } = tell(thrown, COMMANDS[name]);
    const isForClient = name === "serve" && !args.includes("--http") && !args.includes("--teams");
    if (code === 2 && isForClient) await (await import("./refuse-client.ts")).refuseClient(reason);
    return code;
  }
}

/** Runs one command line and gives its exit code. */
export async function main(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const [first, ...rest] = argv;
  if (first === undefined && process.stdin.isTTY) return say(welcome());
  if (first === "version" || first === "-v" || argv.includes("--version")) return say(version);
  try {
    if (first === "help") return await showHelp(rest, environment);
    if (argv.some(asksForHelp)) return await showHelp(argv, environment);
    return await runCommand(argv, environment);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`mic-mcp: ${error.message}\nRun mic-mcp --help for what there is.\n`);
    return 2;
  }
}
