// Adapts texts for agents to the tools that a server offers.
import { TOOL_NAMES } from "./tool-names.ts";

const TOOL_NAME = new RegExp(`\\b(?:${TOOL_NAMES.join("|")})\\b`, "g");

/** Omits each sentence that mentions a tool that is not offered. The first sentence of a description mentions no other tool. */
export const omitUnofferedTools = (text: string, isOffered: (name: string) => boolean): string =>
  text
    .split(/(?<=\.) /)
    .filter((sentence) => (sentence.match(TOOL_NAME) ?? []).every(isOffered))
    .join(" ");
