// The advice of a failure is written for an agent. A command shows it to the user themselves, without "Ask the user to".
import type { FailureFacts } from "../../failure.ts";

export function forUser(facts: FailureFacts): FailureFacts {
  if (facts.next === undefined) return facts;
  const next = facts.next.replace(/\bask the user to /gi, "");
  return { ...facts, next: next.charAt(0).toUpperCase() + next.slice(1) };
}
