// Creates the actions of one caller. Callers of a team share a client of the API, but no key, no outcome and no list of actions. An observer
// writes the audit in the statements of the journal.
import { createHash, createHmac } from "node:crypto";
import type { ActionObserver } from "../../actions/action-observer.ts";
import { type ActionCallerOptions, type ActionContext, type Actions, createActions } from "../../actions/actions.ts";
import { parseServiceName } from "../../actions/service-name.ts";
import { memoizeUntilFailure } from "../../core/async.ts";
import { type Auditor, auditResolution } from "../audit/rows.ts";
import { refuseOtherWorkspace, WORKSPACE_PARAMETER } from "./identity.ts";

/** Returns JSON of the client id, and a hash of base URL, client id and caller. It is short, because four indexes contain it. */
export function createCallerServiceName(service: string, caller: string): string {
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

/** Writes the audit row of each action. `begin`: see ActionObserver. */
export const createActionObserver = (auditor: Auditor, begin: ActionObserver["begin"]): ActionObserver => ({
  begin,
  end: () => auditResolution(auditor),
});

interface CallerActionsOptions extends Omit<ActionCallerOptions, "listedServiceName" | "upstreamKey"> {
  readonly caller: string;
  /** Returns the secret of the upstream idempotency keys. */
  readonly readUpstreamSecret: () => Promise<Uint8Array>;
  /** The only workspace of the caller's team; undefined without a team. */
  readonly workspaceId?: string | undefined;
}

export function createCallerActions(
  context: ActionContext,
  { caller, readUpstreamSecret, workspaceId, serviceName, ...options }: CallerActionsOptions,
): Actions {
  const actions = createActions(context, {
    ...options,
    serviceName: memoizeUntilFailure(async () => createCallerServiceName(await serviceName(), caller)).get,
    upstreamKey: createUpstreamKeyMapper(readUpstreamSecret, caller),
  });
  return {
    ...actions,
    // Callers must not learn about the actions of others.
    countOfOtherClients: async () => 0,
    async perform(call) {
      // An action in another workspace is not recorded.
      if (workspaceId !== undefined) refuseOtherWorkspace(call.arguments[WORKSPACE_PARAMETER], workspaceId);
      return await actions.perform(call);
    },
  };
}
