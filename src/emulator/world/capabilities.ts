// Defines the capabilities of the workspace, and checks their limits when a job binds an input (docs/contract.md, 2.2, 8).
import type { Capability } from "../../contract/usage.ts";
import { createFieldProblem, ProblemError } from "../problems.ts";
import type { InputRecord } from "./inputs.ts";

const capability = (
  kind: string,
  operation: string,
  supportLevel: Capability["supportLevel"],
  [maxInputBytes, maxRows, maxPages]: readonly [bytes: number, rows: number, pages: number],
): Capability => ({
  version: "1",
  enabled: true,
  prerequisite: null,
  evidenceRef: null,
  languages: ["en", "hi"],
  kind,
  operation,
  supportLevel,
  maxInputBytes,
  maxRows,
  maxPages,
});

export const CAPABILITIES = {
  divisions: {
    ...capability("ADMINISTRATIVE_DIVISIONS", "NORMALIZE", "PUBLISH_READY_FOR_RECIPE", [262_144, 10_000, 0]),
    evidenceRef: "evidence:divisions-2026-05",
  },
  table: capability("TABLE", "EXTRACT_ROWS", "EXTRACT", [1_048_576, 100_000, 0]),
  sample: capability("TABLE", "PROFILE_SAMPLE", "NORMALIZE", [65_536, 100, 0]),
  document: {
    ...capability("DOCUMENT", "EXTRACT_TEXT", "RAW_ONLY", [10_485_760, 0, 500]),
    enabled: false,
    prerequisite: "A license for document extraction must be activated for this workspace.",
  },
} as const satisfies Record<string, Capability>;

export type CapabilityName = keyof typeof CAPABILITIES;

export function checkCapability(name: CapabilityName, bound: readonly { pointer: string; input: InputRecord }[]): void {
  const { enabled, kind, operation, prerequisite, maxInputBytes, maxRows }: Capability = CAPABILITIES[name];
  if (!enabled)
    throw createFieldProblem(
      "CAPABILITY_DISABLED",
      "/recipeVersionId",
      `${kind} ${operation}: ${prerequisite ?? "not enabled"}`,
    );
  const measured = bound.flatMap(({ pointer, input: { bytes, rows } }) => [
    { pointer, what: "bytes", actual: bytes, max: maxInputBytes },
    { pointer, what: "rows", actual: rows, max: maxRows },
  ]);
  const code = "CAPABILITY_EXCEEDED";
  const fieldErrors = measured
    .filter(({ actual, max }) => actual > max)
    .map(({ pointer, what, actual, max }) => ({
      pointer,
      code,
      message: `The input has ${actual} ${what}, ${what} are limited to ${max}.`,
    }));
  if (fieldErrors.length > 0) throw new ProblemError(code, { fieldErrors });
}
