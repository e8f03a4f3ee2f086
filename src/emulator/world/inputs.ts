// Inputs: what a workspace registered. An input's state is a function of its record and the time.
import type { Input } from "../../contract/inputs.ts";
import { INPUT_LIFETIME_MS, SCAN_MS } from "../choices.ts";
import { instant } from "../clock.ts";
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

/** An M4_FILE input of this file, or an acquisition that fetched the same bytes. */
export const inputOfFile = (
  file: StoredFile,
  { id, createdAt, inputKind, referenceId }: Pick<InputRecord, "id" | "createdAt" | "inputKind" | "referenceId">,
): InputRecord => ({
  id,
  createdAt,
  inputKind,
  referenceId,
  sha256: file.sha256,
  bytes: file.bytes.length,
  rows: file.rows,
  classification: file.classification,
  outcome: file.outcome,
  scan: file.scan,
  expiresAt: createdAt + INPUT_LIFETIME_MS,
});

interface InputChange {
  readonly at: number;
  readonly state: Input["state"];
  readonly scanState: Input["scanState"];
}

/** All that ever becomes of the input, in order. */
function changes(record: InputRecord): readonly InputChange[] {
  const { createdAt, scan, expiresAt, withdrawnAt } = record;
  const list: InputChange[] = [];
  if (scan === "pending") list.push({ at: createdAt, state: "WAITING_SCAN", scanState: "PENDING" });
  if (scan === "infected") list.push({ at: createdAt, state: "QUARANTINED", scanState: "INFECTED" });
  if (scan === "clean") list.push({ at: createdAt, state: "READY", scanState: "CLEAN" });
  if (scan === "not applicable") list.push({ at: createdAt, state: "READY", scanState: "NOT_APPLICABLE" });
  if (scan === "pending") list.push({ at: createdAt + SCAN_MS, state: "READY", scanState: "CLEAN" });
  const scanState = list.at(-1)?.scanState ?? "PENDING";
  if (withdrawnAt !== undefined) list.push({ at: withdrawnAt, state: "WITHDRAWN", scanState });
  else if (expiresAt !== null)
    list.push({ at: expiresAt, state: "EXPIRED", scanState: scanState === "CLEAN" ? "STALE" : scanState });
  return list;
}

export function inputAt(record: InputRecord, workspaceId: string, now: number): Input {
  const past = changes(record).filter(({ at }) => at <= now);
  const latest = past.at(-1) ?? { at: record.createdAt, state: "WAITING_SCAN", scanState: "PENDING" };
  return {
    id: record.id,
    workspaceId,
    environment: "SANDBOX",
    state: latest.state,
    resourceVersion: String(Math.max(1, past.length)),
    createdAt: instant(record.createdAt),
    updatedAt: instant(latest.at),
    inputKind: record.inputKind,
    referenceId: record.referenceId,
    sha256: record.sha256,
    scanState: latest.scanState,
    classification: record.classification,
    expiresAt: record.expiresAt === null ? null : instant(record.expiresAt),
  };
}

/** When the input stops being READY for good; undefined: never. */
export const inputEndsAt = ({ withdrawnAt, expiresAt }: InputRecord): number | undefined =>
  withdrawnAt ?? expiresAt ?? undefined;
