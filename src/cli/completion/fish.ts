// Completion for fish: a line for each word, with what it is about.
import type { CommandWords, FlagWord, Words } from "./words.ts";

const quoted = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;

const seen = (names: readonly string[]): string => `__fish_seen_subcommand_from ${names.join(" ")}`;

function line(condition: string, words: readonly string[], about: string): string {
  const described = about === "" ? "" : ` -d ${quoted(about)}`;
  return `complete -c mic-mcp -n ${quoted(condition)} -a ${quoted(words.join(" "))}${described}`;
}

function flagLine(command: string, { text, about, values }: FlagWord): string {
  const value = values === undefined ? "" : ` -x -a ${quoted(values.join(" "))}`;
  const described = `-l ${text.slice(2)} -d ${quoted(about)}`;
  return `complete -c mic-mcp -n ${quoted(seen([command]))} ${described}${value}`;
}

export function fish({ commands, tools }: Words): string {
  const takesOf = ({ text, takes }: CommandWords): readonly string[] => {
    const names = takes.map((word) => word.text);
    return takes.map((word) => line(`${seen([text])}; and not ${seen(names)}`, [word.text], word.about));
  };
  return [
    "# mic-mcp completion for fish",
    "complete -c mic-mcp -f",
    ...commands.map(({ text, about }) => line("__fish_use_subcommand", [text], about)),
    ...commands.flatMap((command) => [
      ...command.flags.map((flag) => flagLine(command.text, flag)),
      ...takesOf(command),
    ]),
    ...tools.map(({ text, args }) => line(`${seen(["call"])}; and ${seen([text])}`, args, "")),
    line(
      seen(["help"]),
      commands.map(({ text }) => text),
      "",
    ),
  ].join("\n");
}
