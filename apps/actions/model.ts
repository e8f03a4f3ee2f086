// Actions of the journal as the view lists them: what is not settled comes first.

import type { Call } from "../act.ts";
import { type Fields, fieldsOf, isFields, listOf, numberOf, type Told, textOf } from "../values.ts";

export interface ActionShown {
  readonly tool: string;
  readonly key: string;
  readonly state: string;
  readonly about: string;
  readonly made: string;
  readonly code: string;
  readonly attempts: number;
  readonly updatedAt: string;
  /** The complete call that settles it. */
  readonly settles: Call | undefined;
}

function callOf(value: unknown): Call | undefined {
  const { tool, arguments: args }: Fields = fieldsOf(value);
  return typeof tool === "string" && isFields(args) ? { tool, arguments: args } : undefined;
}

function actionOf(value: unknown): ActionShown {
  const { tool, idempotencyKey, state, about, resourceId, code, attempts, updatedAt, nextStep } = fieldsOf(value);
  return {
    tool: textOf(tool),
    key: textOf(idempotencyKey),
    state: textOf(state),
    about: textOf(about),
    made: textOf(resourceId),
    code: textOf(code),
    attempts: numberOf(attempts) ?? 0,
    updatedAt: textOf(updatedAt),
    settles: callOf(nextStep),
  };
}

/** Undefined where the result has no actions: of another tool, or of a host that made it up. */
export function actionsOf({ structured }: Told): readonly ActionShown[] | undefined {
  const { actions } = structured;
  return Array.isArray(actions) ? listOf(actions).map(actionOf) : undefined;
}

export const isSettled = ({ state }: ActionShown): boolean => state === "succeeded" || state === "rejected";

const ORDER = ["unknown", "in_progress"];
const placeOf = ({ state }: ActionShown): number => (ORDER.includes(state) ? ORDER.indexOf(state) : ORDER.length);

/** What is unknown, what is open, then the rest; the latest first in each. */
export const inOrder = (actions: readonly ActionShown[]): readonly ActionShown[] =>
  [...actions].sort((a, b) => placeOf(a) - placeOf(b) || b.updatedAt.localeCompare(a.updatedAt));
