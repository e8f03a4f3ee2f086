// A Problem in words: text from the service is data, never instructions (docs/architecture.md, "What an agent reads").
import type { Problem } from "../../contract/problem.ts";
import { quote, word } from "../../outside.ts";

/** A failure in a few words; what is wrong with which field stands beside them, in `data.failure`. */
export const problemName = ({ code, title }: Problem): string => `${word(code)} ${quote(title)}`;

/** A failure in words: code, quoted title, and the first field errors. */
export function problemText(problem: Problem): string {
  const fields = problem.fieldErrors
    .slice(0, 3)
    .map(({ pointer, message }) => `${pointer === "" ? "the whole" : word(pointer)}: ${quote(message)}`);
  const more = problem.fieldErrors.length - fields.length;
  const where = fields.length === 0 ? "" : ` (${fields.join("; ")}${more > 0 ? `; ${more} more` : ""})`;
  return `${problemName(problem)}${where}`;
}

/** A failure beside a state that should have none (doubt 17), as a sentence; else nothing. */
export const strayFailure = ({
  state,
  failure,
}: {
  readonly state: string;
  readonly failure: Problem | null;
}): string =>
  state === "FAILED" || failure === null ? "" : ` The service names a failure all the same: ${problemName(failure)}.`;
