// What a tool works with: the ports that it is created with, and what belongs to one call.
import type { ServiceActions } from "../actions/service-actions.ts";
import type { CallContext } from "../api-client/attempts.ts";
import type { ApiClient } from "../api-client/client.ts";
import type { Downloads } from "../api-client/downloads.ts";
import { Failure } from "../core/failure.ts";
import type { Geography } from "../geography/geography.ts";
import type { RecipeOfferCache, RetryCache } from "./caches.ts";
import type { LinkedFiles } from "./linked-files.ts";
import type { ToolName } from "./tool-names.ts";

/** The one folder that tools write to, and how a file gets there. */
export interface FolderFiles extends Pick<Downloads, "save"> {
  readonly kind: "folder";
  readonly folder: string;
}

/** Each tool names the few that it works with. */
export interface Ports {
  readonly service: ApiClient;
  readonly actions: ServiceActions;
  /** Every playground request goes through it. */
  readonly geography: Geography;
  /** Files here, for a caller on this machine; links, for callers elsewhere. */
  readonly files: FolderFiles | LinkedFiles;
  readonly offers: RecipeOfferCache;
  readonly retries: RetryCache;
}

export type ActionPorts = Pick<Ports, "service" | "actions">;
export type JobPorts = Pick<Ports, "service" | "actions" | "offers" | "retries">;

export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message: string;
}

/** What the call of an action tool made. */
export interface ActionCallResult {
  readonly resourceId?: string | undefined;
  /** Why this is not simply the answer of a new action. */
  readonly notice?: string | undefined;
  /** Present if nothing was sent. */
  readonly replay?: object | undefined;
}

export interface ToolCall {
  /** The tool's own name. */
  readonly tool: ToolName;
  readonly context: CallContext;
  /** The Idempotency-Key that a new action of this call takes if the agent names none. */
  readonly proposedKey?: string | undefined;
  /** The version of the job that the user was asked about. */
  readonly shownVersion?: number | undefined;
  /** A job that the call starts is a task for its client: the call does not wait for it. */
  readonly followsTasks?: boolean;
  /** Whether an agent can call this tool here. */
  isOffered(tool: ToolName): boolean;
  /** Calls an action tool by its name; undefined if there is no such tool. Throws Failure. */
  callActionTool(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    context: CallContext,
  ): Promise<ActionCallResult | undefined>;
  /** Reports progress to a client that asked for it. */
  report(progress: Progress): void;
}

/** The Failure that one step of a call ended with. Throws everything else, and also what ended a canceled call. */
export function toStepFailure(error: unknown, { context }: Pick<ToolCall, "context">): Failure {
  if (error instanceof Failure && !context.signal.aborted) return error;
  throw error;
}
