// This module defines the ports that tools are created with, and the context of one tool call.
import type { ServiceActions } from "../actions/service-actions.ts";
import type { CallContext } from "../api-client/attempts.ts";
import type { ApiClient } from "../api-client/client.ts";
import type { Downloads } from "../api-client/downloads.ts";
import { Failure } from "../core/failure.ts";
import type { Geography } from "../geography/geography.ts";
import type { RecipeOfferCache, RetryCache } from "./caches.ts";
import type { LinkedFiles } from "./linked-files.ts";
import type { ToolName } from "./tool-names.ts";

/** The download folder, the only folder that tools write to, and the function that saves a file in it. */
export interface FolderFiles extends Pick<Downloads, "save"> {
  readonly kind: "folder";
  readonly folder: string;
}

/** The dependencies of all tools. Each function picks the ones that it uses. */
export interface Ports {
  readonly service: ApiClient;
  readonly actions: ServiceActions;
  /** Sends all requests to the playground API. */
  readonly geography: Geography;
  /** A folder if the caller is on this machine; links if callers are on other machines. */
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

/** The result of a call to an action tool. */
export interface ActionCallResult {
  readonly resourceId?: string | undefined;
  /** A sentence about an earlier attempt or an earlier identical call, if there was one. */
  readonly notice?: string | undefined;
  /** Present if nothing was sent, because an identical call ran before. */
  readonly replay?: object | undefined;
}

export interface ToolCall {
  readonly tool: ToolName;
  readonly context: CallContext;
  /**
   * Present if the call returns at the deadline of its context even if an action is in flight: the action then continues in the background
   * until this time, in milliseconds since 1970.
   */
  readonly actionDeadlineAt?: number;
  /** The default workspace. `workspaceId` is optional if there is one. */
  readonly workspaceId?: string | undefined;
  /** The Idempotency-Key of a new action of this call, if the agent passes no key. */
  readonly proposedKey?: string | undefined;
  /** The `resourceVersion` of the job in the question, if the user was asked to confirm. */
  readonly shownVersion?: number | undefined;
  /** True if the client follows tasks: a job that the call starts becomes a task, and the call does not wait for it. */
  readonly followsTasks?: boolean;
  /** Returns true if this server offers the tool. */
  isOffered(tool: string): boolean;
  /** Calls an action tool by its name; returns undefined if there is no such tool. Throws Failure. */
  callActionTool(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    context: CallContext,
  ): Promise<ActionCallResult | undefined>;
  /** Reports progress if the client requested it. */
  report(progress: Progress): void;
}

/** Returns the Failure of one step of a call. Throws the error again if it is not a Failure, or if the call was canceled. */
export function toStepFailure(error: unknown, { context }: Pick<ToolCall, "context">): Failure {
  if (error instanceof Failure && !context.signal.aborted) return error;
  throw error;
}
