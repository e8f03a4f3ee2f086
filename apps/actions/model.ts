// Reads the actions of the journal from a result and sorts them for the view: unresolved ones come first.

import type { ListedAction } from "../../src/actions/listing.ts";
import type { Call } from "../calls.ts";
import { type Fields, fieldsOf, isFields, listOf, numberOf, type ToolResult, textOf } from "../values.ts";

export interface ActionShown {
  readonly tool: string;
  readonly key: string;
  readonly state: string;
  readonly targetId: string;
  readonly createdId: string;
  readonly code: string;
  readonly timesSent: number;
  readonly updatedAt: string;
  /** The words of the user or agent: the client reference, alias or reason of the call. Empty if there are none. */
  readonly text: string;
  /** Why an unresolved action has no `resolvingCall`; otherwise empty. */
  readonly note: string;
  /** The complete call that resolves it. */
  readonly resolvingCall: Call | undefined;
}

function callOf(value: unknown): Call | undefined {
  const { tool, arguments: args }: Fields = fieldsOf(value);
  return typeof tool === "string" && isFields(args) ? { tool, arguments: args } : undefined;
}

function actionOf(value: unknown): ActionShown {
  const {
    tool,
    idempotencyKey,
    state,
    targetId,
    createdId,
    code,
    timesSent,
    updatedAt,
    nextStep,
    resolvable,
    arguments: args,
  } = fieldsOf<ListedAction>(value);
  const { clientReference, alias, reason } = fieldsOf(args);
  return {
    tool: textOf(tool),
    key: textOf(idempotencyKey),
    state: textOf(state),
    targetId: textOf(targetId),
    createdId: textOf(createdId),
    code: textOf(code),
    timesSent: numberOf(timesSent) ?? 0,
    updatedAt: textOf(updatedAt),
    text: [clientReference, alias, reason].map(textOf).find((text) => text !== "") ?? "",
    note: resolvable === false ? "Too old to be sent again; no tool can read its outcome" : "",
    resolvingCall: callOf(nextStep),
  };
}

/** Undefined if the result contains no actions: it is from another tool, or the host invented it. */
export function actionsOf({ structured }: ToolResult): readonly ActionShown[] | undefined {
  const { actions } = structured;
  return Array.isArray(actions) ? listOf(actions).map(actionOf) : undefined;
}

export const isResolved = ({ state }: ActionShown): boolean => state === "succeeded" || state === "rejected";

const ORDER = ["unknown", "in_progress"];
const rankOf = ({ state }: ActionShown): number => (ORDER.includes(state) ? ORDER.indexOf(state) : ORDER.length);

/** Sorts the actions: unknown outcomes, actions in progress, then the rest; in each group the latest first. */
export const sortActions = (actions: readonly ActionShown[]): readonly ActionShown[] =>
  [...actions].sort((a, b) => rankOf(a) - rankOf(b) || b.updatedAt.localeCompare(a.updatedAt));
