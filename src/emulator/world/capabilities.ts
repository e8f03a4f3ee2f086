// What the workspace can do, and the limits that bite when a job binds an input (docs/contract.md, 2.2, 8).
import type { Capability } from "../../contract/usage.ts";
import { Refusal } from "../problems.ts";
import type { InputRecord } from "./inputs.ts";

const common = { version: "1", enabled: true, prerequisite: null, evidenceRef: null, languages: ["en", "hi"] };

export const CAPABILITIES = {
  divisions: {
    ...common,
    kind: "ADMINISTRATIVE_DIVISIONS",
    operation: "NORMALIZE",
    supportLevel: "PUBLISH_READY_FOR_RECIPE",
    evidenceRef: "evidence:divisions-2026-05",
    maxInputBytes: 262_144,
    maxRows: 10_000,
    maxPages: 0,
  },
  table: {
    ...common,
    kind: "TABLE",
    operation: "EXTRACT_ROWS",
    supportLevel: "EXTRACT",
    maxInputBytes: 1_048_576,
    maxRows: 100_000,
    maxPages: 0,
  },
  sample: {
    ...common,
    kind: "TABLE",
    operation: "PROFILE_SAMPLE",
    supportLevel: "NORMALIZE",
    maxInputBytes: 65_536,
    maxRows: 100,
    maxPages: 0,
  },
  document: {
    ...common,
    kind: "DOCUMENT",
    operation: "EXTRACT_TEXT",
    supportLevel: "RAW_ONLY",
    enabled: false,
    prerequisite: "A licence for document extraction must be activated for this workspace.",
    maxInputBytes: 10_485_760,
    maxRows: 0,
    maxPages: 500,
  },
} as const satisfies Record<string, Capability>;

export type CapabilityName = keyof typeof CAPABILITIES;

/** Throws a Refusal when the capability may not be used, or not on this input. */
export function checkCapability(name: CapabilityName, bound: readonly { pointer: string; input: InputRecord }[]): void {
  const capability: Capability = CAPABILITIES[name];
  if (!capability.enabled)
    throw new Refusal("CAPABILITY_DISABLED", {
      fieldErrors: [
        {
          pointer: "/recipeVersionId",
          code: "CAPABILITY_DISABLED",
          message: `${capability.kind} ${capability.operation}: ${capability.prerequisite ?? "not enabled"}`,
        },
      ],
    });
  const over = (pointer: string, what: string, actual: number, max: number) =>
    actual <= max
      ? []
      : [
          {
            pointer,
            code: "CAPABILITY_EXCEEDED",
            message: `The input has ${actual} ${what}, ${what} are limited to ${max}.`,
          },
        ];
  const fieldErrors = bound.flatMap(({ pointer, input }) => [
    ...over(pointer, "bytes", input.bytes, capability.maxInputBytes),
    ...over(pointer, "rows", input.rows, capability.maxRows),
  ]);
  if (fieldErrors.length > 0) throw new Refusal("CAPABILITY_EXCEEDED", { fieldErrors });
}
