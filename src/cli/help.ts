// Formats help texts from the table of commands, and the text for a user who starts the server at a terminal.
import { COMMANDS, type Command, type Flag } from "./commands.ts";
import { version } from "./version.ts";

const EXIT_CODES = "Exit codes: 0 fine, 1 the work failed, 2 wrong usage or configuration.";

/** Formats rows as two columns, with the second one aligned. */
export function formatColumns(rows: readonly (readonly [left: string, right: string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}   ${right}`.trimEnd()).join("\n");
}

export const formatFlag = (name: string, { value }: Flag): string =>
  value === undefined ? `--${name}` : `--${name} ${value}`;

export function formatSynopsis({ name, argumentsUsage, flags }: Command): string {
  const shown = Object.entries(flags).map(([flag, definition]) => `[${formatFlag(flag, definition)}]`);
  return ["mic-mcp", name, ...(argumentsUsage === undefined ? [] : [argumentsUsage]), ...shown].join(" ");
}

export function formatCommandHelp(command: Command): string {
  const flags = Object.entries(command.flags).map(([name, flag]) => [formatFlag(name, flag), flag.about] as const);
  const examples = command.examples.map(({ commandLine, description }) => [commandLine, description] as const);
  return [
    `${formatSynopsis(command)}\n\n  ${command.summary}`,
    ...(command.notes ? [command.notes.join("\n")] : []),
    formatColumns([...flags, ["--help, --version", ""]]),
    `Examples:\n${formatColumns(examples)}`,
    EXIT_CODES,
  ].join("\n\n");
}

export function formatProgramHelp(): string {
  const all: readonly Command[] = Object.values(COMMANDS);
  return [
    `mic-mcp ${version}: geography and job processing for AI agents, over MCP`,
    formatColumns([
      ["mic-mcp", "the same as serve"],
      ...all.map(
        ({ name, argumentsUsage = "", summary }) => [`mic-mcp ${name} ${argumentsUsage}`.trimEnd(), summary] as const,
      ),
    ]),
    "mic-mcp COMMAND --help shows a command's flags, with examples. Variables: MIC_BASE_URL, MIC_CLIENT_ID, MIC_CLIENT_SECRET,\nMIC_WORKSPACE_ID, MIC_KEYCHAIN and more in docs/interface.md. NO_COLOR leaves colors out.",
    "  --help, --version",
    EXIT_CODES,
  ].join("\n\n");
}

/** Shown if the user runs `mic-mcp` at a terminal, because the server would wait for a client that never connects. */
export const gettingStartedText =
  (): string => `mic-mcp ${version} is an MCP server: a program that AI agents start and speak to. To have a look at it by hand:

${formatColumns([
  ["mic-mcp demo", "the whole of it, told as a transcript"],
  ["mic-mcp call", "its tools, and how to call one"],
  ["mic-mcp login", "the service's credentials"],
  ["mic-mcp doctor", "what is well, and what is not"],
  ["mic-mcp --help", "everything"],
])}

An agent gets it by one line, such as: claude mcp add mic -- mic-mcp serve --emulator`;
