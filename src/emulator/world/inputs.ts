// Creates the records of registered inputs, and computes the state of an input from its record and the time.
import type { Input } from "../../contract/inputs.ts";
import { INPUT_LIFETIME_MS, SCAN_MS } from "../assumptions.ts";
import { toInstant } from "../clock.ts";
import type { JobOutcome, StoredFile } from "./files.ts";

export interface InputRecord {
  readonly id: string;
  readonly createdAt: number;
  readonly inputKind: Input["inputKind"];
  readonly referenceId: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly rows: number;
  readonly classification: string;
  readonly outcome: JobOutcome;
  readonly scan: StoredFile["scan"] | "not applicable";
  readonly expiresAt: number | null;
  readonly withdrawnAt?: number;
}

export type InputIdentity = Pick<InputRecord, "id" | "createdAt" | "inputKind" | "referenceId">;

/** Creates an M4_FILE input of this file, or an acquisition with the same bytes. */
export const createFileInput = (
  { sha256, bytes, rows, classification, outcome, scan }: StoredFile,
  identity: InputIdentity,
): InputRecord => {
  const expiresAt = identity.createdAt + INPUT_LIFETIME_MS;
  return { ...identity, sha256, bytes: bytes.length, rows, classification, outcome, scan, expiresAt };
};

type InputChange = Pick<Input, "state" | "scanState"> & { readonly at: number };

const INITIAL_STATES = {
  pending: { state: "WAITING_SCAN", scanState: "PENDING" },
  infected: { state: "QUARANTINED", scanState: "INFECTED" },
  clean: { state: "READY", scanState: "CLEAN" },
  "not applicable": { state: "READY", scanState: "NOT_APPLICABLE" },
} as const;

function inputChanges({
  createdAt,
  scan,
  expiresAt,
  withdrawnAt,
}: InputRecord): readonly [InputChange, ...InputChange[]] {
  const first = { at: createdAt, ...INITIAL_STATES[scan] };
  const scanned = scan === "pending" ? [{ at: createdAt + SCAN_MS, ...INITIAL_STATES.clean }] : [];
  const { scanState } = scanned[0] ?? first;
  if (withdrawnAt !== undefined) return [first, ...scanned, { at: withdrawnAt, state: "WITHDRAWN", scanState }];
  if (expiresAt === null) return [first, ...scanned];
  const stale = scanState === "CLEAN" ? "STALE" : scanState;
  return [first, ...scanned, { at: expiresAt, state: "EXPIRED", scanState: stale }];
}

export function inputAt(record: InputRecord, workspaceId: string, now: number): Input {
  const all = inputChanges(record);
  const past = all.filter(({ at }) => at <= now);
  const latest = past.at(-1) ?? all[0];
  return {
    id: record.id,
    workspaceId,
    environment: "SANDBOX",
    state: latest.state,
    resourceVersion: String(Math.max(1, past.length)),
    createdAt: toInstant(record.createdAt),
    updatedAt: toInstant(latest.at),
    inputKind: record.inputKind,
    referenceId: record.referenceId,
    sha256: record.sha256,
    scanState: latest.scanState,
    classification: record.classification,
    expiresAt: record.expiresAt === null ? null : toInstant(record.expiresAt),
  };
}

/** Returns when the input is permanently no longer READY (milliseconds since 1970), or undefined if it stays READY. */
export const inputEndsAt = ({ withdrawnAt, expiresAt }: InputRecord): number | undefined =>
  withdrawnAt ?? expiresAt ?? undefined;
