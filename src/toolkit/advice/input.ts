// Which phrase fits an input.
import { namesItsKind } from "../../contract/endpoints/bodies.ts";
import type { Input } from "../../contract/inputs.ts";
import { word } from "../../outside.ts";
import { uris } from "../resources/uri.ts";
import type { Advice, Subject } from "../results.ts";
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

export function inputAdvice(input: Input): Advice {
  const { id, workspaceId, inputKind, referenceId, scanState } = input;
  const again = { workspaceId, inputKind, referenceId };
  const facts = {
    id,
    workspaceId,
    scanState,
    what: `Input ${word(id)} (${inputKind} ${word(referenceId)})`,
    again: namesItsKind(again) ? again : undefined,
  };
  const phrase = INPUT[inputCase(input)];
  const nextStep = phrase.nextStep?.(facts);
  return { summary: phrase.summary(facts), ...(nextStep && { nextStep }) };
}

export const inputSubject: Subject<Input> = { uri: ({ id }) => uris.input(id), advise: inputAdvice };
