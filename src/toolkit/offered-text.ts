// Adapts texts for agents to the tools that a server offers.

import { TOOL_NAMES } from "../core/tool-names.ts";
import { blankQuotedText } from "../core/untrusted-text.ts";

const TOOL_NAME = new RegExp(`\\b(?:${TOOL_NAMES.join("|")})\\b`, "g");

/** Omits each sentence that mentions a tool that is not offered, as a whole, except in quoted text. A text therefore states its facts in sentences that name no tool. */
export function omitUnofferedTools(text: string, isOffered: (name: string) => boolean): string {
  const mentionsOnlyOffered = (part: string): boolean => (part.match(TOOL_NAME) ?? []).every(isOffered);
  if (mentionsOnlyOffered(text)) return text;
  let end = -1;
  return blankQuotedText(text)
    .split(/(?<=\.) /)
    .flatMap((sentence) => {
      const start = end + 1;
      end = start + sentence.length;
      return mentionsOnlyOffered(sentence) ? text.slice(start, end) : [];
    })
    .join(" ");
}
