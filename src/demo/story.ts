// How the demo is told: numbered chapters, indented lines, colours only on a terminal, a fact that fails ends it.
import { escaped, json } from "../outside.ts";

const colourful = process.stdout.isTTY === true && process.env["NO_COLOR"] === undefined;
const paint = (code: number, text: string): string => (colourful ? `\u001b[${code}m${text}\u001b[0m` : text);

export const bold = (text: string): string => paint(1, text);
export const dim = (text: string): string => paint(2, text);
export const good = (text: string): string => paint(32, text);
export const bad = (text: string): string => paint(31, text);

let chapters = 0;

export const say = (text = ""): void => {
  process.stdout.write(text === "" ? "\n" : `${text.replace(/^/gm, "   ")}\n`);
};

export const chapter = (title: string): void => {
  chapters += 1;
  process.stdout.write(`\n${bold(`${chapters}. ${title}`)}\n`);
};

export const agentCalls = (tool: string, args: object): void => say(dim(`agent calls ${tool} ${json(args)}`));

/** A fact that must hold for the demo to be true. */
export function expect(holds: boolean, fact: string): asserts holds {
  if (!holds) throw new Error(escaped(`not as told: ${fact}`));
  say(`${good("ok")} ${escaped(fact)}`);
}
