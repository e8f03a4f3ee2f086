// What can stand where on a command line: from the table of commands, and of what the tools say of themselves.
import { tools } from "../../../tools/index.ts";
import { argumentsOf, choicesOf } from "../call/listing.ts";
import type { Command } from "../command-line/command.ts";
import { COMMANDS, SHELLS, TEAM_ACTIONS } from "../commands.ts";

export interface Word {
  readonly text: string;
  readonly about: string;
}

export interface FlagWord extends Word {
  /** Undefined where it stands alone; empty where any value may follow. */
  readonly values: readonly string[] | undefined;
}

export interface CommandWords extends Word {
  readonly flags: readonly FlagWord[];
  /** What may stand behind its name. */
  readonly takes: readonly Word[];
}

export interface ToolWords extends Word {
  /** NAME=, and NAME=VALUE where the values are few. */
  readonly args: readonly string[];
}

export interface Words {
  readonly commands: readonly CommandWords[];
  readonly tools: readonly ToolWords[];
}

const plain = (text: string): Word => ({ text, about: "" });

const TAKES: Readonly<Record<string, readonly Word[]>> = {
  call: tools.filter(({ view }) => view === undefined).map(({ name, title }) => ({ text: name, about: title })),
  completion: SHELLS.map(plain),
  teams: TEAM_ACTIONS.map(plain),
};

const commandWords = ({ name, does, flags }: Command): CommandWords => ({
  text: name,
  about: does,
  flags: Object.entries(flags).map(([flag, { type, about, oneOf = [] }]) => ({
    text: `--${flag}`,
    about,
    values: type === "boolean" ? undefined : oneOf,
  })),
  takes: TAKES[name] ?? [],
});

export const words = (): Words => ({
  commands: Object.values(COMMANDS).map(commandWords),
  tools: tools.map(({ name, title, inputSchema }) => ({
    text: name,
    about: title,
    args: argumentsOf(inputSchema()).flatMap(([argument, schema]) => {
      const choices = choicesOf(schema);
      return choices.length === 0 ? [`${argument}=`] : choices.map((choice) => `${argument}=${choice}`);
    }),
  })),
});
