// Actions to put into a journal.
import type { NewAction } from "../../src/actions/journal.ts";

export const newAction = (facts: Partial<NewAction> = {}): NewAction => ({
  service: "service",
  key: "key-0000",
  tool: "submit_job",
  arguments: '{"pairs":[]}',
  subjectHash: "hash",
  workHash: "work",
  about: "recipe-1",
  explicit: false,
  path: "/sandbox/v1/mic/jobs",
  ifMatch: "",
  body: "{}",
  bodyHash: "body-hash",
  ...facts,
});

/** An owner that is known to be dead. */
export const GONE = "a process that has gone";
