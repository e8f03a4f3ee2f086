// What a person or a monitor is told of the journal: how much of it is not settled. Read as calls read it, so that one which
// cannot be used is found.
import type { Journal } from "./journal.ts";
import { stateNow } from "./listing.ts";

export interface JournalOverview {
  /** Under way, in a process that lives. */
  readonly open: number;
  /** What may have taken effect. */
  readonly unknown: number;
}

/** Nobody reads a larger number. */
const MAX_COUNTED = 1_000;

/** Throws Failure where the journal cannot be used. */
export async function overviewOf(journal: Journal): Promise<JournalOverview> {
  const unsettled = await journal.list(undefined, ["open", "unknown"], MAX_COUNTED);
  const open = unsettled.filter((action) => stateNow(action) === "open").length;
  return { open, unknown: unsettled.length - open };
}
