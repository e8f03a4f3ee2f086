// Turns a failure into a self-contained text for the agent. Programs get the same facts in `_meta`.
import { errorMessage, Failure, type FailureFacts } from "../../core/failure.ts";
import { escapeText, formatToken, quote } from "../../core/untrusted-text.ts";

const SIDE_EFFECTS: Readonly<Record<FailureFacts["sideEffect"], string>> = {
  none: "Nothing was changed.",
  done: "The action took effect.",
  unknown: "It is not known whether anything was changed.",
};

const MAX_FIELDS = 20;
/** Maximum length of a field's message in the contract, in characters. */
const MAX_MESSAGE = 1_000;

/** Returns one text for each invalid field. If the failure has a status, the messages come from the API and are quoted. */
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
    facts.earlierSteps ?? SIDE_EFFECTS[facts.sideEffect],
    facts.retryAfterSeconds !== undefined && `Retry after ${facts.retryAfterSeconds} s.`,
    facts.idempotencyKey !== undefined && `idempotencyKey: ${formatToken(facts.idempotencyKey)}`,
    facts.code !== undefined && !facts.message.includes(formatToken(facts.code)) && `code: ${formatToken(facts.code)}`,
    facts.requestId !== undefined && `requestId: ${formatToken(facts.requestId)}`,
    facts.next !== undefined && `Next: ${facts.next}`,
  ];
  return lines.filter((line) => line !== false).join("\n");
}

/** Creates the failure of a call to a tool that this server does not offer. */
export const toolNotFound = (name: string): Failure =>
  new Failure({
    kind: "not_found",
    message: `${formatToken(name)} is not offered here.`,
    retryable: false,
    sideEffect: "none",
  });

/** Converts a thrown value to facts. An internal error is reported as such, with only its message. */
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
