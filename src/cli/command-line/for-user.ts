// The advice of a failure is written for an agent. A command shows it to the user themselves, without "Ask the user to".
import type { FailureFacts } from "../../failure.ts";

const toUser = (text: string): string =>
  text
    .replace(/(^|[.:] )Ask the user to (.)/g, (_, start: string, letter: string) => start + letter.toUpperCase())
    .replace(/\bask the user to /g, "");

export const forUser = (facts: FailureFacts): FailureFacts => ({
  ...facts,
  message: toUser(facts.message),
  ...(facts.next !== undefined && { next: toUser(facts.next) }),
});
