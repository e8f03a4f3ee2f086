// This module defines the Input resource (docs/contract.md, 2.2 and 3).
import * as z from "zod/v4";
import { Environment } from "./jobs.ts";
import { chars, dateTime, hex64, listed, positiveDecimalVersion, prefixedId } from "./scalars.ts";

export const InputState = listed(["WAITING_SCAN", "READY", "QUARANTINED", "EXPIRED", "WITHDRAWN"]);
export const InputKind = z.enum(["M4_FILE", "ACQUISITION", "DATASET_VERSION"]);
export const ScanState = listed(["PENDING", "CLEAN", "INFECTED", "UNAVAILABLE", "STALE", "NOT_APPLICABLE"]);

/** An input's id, as other resources contain it. */
export const InputId = prefixedId("micinput_");

export const Input = z.strictObject({
  id: chars(1, 128),
  workspaceId: chars(1, 128),
  environment: Environment,
  state: InputState,
  resourceVersion: positiveDecimalVersion,
  createdAt: dateTime,
  updatedAt: dateTime,
  inputKind: listed(InputKind.options),
  referenceId: chars(1, 128),
  sha256: hex64,
  scanState: ScanState,
  classification: chars(1, 80),
  expiresAt: dateTime.nullable(),
});
export type Input = z.infer<typeof Input>;
