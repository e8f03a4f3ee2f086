// Actions to put into a journal.
import type { NewAction, Resolution } from "../../src/actions/journal.ts";

export const newAction = (facts: Partial<NewAction> = {}): NewAction => ({
  service: "service",
  key: "key-0000",
  tool: "submit_job",
  arguments: '{"pairs":[]}',
  fingerprint: "hash",
  about: "recipe-1",
  isExplicit: false,
  path: "/sandbox/v1/mic/jobs",
  ifMatch: "",
  body: "{}",
  ...facts,
});

/** An owner that is known to be dead. */
export const GONE = "a process that has gone";

export const SUCCEEDED: Resolution = {
  state: "succeeded",
  attempts: 1,
  outcome: '{"value":1,"drift":[]}',
  resourceId: "job-1",
};
export const UNKNOWN: Resolution = { state: "unknown", attempts: 2, outcome: "{}", resourceId: undefined };
export const REJECTED: Resolution = { ...UNKNOWN, state: "rejected" };
