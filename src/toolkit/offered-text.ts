// Adapts texts for agents to the tools that a server offers.
import { TOOL_NAMES } from "./tool-names.ts";

const TOOL_NAME = new RegExp(`\\b(?:${TOOL_NAMES.join("|")})\\b`, "g");

/** Omits each sentence, or part after a semicolon, that mentions a tool that is not offered. The first one mentions no other tool. */
export function omitUnofferedTools(text: string, isOffered: (name: string) => boolean): string {
  const mentionsOnlyOffered = (part: string): boolean => (part.match(TOOL_NAME) ?? []).every(isOffered);
  if (mentionsOnlyOffered(text)) return text;
  return text
    .split(/(?<=[.;]) /)
    .filter(mentionsOnlyOffered)
    .join(" ")
    .replace(/;$/, ".");
}
