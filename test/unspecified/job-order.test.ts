// Tests that filters of the job list work with any order of the list.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { hourlyJobs, serveJobs } from "../support/job-list.ts";
import { sessionForTest } from "./session.ts";

const Found = z.looseObject({
  summary: z.string(),
  nextStep: z.unknown().optional(),
  data: z.array(z.looseObject({ id: z.string() })),
  read: z.object({ jobs: z.number(), complete: z.boolean() }),
});

const newestFirst = hourlyJobs(350);
/** Lower bound of createdAt: matches the latest 31 jobs. */
const createdSince = "2026-11-19T06:00:00Z";
const young = newestFirst.slice(0, 31).map(({ id }) => id);
const args = { workspaceId: "micws_1", createdSince, limit: 100 };

test("finds jobs created since a time in a list of any order [4.2/assumes-no-job-order]", async () => {
  const oldestFirst = newestFirst.toReversed();
  const mixed = newestFirst.map((_, index) => newestFirst[(index * 137) % newestFirst.length] ?? { id: "none" });
  for (const jobs of [oldestFirst, mixed]) {
    const { stub, connection } = await sessionForTest();
    serveJobs(stub, () => jobs);
    const { structured } = await connection.callTool("list_jobs", args);
    const { data, read } = Found.parse(structured);
    expect(data.map(({ id }) => id).toSorted()).toEqual(young.toSorted());
    expect(read).toEqual({ jobs: 350, complete: true });
  }
});

test("stops at the first older job if the newest come first, and says so [4.2/assumes-no-job-order]", async () => {
  const { stub, connection } = await sessionForTest();
  const requestedPages = serveJobs(stub, () => newestFirst);
  const { structured } = await connection.callTool("list_jobs", args);
  const { data, read, summary, nextStep } = Found.parse(structured);
  expect(data.map(({ id }) => id)).toEqual(young);
  expect(requestedPages).toHaveLength(1);
  expect(read).toEqual({ jobs: 100, complete: false });
  expect(summary).toContain(`All remaining jobs are older than ${createdSince}: the list is newest first.`);
  expect(nextStep).toBeUndefined();
  expect(structured).toMatchObject({ page: { nextCursor: "at 100", hasMore: true } });
});
