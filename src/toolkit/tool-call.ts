// What one call of a tool works with, and how it reports on its way.
import type { Actions, Delivery } from "../actions/actions.ts";
import type { Journal } from "../actions/journal.ts";
import type { Geography } from "../geography/geography.ts";
import type { CallContext } from "../service/attempts.ts";
import type { Service } from "../service/call.ts";
import type { Downloads } from "../service/downloads.ts";
import type { Offers } from "./jobs/offers.ts";
import type { Retries } from "./jobs/retries.ts";
import type { ToolName } from "./tool-names.ts";

export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message: string;
}

/** What one call of a tool works with. */
export interface ToolCall {
  /** The tool's own name. */
  readonly tool: ToolName;
  readonly actions: Actions;
  /** Opens the action journal. Throws Failure. */
  readonly journal: () => Promise<Journal>;
  /** Whose Idempotency-Keys these are: base URL and client. Throws Failure `not_configured`. */
  readonly serviceName: () => Promise<string>;
  readonly service: Service;
  /** Every playground request goes through it. */
  readonly geography: Geography;
  readonly downloads: Downloads;
  readonly offers: Offers;
  /** Which jobs this process has seen retried. */
  readonly retries: Retries;
  readonly downloadDir: string;
  /** The Idempotency-Key that a new action of this call takes, where the agent names none. */
  readonly proposedKey?: string | undefined;
  /** The version of the job that the person was asked about. */
  readonly shownVersion?: number | undefined;
  readonly context: CallContext;
  /** Whether an agent can call this tool here. */
  isOffered(tool: ToolName): boolean;
  /** Tells the client how far the work is; does nothing when it did not ask. */
  report(progress: Progress): void;
  /** This call's answer will carry an action's outcome to the agent. */
  carry(delivery: Delivery): void;
}
