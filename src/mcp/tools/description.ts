// Adapts the description of a tool to the tools that a server offers.
import { TOOL_NAMES } from "../../toolkit/tool-names.ts";

const TOOL_NAME = new RegExp(`\\b(?:${TOOL_NAMES.join("|")})\\b`, "g");

/** Omits each sentence that mentions a tool that is not offered. The first sentence of a description mentions no other tool. */
export const omitUnofferedTools = (description: string, offered: Pick<ReadonlySet<string>, "has">): string =>
  description
    .split(/(?<=\.) /)
    .filter((sentence) => (sentence.match(TOOL_NAME) ?? []).every((name) => offered.has(name)))
    .join(" ");
