// Creates the actions of one caller. Callers of a team share a client of the API, but no key, no outcome and no list of actions. An observer
// writes the audit and counts the jobs of the team in the statements of the journal.
import { createHash, createHmac } from "node:crypto";
import { type ActionObserver, ActionRefused } from "../../actions/action-observer.ts";
import { type ActionCallerOptions, type ActionContext, type Actions, createActions } from "../../actions/actions.ts";
import { createsJob } from "../../actions/journal-reads.ts";
import { parseServiceName } from "../../actions/service-name.ts";
import type { Database } from "../../store/database.ts";
import { type Auditor, auditResolution } from "../audit/rows.ts";
import { refuseOtherWorkspace, WORKSPACE_PARAMETER } from "./identity.ts";
import { assertJobLeft, uncountRejectedJob, withJobLimit } from "./job-limit.ts";

/** Returns JSON of the client id, and a hash of base URL, client id and caller. It is short, because four indexes contain it. */
function createCallerServiceName(service: string, caller: string): string {
  const [baseUrl, clientId] = parseServiceName(service);
  const hash = createHash("sha256").update(JSON.stringify([baseUrl, clientId, caller]));
  return JSON.stringify([clientId, hash.digest("base64url").slice(0, 22)]);
}

/**
 * Derives the upstream idempotency key from a caller and their key. All callers of a team are one client to the API, so no caller may be
 * able to choose the key of another. `readSecret` returns a secret of the deployment, 32 bytes. The result matches all three key grammars of the
 * contract, like a key of `generateKey` (docs/contract.md, 4.2).
 */
const createUpstreamKeyMapper =
  (readSecret: () => Promise<Uint8Array>, caller: string) =>
  async (key: string): Promise<string> =>
    `mic-${createHmac("sha256", await readSecret())
      .update(JSON.stringify([caller, key]))
      .digest("hex")
      .slice(0, 32)}`;

/** Writes the audit row of each action, and counts the jobs of the caller's team. */
export const createActionObserver = (database: Pick<Database, "query">, auditor: Auditor): ActionObserver => ({
  begin: (tool, sqlWith, values) =>
    createsJob(tool) ? withJobLimit(sqlWith, values, auditor.team) : { sql: sqlWith("TRUE"), values },
  async assertMayBegin(tool) {
    if (createsJob(tool)) await assertJobLeft(database, auditor.team);
  },
  end() {
    const traceId = auditor.traceId?.();
    return (resolve) => auditResolution(resolve, { ...auditor, traceId: () => traceId }, uncountRejectedJob);
  },
});

interface CallerActionsOptions extends Omit<ActionCallerOptions, "listedServiceName" | "upstreamKey"> {
  readonly caller: string;
  /** Returns the secret of the upstream idempotency keys. */
  readonly readUpstreamSecret: () => Promise<Uint8Array>;
  /** The only workspace of the caller's team; undefined without a team. */
  readonly workspaceId?: string | undefined;
  /** Receives the reason if the observer refused a new action. */
  readonly onRefused?: (reason: string) => void;
}

export function createCallerActions(
  context: ActionContext,
  { caller, readUpstreamSecret, workspaceId, onRefused, serviceName, ...options }: CallerActionsOptions,
): Actions {
  const actions = createActions(context, {
    ...options,
    serviceName: async () => createCallerServiceName(await serviceName(), caller),
    upstreamKey: createUpstreamKeyMapper(readUpstreamSecret, caller),
  });
  return {
    ...actions,
    // Callers must not learn about the actions of others.
    countOfOtherClients: async () => 0,
    async perform(call) {
      // An action in another workspace is not recorded.
      if (workspaceId !== undefined) refuseOtherWorkspace(call.arguments[WORKSPACE_PARAMETER], workspaceId);
      try {
        return await actions.perform(call);
      } catch (error) {
        if (error instanceof ActionRefused) onRefused?.(error.message);
        throw error;
      }
    },
  };
}
