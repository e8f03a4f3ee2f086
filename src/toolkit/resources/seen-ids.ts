// This module records ids from results for completion, since no tool lists inputs, operations and processing requests.

import { isJsonObject } from "../../contract/json.ts";
import { BoundedMap } from "../../core/bounded-map.ts";
import type { CompletionKind, CompletionValue } from "../completion-value.ts";
import type { ToolResult } from "../results.ts";

/** The kinds that are recorded. Each is the only variable of a resource's template. */
const KINDS = ["jobId", "inputId", "operationId", "requestId"] as const satisfies readonly CompletionKind[];

const MAX_REMEMBERED = 100;

type Result = Pick<ToolResult, "data" | "link" | "hasEnded">;

const textOf = (data: unknown, field: string): string | undefined => {
  const value = isJsonObject(data) ? data[field] : undefined;
  return typeof value === "string" ? value : undefined;
};

export function createSeenIds() {
  /** The values by kind, the latest last. */
  const seen = new Map<CompletionKind, BoundedMap<string, CompletionValue>>(
    [...KINDS, "referenceId" as const].map((kind) => [kind, new BoundedMap(MAX_REMEMBERED)]),
  );
  function record(kind: CompletionKind, entry: CompletionValue): void {
    const values = seen.get(kind);
    values?.delete(entry.value);
    values?.set(entry.value, entry);
  }

  return {
    /** Records a result that an agent received. */
    recordResult({ data, link, hasEnded }: Result): void {
      const kind = KINDS.find((name) => link?.variables[name] !== undefined);
      const value = kind && link?.variables[kind];
      if (kind === undefined || value === undefined) return;
      const [state, referenceId] = [textOf(data, "state"), textOf(data, "referenceId")];
      const name = [state, referenceId].filter((text) => text !== undefined).join(" ");
      record(kind, { value, name, isUnresolved: hasEnded === false });
      if (referenceId !== undefined) record("referenceId", { value: referenceId });
    },
    /** Returns the recorded values of this kind, the latest first. */
    list: (kind: CompletionKind): readonly CompletionValue[] => [...(seen.get(kind)?.values() ?? [])].reverse(),
  };
}
