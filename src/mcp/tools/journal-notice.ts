// Adds a notice to answers about actions if the journal lacks actions after a restore, or will be deleted.
import type { CallToolResult } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../contract/json.ts";
import type { Tool } from "../../toolkit/define-tool.ts";

const ACTION_EFFECTS: readonly Tool["effect"][] = ["create", "cancel", "retry"];

/** Whether the answer is a replay: its action is in the journal, so it needs no notice. */
const isReplay = ({ action }: Readonly<Record<string, unknown>>): boolean =>
  isJsonObject(action) && action["replayed"] === true;

/** Adds `journalNotice` to the summary and the text of new or listed actions. Undefined: there is nothing to report. */
export function withJournalNotice(
  answer: CallToolResult,
  { name, effect }: Pick<Tool, "name" | "effect">,
  journalNotice: string | undefined,
): CallToolResult {
  const { structuredContent: structured, content } = answer;
  if (journalNotice === undefined || !(name === "list_actions" || ACTION_EFFECTS.includes(effect))) return answer;
  if (!isJsonObject(structured) || isReplay(structured) || typeof structured["summary"] !== "string") return answer;
  const [first, ...otherContent] = content;
  if (first?.type !== "text") return answer;
  return {
    ...answer,
    content: [{ ...first, text: `${first.text}\n${journalNotice}` }, ...otherContent],
    structuredContent: { ...structured, summary: `${structured["summary"]} ${journalNotice}` },
  };
}
