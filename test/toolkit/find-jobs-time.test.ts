// Tests that a filtered read ends after 20 s, on the test's own clock, and returns a cursor to continue with.
import { expect, test } from "vitest";
import { createRetryCache } from "../../src/toolkit/caches.ts";
import { findJobs } from "../../src/toolkit/jobs/find-jobs.ts";
import { clientForTest, eagerTiming } from "../api-client/client.ts";
import { hourlyJobs, serveJobs } from "../support/job-list.ts";
import { stubForTest } from "../support/stub.ts";

const SECONDS_A_PAGE = 9;

test("a filtered read takes at most 20 s", async () => {
  const stub = await stubForTest();
  let passedMs = 0;
  const requestedPages = serveJobs(
    stub,
    () => hourlyJobs(900),
    () => {
      passedMs += SECONDS_A_PAGE * 1_000;
      return undefined;
    },
  );
  const now = () => Date.now() + passedMs;
  const { service } = clientForTest(stub.baseUrl, { timing: { ...eagerTiming, now } });
  const context = { signal: new AbortController().signal, deadlineAt: now() + 45_000 };
  const wish = { workspaceId: "micws_1", filter: { states: ["FAILED"] as const }, isFull: false };
  const ports = {
    service,
    retries: createRetryCache(),
    actions: { readHistory: async () => ({ actions: [] }) },
  };
  const found = await findJobs(wish, { context, report: () => undefined }, ports);
  expect(requestedPages).toHaveLength(3);
  expect(found).toMatchObject({
    data: [],
    read: { jobs: 300, complete: false },
    page: { nextCursor: "at 300", hasMore: true },
  });
});
