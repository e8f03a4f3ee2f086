// How old a geography answer is, in the service's own words: repeated, never interpreted.
import type { StatesResponse } from "../contract/playground.ts";
import { quote } from "../outside.ts";

export function vintageText({
  source,
  sourceRef,
  sourceUpdatedAt,
  fallbackUsed,
}: Omit<StatesResponse, "states">): string {
  const when =
    sourceUpdatedAt === undefined ? "vintage not stated by the service" : `vintage ${quote(sourceUpdatedAt)}`;
  const from = source === undefined ? "" : `, source ${quote(source)}`;
  const at = sourceRef === undefined ? "" : ` at ${quote(sourceRef)}`;
  const fallback = fallbackUsed === undefined ? "" : `, fallbackUsed ${fallbackUsed}`;
  return `Catalogue ${when}${from}${at}${fallback}.`;
}
