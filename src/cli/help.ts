// Formats help texts from the table of commands, and the text for a user who starts the server at a terminal.
import { type Command, commands, flagsOf, INSTALL_CLIENTS } from "./commands.ts";
import { version } from "./version.ts";

export const EXIT_CODES =
  "Exit codes: 0 success, 1 failure, 2 invalid usage or setting, 3 identical call ran before, 4 not configured,\n5 job not successful or not submitted, 6 job not finished.";

const ENV_FILE = ["--env-file FILE", "set the variables in this file (lines NAME=VALUE) that are not set"] as const;

export function formatColumns(rows: readonly (readonly [left: string, right: string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}   ${right}`.trimEnd()).join("\n");
}

export function formatSynopsis(command: Command): string {
  const { name, argumentsUsage } = command;
  const flags = flagsOf(command).map(({ usage }) => `[${usage}]`);
  return ["mic-mcp", name, ...(argumentsUsage === undefined ? [] : [argumentsUsage]), ...flags].join(" ");
}

/** The part of a command that concerns one action; the whole command if it has no such action. */
export function selectAction(command: Command, action = ""): Command {
  const { actions = {}, flags, examples, ...rest } = command;
  const [usage, summary] = Object.entries(actions).find(([each]) => each.split(" ")[0] === action) ?? [];
  if (usage === undefined || summary === undefined) return command;
  const isFor = (about: string): boolean => {
    const [, names] = /^with (.*?):/.exec(about) ?? [];
    return names === undefined || names.split(", ").includes(action);
  };
  return {
    ...rest,
    argumentsUsage: usage,
    summary,
    flags: Object.fromEntries(Object.entries(flags).filter(([, about]) => isFor(about))),
    examples: examples.filter(([line]) => line.includes(`${command.name} ${action}`)),
  };
}

export function formatCommandHelp(command: Command): string {
  const flags = flagsOf(command).map(({ usage, about }) => [usage, about] as const);
  return [
    `${formatSynopsis(command)}\n\n  ${command.summary}`,
    ...(command.actions ? [formatColumns(Object.entries(command.actions))] : []),
    ...(command.notes ? [command.notes.join("\n")] : []),
    formatColumns([...flags, ENV_FILE, ["--help, --version", ""]]),
    ...(command.examples.length === 0 ? [] : [`Examples:\n${formatColumns(command.examples)}`]),
    EXIT_CODES,
  ].join("\n\n");
}

export function formatProgramHelp(): string {
  return [
    `mic-mcp ${version}: geography and job processing for AI agents, over MCP`,
    formatColumns([
      ["mic-mcp", "Same as mic-mcp serve"],
      ...commands.map(
        ({ name, argumentsUsage = "", summary }) => [`mic-mcp ${name} ${argumentsUsage}`.trimEnd(), summary] as const,
      ),
    ]),
    "Run mic-mcp COMMAND --help for the flags of a command, with examples. Environment variables: MIC_BASE_URL, MIC_CLIENT_ID,\nMIC_CLIENT_SECRET, MIC_WORKSPACE_ID, MIC_KEYCHAIN and others in\nhttps://github.com/mic-mcp/mic-mcp/blob/main/docs/use/configuration.md. NO_COLOR turns colors off.",
    formatColumns([ENV_FILE, ["--help, --version", ""]]),
    EXIT_CODES,
  ].join("\n\n");
}

/** Shown if the user runs `mic-mcp` at a terminal, because the server would wait for a client that never connects. */
export const gettingStartedText =
  (): string => `mic-mcp ${version} is an MCP server for AI agents. To try it from a terminal:

${formatColumns([
  ["mic-mcp demo", "run a job against an emulator and print a transcript"],
  ["mic-mcp call", "list the tools"],
  ["mic-mcp call find_district Hyderabad --emulator", "call a tool without an account"],
  ["mic-mcp login", "store credentials for the MIC API"],
  ["mic-mcp doctor", "check the setup"],
  ["mic-mcp --help", "list all commands"],
])}

To add it to an agent: mic-mcp install ${INSTALL_CLIENTS.join("|")} [--emulator]`;
