// All that the emulator answers keeps sections 2 and 3: held against the contract's strict schemas, which test/contract proves.
import { expect, test } from "vitest";
import { rows } from "../operations.ts";
import { proves } from "../proves.ts";
import { at } from "./http.ts";
import { listOf, samplesForFile, seen } from "./samples.ts";

const {
  allInputs,
  allJobs,
  allOffers,
  allOperations,
  allParameters,
  allProblems,
  allRequests,
  bodiesOf,
  bodies,
  service,
} = samplesForFile();

for (const { id, answer } of rows)
  if (answer !== undefined)
    proves(
      ["2.1/closed-objects", "2.2/closed-objects", "2.2/all-fields-required"],
      `every answer of ${id} is as its schema has it`,
      () => {
        const answers = bodiesOf(id);
        expect(answers).not.toEqual([]);
        expect(answers.flatMap((body) => answer.safeParse(body).error?.issues ?? [])).toEqual([]);
      },
    );

proves("2.2/meta-request-id", "no two answers have one request id", () => {
  const requestIds = [...bodies.values()].flat().flatMap((body) => at(body, "meta", "requestId") ?? []);
  expect(new Set(requestIds).size).toBe(requestIds.length);
});

proves("3/job-state", "the emulator has jobs in all eight states", () => {
  const all = ["CANCELLED", "FAILED", "PAUSED", "PREPARING", "QUEUED", "RUNNING", "SUCCEEDED", "WAITING_REVIEW"];
  expect(seen(allJobs(), "state")).toEqual(all);
});

proves("3/input-state", "the emulator has inputs that are scanned, wait for it, and are quarantined", () => {
  expect(seen(allInputs(), "state")).toEqual(expect.arrayContaining(["QUARANTINED", "READY", "WAITING_SCAN"]));
});

proves("1/nine-stages-in-order", "the stages of every job stand in the contract's order", () => {
  const order = ["GATHER", "SIFT", "REFINE", "BLEND", "CHURN", "TASTE", "FREEZE", "SCOOP", "SERVE"];
  for (const job of allJobs()) {
    const names = listOf(at(job, "stages")).map((stage) => at(stage, "stage"));
    expect(names).toEqual(order.filter((name) => names.includes(name)));
  }
});

proves("7.2/failure-when-failed", "what failed carries a Problem, and nothing else does", () => {
  for (const one of [...allJobs(), ...allOperations()])
    expect(at(one, "failure") !== null, JSON.stringify(one)).toBe(at(one, "state") === "FAILED");
  expect(seen(allProblems(), "retryable")).toEqual([false, true]);
});

proves("2.2/offer-projection-size", "an offer is small enough", () => {
  for (const offer of allOffers()) expect(Buffer.byteLength(JSON.stringify(offer))).toBeLessThanOrEqual(65536);
});

test("some recipes' parameters have references", () => {
  const counts = allParameters().map((parameters) => Object.keys(Object(at(parameters, "references"))).length);
  expect(Math.max(...counts)).toBeGreaterThan(0);
});

proves("1/workspace-id-prefix", "the workspace id has its prefix, and every resource is of that workspace", () => {
  const { workspaceId } = service().emulator;
  expect(workspaceId).toMatch(/^micws_./);
  const owned = [...allJobs(), ...allInputs(), ...allOffers(), ...allOperations(), ...allRequests()];
  expect(seen(owned, "workspaceId")).toEqual([workspaceId]);
});
