// A call as the line that makes it, for a person to copy. What others have chosen (an id, a key, a reason) must not become a
// command of its own.
import { escaped } from "../../outside.ts";

export const shellWord = (text: string): string =>
  /^[\w.:/=@%+-]*[\w/=@%+-]$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const pairs = (name: string, value: unknown): readonly string[] => {
  if (Array.isArray(value) && value.every((each) => typeof each === "string" && !each.startsWith("[")))
    return value.map((each) => `${name}=${each}`);
  return [`${name}=${typeof value === "string" ? value : JSON.stringify(value)}`];
};

/** One line without invisible characters: those of an id are shown as escapes, so that the user sees them. */
export function callLine(tool: string, args: Readonly<Record<string, unknown>>): string {
  const words = Object.entries(args).flatMap(([name, value]) => pairs(name, value).map(shellWord));
  return escaped(["mic-mcp call", tool, ...words].join(" "));
}
