// Runs one command line: selects the command, shows help, and returns the exit code (docs/interface.md, "Program").
import { UsageError } from "../core/config.ts";
import { describeRemovedName } from "../core/removed-names.ts";
import { TOOL_NAMES } from "../core/tool-names.ts";
import {
  COMMANDS,
  type CommandName,
  commandNames,
  commandOf,
  type HttpFlags,
  isCommandName,
  parseArguments,
  parseIntegerFlag,
  type RunCommand,
} from "./commands.ts";
import { didYouMean, reportError } from "./errors.ts";
import { formatCommandHelp, formatProgramHelp, gettingStartedText, selectAction } from "./help.ts";
import { wrapLines } from "./tables.ts";
import { version } from "./version.ts";

/** Each flag takes precedence over the variable of the same name. Throws UsageError. */
const runServe: RunCommand<"serve"> = async ({ values }, environment) => {
  const {
    http: isHttp = false,
    teams: isTeams = false,
    host,
    port,
    "no-token": mayOmitToken = false,
    ...flags
  } = values;
  if (isHttp && isTeams)
    throw new UsageError("--http (for one user) and --teams (for an organization) cannot be combined.");
  if (!isHttp && !isTeams && (host !== undefined || port !== undefined))
    throw new UsageError("--host and --port require --http or --teams.");
  if (mayOmitToken && !isHttp) throw new UsageError("--no-token requires --http.");
  const overlay = Object.entries(flags).map(([flag, value]) => [
    `MIC_${flag.replaceAll("-", "_").toUpperCase()}`,
    value === true ? "1" : value,
  ]);
  const settings: NodeJS.ProcessEnv = { ...environment, ...Object.fromEntries(overlay) };
  const listen: HttpFlags = { host, port: parseIntegerFlag("port", port, 65535), mayOmitToken };
  if (isTeams) return await (await import("../teams/program.ts")).serve(settings, listen);
  return await (await import("./serve.ts")).serve(settings, isHttp ? listen : undefined);
};

/** Each command is loaded when it is used. */
const LOADERS: { readonly [Name in CommandName]: () => Promise<RunCommand<Name>> } = {
  serve: async () => runServe,
  call: async () => (await import("./call.ts")).call,
  watch: async () => (await import("./watch.ts")).watch,
  show: async () => (await import("./show.ts")).show,
  actions: async () => (await import("./actions.ts")).actions,
  resolve: async () => (await import("./actions.ts")).resolve,
  demo: async () => (await import("../demo/demo.ts")).runDemo,
  install: async () => (await import("./install.ts")).install,
  uninstall: async () => (await import("./install.ts")).uninstall,
  login: async () => (await import("./login.ts")).login,
  logout: async () => (await import("./login.ts")).logout,
  doctor: async () => (await import("./doctor.ts")).doctor,
  teams: async () => (await import("../teams/program.ts")).teams,
  emulator: async () => (await import("./emulator.ts")).emulator,
  completion: async () => (await import("./completion.ts")).completion,
};

const print = (text: string): number => {
  process.stdout.write(`${wrapLines(text, process.stdout)}\n`);
  return 0;
};

async function showHelp([first = "", ...rest]: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const topic = rest.find((argument) => !argument.startsWith("-"));
  if (first === "call" && topic !== undefined)
    return print(await (await import("./call.ts")).formatHelpOfTool(topic, environment));
  return print(isCommandName(first) ? formatCommandHelp(selectAction(commandOf(first), topic)) : formatProgramHelp());
}

function parseCommand(argv: readonly string[]): { readonly name: CommandName; readonly args: readonly string[] } {
  const [first, ...args] = argv;
  if (first === undefined || first.startsWith("-")) return { name: "serve", args: argv };
  if (isCommandName(first)) return { name: first, args };
  const removed = describeRemovedName(`mic-mcp ${first}`);
  if (removed !== undefined) throw new UsageError(removed);
  const suggestion = didYouMean(first, commandNames, (name) => `mic-mcp ${name}`);
  throw new UsageError(`${JSON.stringify(first)} is not a command of mic-mcp.${suggestion}`);
}

/** The longest interval that a Node timer accepts, about 25 days. */
const MAX_INTERVAL_MS = 2 ** 31 - 1;

/** A command may wait only for timers that do not keep the process alive; then Node would exit with 0 during the wait. */
async function keepProcessAlive<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => undefined, MAX_INTERVAL_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

async function loadAndRun<Name extends CommandName>(
  name: Name,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const parsed = parseArguments(COMMANDS[name], args);
  const run = await LOADERS[name]();
  return await run(parsed, environment);
}

function helpTopic(name: CommandName, args: readonly string[]): string {
  const tool = TOOL_NAMES.find((each) => args.includes(each));
  return name === "call" && tool !== undefined ? `${name} ${tool}` : name;
}

async function runCommand(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { name, args } = parseCommand(argv);
  try {
    const work = loadAndRun(name, args, environment);
    // A server runs as long as its stdin or its port is open, and must exit within 1 s after it closes.
    return await (name === "serve" ? work : keepProcessAlive(work));
  } catch (thrown) {
    const { code, reason } = reportError(thrown, commandOf(name), helpTopic(name, args));
    const isForClient = name === "serve" && !args.includes("--http") && !args.includes("--teams");
    if (code === 2 && isForClient) await (await import("./report-startup-error.ts")).reportStartupError(reason);
    return code;
  }
}

async function runCommandLine(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const [first, ...rest] = argv;
  if (first === undefined && process.stdin.isTTY) return print(gettingStartedText());
  if (first === "version" || first === "-v" || argv.includes("--version")) return print(version);
  if (first === "help") return await showHelp(rest, environment);
  if (argv.some((argument) => argument === "--help" || argument === "-h")) return await showHelp(argv, environment);
  return await runCommand(argv, environment);
}

export async function main(all: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  try {
    const hasEnvFile = all.some((argument) => argument.startsWith("--env-file"));
    const argv = hasEnvFile ? await (await import("./env-file.ts")).applyEnvFile(all, environment) : all;
    return typeof argv === "number" ? argv : await runCommandLine(argv, environment);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`mic-mcp: ${error.message}\nRun mic-mcp --help for the commands.\n`);
    return 2;
  }
}
