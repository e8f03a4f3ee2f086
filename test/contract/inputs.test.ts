import { describe } from "vitest";
import { Input } from "../../src/contract/inputs.ts";
import { dateTime, hex64, nullable, oneOf, positiveDecimalVersion, text } from "./field-rules.ts";
import { objectUnderTest } from "./object-rules.ts";
import * as samples from "./samples.ts";

describe("Input", () => {
  const { proves } = objectUnderTest(Input, samples.input);
  proves(["2.2/all-fields-required", "2.2/closed-objects"], "has exactly its fields");
  proves("2.2/input-ids", { id: text(1, 128), workspaceId: text(1, 128), referenceId: text(1, 128) });
  proves("2.2/environment", { environment: oneOf("SANDBOX", "PRODUCTION") });
  proves("3/input-state", { state: oneOf("WAITING_SCAN", "READY", "QUARANTINED", "EXPIRED", "WITHDRAWN") });
  proves("2.2/input-resource-version", { resourceVersion: positiveDecimalVersion });
  proves(["2.2/created-and-updated-at", "2.2/input-expires-at", "2.2/date-time"], {
    createdAt: dateTime,
    updatedAt: dateTime,
    expiresAt: nullable(dateTime),
  });
  proves("2.2/input-kind", { inputKind: oneOf("M4_FILE", "ACQUISITION", "DATASET_VERSION") });
  proves(["2.2/input-sha256", "2.2/hex"], { sha256: hex64 });
  proves("3/input-scan-state", {
    scanState: oneOf("PENDING", "CLEAN", "INFECTED", "UNAVAILABLE", "STALE", "NOT_APPLICABLE"),
  });
  proves("2.2/input-classification", { classification: text(1, 80) });
});
