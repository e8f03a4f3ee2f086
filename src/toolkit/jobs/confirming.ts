// This module builds the one question to the user about all jobs whose work a call would discard.
import type { ActionDescriptor } from "../../actions/actions.ts";
import { formatCount } from "../../core/counts.ts";
import { formatToken, quote } from "../../core/untrusted-text.ts";
import type { ConfirmationPrompt } from "../define-tool.ts";
import type { ToolContext } from "../tool-context.ts";
import { mapConcurrently, stateSuffix } from "./batch.ts";

interface JobsQuestion {
  readonly reason: string;
  /** The actions of the call, by the id of their job. */
  readonly actions: ReadonlyMap<string, ActionDescriptor>;
  /** Returns the state of a job whose work would be discarded; an empty string if it cannot be read, and undefined for any other job. */
  stateOf(jobId: string, ctx: ToolContext): Promise<string | undefined>;
  /** "Cancel 3 jobs? Their finished work is discarded" */
  question(jobs: string): string;
}

/** An action in the journal was confirmed before, or needed no confirmation. There is no question if no other job is left. */
export const confirmJobs = ({ reason, actions, stateOf, question }: JobsQuestion) => ({
  actions: [...actions.values()],
  async prepare(ctx: ToolContext): Promise<ConfirmationPrompt | undefined> {
    const named = await mapConcurrently([...actions], async ([jobId, action]) => {
      if (await ctx.actions.findExisting(action)) return undefined;
      const state = await stateOf(jobId, ctx);
      return state === undefined ? undefined : `${formatToken(jobId)}${stateSuffix(state)}`;
    });
    if (named.length === 0) return undefined;
    const text = `${question(formatCount(named.length, "job"))}: ${named.join(", ")}. The reason given: ${quote(reason)}`;
    return { text, resourceVersion: undefined };
  },
});
