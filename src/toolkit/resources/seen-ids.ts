// This module records ids from results for completion, since no tool lists inputs, operations and processing requests.

import { isJsonObject } from "../../contract/json.ts";
import { BoundedMap } from "../../core/bounded-map.ts";
import type { CompletionKind, CompletionValue } from "../completion-value.ts";
import type { ToolResult } from "../results.ts";
import { matchTemplate } from "../uri.ts";

/** The URIs of resources in results, with the prefix of each. */
const TEMPLATES = [
  { kind: "jobId", prefix: "mic://jobs/", template: "mic://jobs/{jobId}" },
  { kind: "inputId", prefix: "mic://inputs/", template: "mic://inputs/{inputId}" },
  { kind: "operationId", prefix: "mic://operations/", template: "mic://operations/{operationId}" },
  { kind: "requestId", prefix: "mic://processing-requests/", template: "mic://processing-requests/{requestId}" },
] as const satisfies readonly { readonly kind: CompletionKind; readonly prefix: string; readonly template: string }[];

const MAX_REMEMBERED = 100;

type Result = Pick<ToolResult, "data" | "link" | "hasEnded">;

const textOf = (data: unknown, field: string): string | undefined => {
  const value = isJsonObject(data) ? data[field] : undefined;
  return typeof value === "string" ? value : undefined;
};

export function createSeenIds() {
  /** The last recorded facts of each URI, the latest last. URIs are parsed only for completions, which are rarer than results. */
  const links = new Map(
    TEMPLATES.map(({ kind }) => [kind, new BoundedMap<string, Omit<CompletionValue, "value">>(MAX_REMEMBERED)]),
  );
  const references = new BoundedMap<string, CompletionValue>(MAX_REMEMBERED);

  return {
    /** Records a result that an agent received. */
    recordResult({ data, link, hasEnded }: Result): void {
      const kind = link === undefined ? undefined : TEMPLATES.find(({ prefix: head }) => link.startsWith(head))?.kind;
      const seen = kind && links.get(kind);
      if (link === undefined || seen === undefined) return;
      const [state, referenceId] = [textOf(data, "state"), textOf(data, "referenceId")];
      const name = [state, referenceId].filter((text) => text !== undefined).join(" ");
      seen.delete(link);
      seen.set(link, { name, isUnresolved: hasEnded === false });
      if (referenceId === undefined) return;
      references.delete(referenceId);
      references.set(referenceId, { value: referenceId });
    },
    /** Returns the recorded values of this kind, the latest first. */
    list(kind: CompletionKind): readonly CompletionValue[] {
      if (kind === "referenceId") return [...references.values()].reverse();
      const known = TEMPLATES.find((each) => each.kind === kind);
      if (!known) return [];
      const seen = [...(links.get(known.kind) ?? [])].reverse();
      return seen.flatMap(([link, entry]) => {
        const value = matchTemplate(known.template, link)?.[kind];
        return value === undefined ? [] : [{ value, ...entry }];
      });
    },
  };
}
