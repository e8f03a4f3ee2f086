// Every state of an input: what it means for using it, and the next call.
import type { Input } from "../../contract/inputs.ts";
import type { Telling } from "../results.ts";

export function tellInput(input: Input): Telling {
  const what = `Input ${input.id} (${input.inputKind} ${input.referenceId})`;
  switch (input.state) {
    case "WAITING_SCAN":
      return {
        summary: `${what} waits for its scan (scan ${input.scanState}); a job needs it READY.`,
        nextStep: { tool: "get_input", arguments: { inputId: input.id }, why: "read again in a few seconds" },
      };
    case "READY":
      return {
        summary: `${what} is READY to be bound to a job.`,
        nextStep: {
          tool: "list_recipes",
          arguments: { workspaceId: input.workspaceId },
          why: "find the recipe to run on it",
        },
      };
    case "QUARANTINED":
      return { summary: `${what} is QUARANTINED (scan ${input.scanState}); it cannot be used.` };
    case "EXPIRED":
      return { summary: `${what} has EXPIRED; register the file again to use it.` };
    case "WITHDRAWN":
      return { summary: `${what} was WITHDRAWN; it cannot be used.` };
  }
}
