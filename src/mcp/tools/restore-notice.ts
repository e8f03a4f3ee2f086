// Answers that speak of actions say what the journal has forgotten, if it has.
import type { CallToolResult } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../contract/json.ts";
import type { Tool } from "../../toolkit/define-tool.ts";

const ACTION_EFFECTS: readonly Tool["effect"][] = ["create", "cancel", "retry"];

/** What was told before is in the journal. */
const isReplay = ({ action }: Readonly<Record<string, unknown>>): boolean =>
  isJsonObject(action) && action["replayed"] === true;

/** `sentence`: absent where nothing is forgotten. It ends the summary, and the text of what was done now or is listed. */
export function withRestoreNotice(
  answer: CallToolResult,
  { name, effect }: Pick<Tool, "name" | "effect">,
  restoreNotice: string | undefined,
): CallToolResult {
  const { structuredContent: structured, content } = answer;
  if (restoreNotice === undefined || !(name === "list_actions" || ACTION_EFFECTS.includes(effect))) return answer;
  if (!isJsonObject(structured) || isReplay(structured) || typeof structured["summary"] !== "string") return answer;
  const [first, ...otherContent] = content;
  if (first?.type !== "text") return answer;
  return {
    ...answer,
    content: [{ ...first, text: `${first.text}\n${restoreNotice}` }, ...otherContent],
    structuredContent: { ...structured, summary: `${structured["summary"]} ${restoreNotice}` },
  };
}
