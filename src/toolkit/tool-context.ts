// This module defines the context of one use of a tool: everything that the tool may use.
import type { Actions } from "../actions/actions.ts";
import type { CallContext } from "../api-client/attempts.ts";
import type { ApiClient } from "../api-client/client.ts";
import { abortFailure, Failure } from "../core/failure.ts";
import type { Text } from "../core/text.ts";
import type { ToolName } from "../core/tool-names.ts";
import type { Geography } from "../geography/geography.ts";
import type { RecipeOfferCache, RetryCache } from "./caches.ts";
import type { Files } from "./files.ts";

/** The parts of a context that all calls of one caller share. */
export interface Ports {
  readonly api: ApiClient;
  readonly actions: Actions;
  /** Sends all requests to the playground API. */
  readonly geography: Geography;
  readonly files: Files;
  readonly offers: RecipeOfferCache;
  readonly retries: RetryCache;
}

export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message: string;
}

export interface ActionCallResult {
  readonly createdId?: string;
  /** A sentence about an earlier attempt or an earlier identical call, if there was one. */
  readonly notice?: Text | undefined;
  /** Present if nothing was sent, because an identical call ran before. */
  readonly replay?: object;
}

/** The context of one tools/call, resources/read, completion or task. A narrower time limit is a copy with another `deadlineAt`. */
export interface ToolContext extends Ports, CallContext {
  /** The name of the tool that runs, under which its actions are recorded. */
  readonly tool: ToolName;
  /** If present, an action in flight at the call's deadline continues until this time, in milliseconds by `Timing.clockMs`. */
  readonly actionDeadlineAt?: number;
  /** The default workspace. `workspaceId` is optional if there is one. */
  readonly workspaceId?: string;
  /** The Idempotency-Key of a new action of this call, if the agent passes no key. */
  readonly proposedKey?: string;
  /** The `resourceVersion` of the job in the question, if the user was asked to confirm. */
  readonly shownVersion?: number;
  /** True if the client follows tasks: a job that the call starts becomes a task, and the call does not wait for it. */
  readonly followsTasks?: boolean;
  isOffered(tool: string): boolean;
  /** Calls an action tool by its name; returns undefined if there is no such tool. Throws Failure. */
  callActionTool(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    limits: CallContext,
  ): Promise<ActionCallResult | undefined>;
  /** Reports progress if the client requested it. */
  report(progress: Progress): void;
}

/**
 * Returns the Failure of one step of a call, also if the call was aborted: a call that has begun an action returns what it knows of it.
 * Throws any other error again.
 */
export function toStepFailure(error: unknown, { signal }: Pick<ToolContext, "signal">): Failure {
  if (error instanceof Failure) return error;
  if (signal.aborted) return abortFailure(signal);
  throw error;
}
