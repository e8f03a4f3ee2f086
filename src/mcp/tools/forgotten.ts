// Answers that speak of actions say what the journal has forgotten, if it has.
import type { CallToolResult } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../contract/json.ts";
import type { Tool } from "../../toolkit/define-tool.ts";

const ACTS: readonly Tool["effect"][] = ["create", "cancel", "retry"];

/** What was told before is in the journal. */
const isOld = ({ action }: Readonly<Record<string, unknown>>): boolean =>
  isJsonObject(action) && action["replayed"] === true;

/** `sentence`: absent where nothing is forgotten. It ends the summary, and the text of what was done now or is listed. */
export function withForgotten(
  answer: CallToolResult,
  { name, effect }: Pick<Tool, "name" | "effect">,
  sentence: string | undefined,
): CallToolResult {
  const { structuredContent: structured, content } = answer;
  if (sentence === undefined || !(name === "list_actions" || ACTS.includes(effect))) return answer;
  if (!isJsonObject(structured) || isOld(structured) || typeof structured["summary"] !== "string") return answer;
  const [first, ...otherContent] = content;
  if (first?.type !== "text") return answer;
  return {
    ...answer,
    content: [{ ...first, text: `${first.text}\n${sentence}` }, ...otherContent],
    structuredContent: { ...structured, summary: `${structured["summary"]} ${sentence}` },
  };
}
