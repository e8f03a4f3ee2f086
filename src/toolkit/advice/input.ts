// Which row of the table an input is told by.
import { namesItsKind } from "../../contract/endpoints/bodies.ts";
import type { Input } from "../../contract/inputs.ts";
import { word } from "../../outside.ts";
import { uris } from "../resources/uri.ts";
import type { Subject, Telling } from "../results.ts";
import { INPUT, type InputCase } from "./phrases.ts";

/** A scan ends by itself, and one that is stuck may. */
export const isInputMoving = ({ state }: Input): boolean => state === "WAITING_SCAN";

function inputCase({ state, scanState }: Input): InputCase {
  switch (state) {
    case "WAITING_SCAN":
      return scanState === "UNAVAILABLE" || scanState === "STALE" ? "scan stuck" : "in scan";
    case "READY":
      return "ready";
    case "QUARANTINED":
      return scanState === "INFECTED" ? "infected" : "quarantined";
    case "EXPIRED":
      return "expired";
    case "WITHDRAWN":
      return "withdrawn";
  }
}

export function tellInput(input: Input): Telling {
  const { id, workspaceId, inputKind, referenceId, scanState } = input;
  const again = { workspaceId, inputKind, referenceId };
  const facts = {
    id,
    workspaceId,
    scanState,
    what: `Input ${word(id)} (${inputKind} ${word(referenceId)})`,
    again: namesItsKind(again) ? again : undefined,
  };
  const { says, step } = INPUT[inputCase(input)];
  const nextStep = step?.(facts);
  return { summary: says(facts), ...(nextStep && { nextStep }) };
}

export const inputSubject: Subject<Input> = { uri: ({ id }) => uris.input(id), tell: tellInput };
