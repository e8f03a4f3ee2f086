// Formats the manual page of the program (`man mic-mcp`) from the table of commands.
import { type Command, commands, flagsOf } from "../src/cli/commands.ts";
import { EXIT_CODES, formatSynopsis } from "../src/cli/help.ts";

/** Escapes the characters that have a meaning in roff. Not all versions of roff read UTF-8. */
const escapeText = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("…", "...")
    .replace(/^(?=[.'])/gm, "\\&");

const formatEntry = (term: string, about: string): string => `.TP\n.B ${escapeText(term)}\n${escapeText(about)}`;

function formatCommand(command: Command): string {
  const { name, summary, actions = {}, notes = [], examples } = command;
  return [
    `.SS ${escapeText(name)}`,
    `.B ${escapeText(formatSynopsis(command))}`,
    ...[summary + (summary.endsWith(".") ? "" : "."), ...notes].map((line) => `.PP\n${escapeText(line)}`),
    ...Object.entries(actions).map(([action, about]) => formatEntry(action, about)),
    ...flagsOf(command).map(({ usage, about }) => formatEntry(usage, about)),
    ...examples.map(([commandLine, description]) => formatEntry(commandLine, description)),
  ].join("\n");
}

export const formatManPage = ({ version, description }: { version: string; description: string }): string =>
  `${[
    `.TH MIC\\-MCP 1 "" "mic\\-mcp ${version}"`,
    `.SH NAME\nmic\\-mcp \\- ${escapeText(description)}`,
    ".SH SYNOPSIS\n.B mic\\-mcp\n[COMMAND] [ARGUMENTS]\n.PP\nWithout COMMAND, mic\\-mcp serves MCP, as mic\\-mcp serve does.",
    ".SH COMMANDS",
    ...commands.map(formatCommand),
    `.SH EXIT STATUS\n${escapeText(EXIT_CODES)}`,
    ".SH ENVIRONMENT\nThe settings are variables that start with MIC_; the documentation lists them. NO_COLOR turns colors off.",
  ].join("\n")}\n`;
