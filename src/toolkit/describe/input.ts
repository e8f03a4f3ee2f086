// This module describes inputs.

import { deriveRepeatKey } from "../../actions/idempotency-keys.ts";
import { matchesInputKind } from "../../contract/endpoints/bodies.ts";
import type { Input } from "../../contract/inputs.ts";
import { forReader, say } from "../../core/text.ts";
import { CALL_LIMIT_SECONDS } from "../../core/time-limits.ts";
import type { Advice, Description, NextStep, Status } from "../results.ts";
import { pickSummaryFields, truncateToSeconds, unlistedText } from "../summary-view.ts";
import { references } from "../uri.ts";

/** Returns true if the input has expired at `readAt` (milliseconds since 1970, by the API's clock), whether or not its state says so. */
export const hasExpired = ({ state, expiresAt }: Input, readAt: number | undefined): boolean =>
  state === "EXPIRED" ||
  (state === "READY" && expiresAt !== null && readAt !== undefined && Date.parse(expiresAt) <= readAt);

/** The key is derived from the input, so a repeated call registers the file only one more time. */
function registerAgainStep({ id, workspaceId, inputKind, referenceId }: Input): NextStep | undefined {
  const again = { workspaceId, inputKind, referenceId, idempotencyKey: deriveRepeatKey(id) };
  if (!matchesInputKind(again)) return undefined;
  return { tool: "register_input", arguments: again, why: say`registers the file again, as a new input` };
}

const OTHER_FILE = forReader("Ask the user for another file", "Use another file");

function advise(input: Input, readAt: number | undefined): Advice {
  const { id, state, inputKind, scanState, expiresAt } = input;
  if (hasExpired(input, readAt))
    return {
      summary: say`The input has EXPIRED; register the file again to use it.`,
      nextStep: registerAgainStep(input),
    };
  switch (state) {
    case "WAITING_SCAN": {
      const wait = { tool: "get_input", arguments: { inputId: id, waitSeconds: CALL_LIMIT_SECONDS } } as const;
      return scanState === "UNAVAILABLE" || scanState === "STALE"
        ? {
            summary: say`The input waits for a scan that is ${scanState}; a job needs it to be READY. If that does not change, ${forReader("ask the user to ", "")}contact the API's operator.`,
            nextStep: { ...wait, why: say`waits for the scan; if it does not change, try again in some minutes` },
          }
        : {
            isRoutine: true,
            summary: say`The input is being scanned (${scanState}); a job needs it to be READY.`,
            nextStep: { ...wait, why: say`waits for the scan` },
          };
    }
    case "READY": {
      const until = expiresAt !== null && say` until ${truncateToSeconds(expiresAt)}`;
      // No field shows whether a file is shared.
      const shared = inputKind === "M4_FILE" && say` A shared file may first need request_file_processing.`;
      return { summary: say`The input is READY${until}. run_job can use it.${shared}` };
    }
    case "QUARANTINED":
      return {
        summary: say`The input is QUARANTINED (scan ${scanState}) and cannot be used. ${OTHER_FILE}.`,
      };
    case "WITHDRAWN":
      return { summary: say`The input was WITHDRAWN and cannot be used. ${OTHER_FILE}.` };
    default:
      return { summary: say`The input is ${state}, not READY. ${unlistedText(state)}` };
  }
}

const FIELDS: readonly (keyof Input)[] = [
  "id",
  "environment",
  "state",
  "inputKind",
  "referenceId",
  "scanState",
  "expiresAt",
];

/** `readAt`: the time of the API's response, in milliseconds since 1970. */
export const describeInput = (input: Input, readAt?: number): Description => ({
  ...advise(input, readAt),
  fields: pickSummaryFields(input, FIELDS, { inputKind: "M4_FILE", scanState: "CLEAN" }),
  link: references.input(input.id),
});

export const inputStatus = ({ resourceVersion, state, scanState }: Input): Status => ({
  version: resourceVersion,
  // An input with a stuck scan also counts as in progress, since the scan may still end.
  isInProgress: state === "WAITING_SCAN",
  text: say`${state}`,
  detail: say`scan ${scanState}`,
  // An expired input has its own next step, and an unsafe input must not be registered again.
  mayRunAgain: state === "READY" || state === "WAITING_SCAN",
});
