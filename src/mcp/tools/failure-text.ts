// Turns a failure into what an agent reads: text that is complete by itself. The facts stand beside it for programs.
import { errorMessage, Failure, type FailureFacts } from "../../core/failure.ts";
import { escapeText, formatToken, quote } from "../../core/untrusted-text.ts";

const SIDE_EFFECTS: Readonly<Record<FailureFacts["sideEffect"], string>> = {
  none: "Nothing was changed.",
  done: "The action took effect.",
  unknown: "It is not known whether anything was changed.",
};

const MAX_FIELDS = 20;
/** The contract lets a field's message be this long. */
const MAX_MESSAGE = 1_000;

/** What is wrong with each field. Where there is a status, the words are the service's, and are quoted. */
export const fieldTexts = ({ status, fieldErrors = [] }: FailureFacts): readonly string[] =>
  fieldErrors.map(({ pointer, message }) => {
    const where = pointer === "" ? "(the whole)" : formatToken(pointer, MAX_MESSAGE);
    return `${where}: ${status === undefined ? escapeText(message) : quote(message, MAX_MESSAGE)}`;
  });

export function failureText(tool: string, facts: FailureFacts): string {
  const codes = (facts.fieldErrors ?? []).map(({ code }) => formatToken(code));
  const fields = fieldTexts(facts).map((text, index) => `- ${text} [${codes[index]}]`);
  const shown = fields.slice(0, MAX_FIELDS);
  if (fields.length > shown.length) shown.push(`- and ${fields.length - shown.length} more`);
  const lines = [
    `${tool} failed (${facts.kind}): ${facts.message}`,
    ...shown,
    // "Nothing was changed." would deny what the earlier steps did.
    (facts.earlierSteps === undefined || facts.sideEffect !== "none") && SIDE_EFFECTS[facts.sideEffect],
    facts.earlierSteps !== undefined && facts.earlierSteps,
    facts.retryAfterSeconds !== undefined && `Retry after ${facts.retryAfterSeconds} s.`,
    facts.idempotencyKey !== undefined && `idempotencyKey: ${formatToken(facts.idempotencyKey)}`,
    facts.code !== undefined && !facts.message.includes(formatToken(facts.code)) && `code: ${formatToken(facts.code)}`,
    facts.requestId !== undefined && `requestId: ${formatToken(facts.requestId)}`,
    facts.next !== undefined && `Next: ${facts.next}`,
  ];
  return lines.filter((line) => line !== false).join("\n");
}

/** For a tool that its user cannot have here. */
export const toolNotFound = (name: string): Failure =>
  new Failure({
    kind: "not_found",
    message: `${formatToken(name)} is not offered here.`,
    retryable: false,
    sideEffect: "none",
  });

/** Turns anything thrown into facts. A fault of our own says that it is one, and shows only its message. */
export function factsOf(thrown: unknown): FailureFacts {
  if (thrown instanceof Failure) return thrown.facts;
  return {
    kind: "internal",
    message: `mic-mcp itself failed: ${escapeText(errorMessage(thrown))}.`,
    retryable: false,
    sideEffect: "unknown",
    next: "Ask the user to report this error of mic-mcp; its log on stderr has details at MIC_LOG_LEVEL=debug.",
  };
}
