// Which phrase fits an input.
import { againKey } from "../../actions/keys.ts";
import { namesItsKind } from "../../contract/endpoints/bodies.ts";
import type { Input } from "../../contract/inputs.ts";
import { pick } from "../lean.ts";
import type { MovingSubject } from "../read-resource.ts";
import { uris } from "../resources/uri.ts";
import type { Advice } from "../results.ts";
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
  // Derived from the input, so that repeating the offered call registers the file only once more.
  const again = { workspaceId, inputKind, referenceId, idempotencyKey: againKey(id) };
  const facts = {
    id,
    workspaceId,
    scanState,
    again: namesItsKind(again) ? again : undefined,
  };
  const phrase = INPUT[inputCase(input)];
  const nextStep = phrase.nextStep?.(facts);
  return { summary: phrase.summary(facts), ...(nextStep && { nextStep }), isRoutine: phrase.isRoutine ?? false };
}

const NAMED = ["id", "state", "inputKind", "referenceId", "scanState"];

export const inputSubject: MovingSubject<Input> = {
  version: ({ resourceVersion }) => resourceVersion,
  isMoving: isInputMoving,
  standing: ({ state, scanState }) => ({ is: state, at: `scan ${scanState}` }),
  state: ({ state }) => state,
  // An expired one has its own next step; one that is not safe to use is not registered again.
  mayRunAgain: ({ state }) => state === "READY" || state === "WAITING_SCAN",
  uri: ({ id }) => uris.input(id),
  advise: inputAdvice,
  lean: (input) => pick(input, NAMED, { inputKind: "M4_FILE", scanState: "CLEAN" }),
};
