// Ids that results have named, for completion: nothing lists inputs, operations and requests.
import { BoundedMap } from "../../bounded-map.ts";
import { isJsonObject } from "../../contract/json.ts";
import type { ToolResult } from "../results.ts";
import type { Candidate, CandidateKind } from "./candidate.ts";
import { variablesOf } from "./uri.ts";

/** The URIs by which results say what they speak of. */
const TEMPLATES = [
  ["jobId", "mic://jobs/{jobId}"],
  ["inputId", "mic://inputs/{inputId}"],
  ["operationId", "mic://operations/{operationId}"],
  ["requestId", "mic://processing-requests/{requestId}"],
] as const satisfies readonly (readonly [CandidateKind, string])[];

const MAX_REMEMBERED = 100;

type Result = Pick<ToolResult, "data" | "link" | "hasEnded">;

const textOf = (data: unknown, field: string): string | undefined => {
  const value = isJsonObject(data) ? data[field] : undefined;
  return typeof value === "string" ? value : undefined;
};

export function createSeen() {
  const kinds = new Map<CandidateKind, Map<string, Candidate>>();

  /** The latest last. */
  function remember(kind: CandidateKind, candidate: Candidate): void {
    const seen = kinds.get(kind) ?? new BoundedMap<string, Candidate>(MAX_REMEMBERED);
    kinds.set(kind, seen);
    seen.delete(candidate.value);
    seen.set(candidate.value, candidate);
  }

  return {
    /** An agent was given this. */
    note({ data, link, hasEnded }: Result): void {
      if (link === undefined) return;
      const [state, referenceId] = [textOf(data, "state"), textOf(data, "referenceId")];
      for (const [kind, template] of TEMPLATES) {
        const value = variablesOf(template, link)?.[kind];
        if (value === undefined) continue;
        const name = [state, referenceId].filter((text) => text !== undefined).join(" ");
        remember(kind, { value, name, isUnsettled: hasEnded === false });
        if (referenceId !== undefined) remember("referenceId", { value: referenceId });
      }
    },
    /** The latest first. */
    of: (kind: CandidateKind): readonly Candidate[] => [...(kinds.get(kind)?.values() ?? [])].reverse(),
  };
}
