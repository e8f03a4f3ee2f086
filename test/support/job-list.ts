// Serves job lists from a stub: in the test's order, with simple cursors, and with the errors that the test injects. Also reads the
// emulator's list.
import { expect } from "vitest";
import { job } from "../contract/samples.ts";
import type { Service } from "../emulator/service.ts";
import { operations } from "../operations.ts";
import { answer, type Step, type Stub } from "./stub.ts";

/** Creates `count` jobs, each 1 h older than the previous one. */
export const hourlyJobs = (count: number, overrides: (index: number) => object = () => ({})) =>
  Array.from({ length: count }, (_, index) => ({
    ...job,
    retryOfBatchId: null,
    id: `job-${index}`,
    createdAt: new Date(Date.parse("2026-11-20T12:00:00.000Z") - index * 3_600_000).toISOString(),
    ...overrides(index),
  }));

export type ListedJob = ReturnType<typeof hourlyJobs>[number];

/** Answers pages of `jobs`; a cursor is the position of the next job. `answerInstead`: the answer to the nth request, from 1. */
export function serveJobs(
  stub: Stub,
  jobs: () => readonly object[],
  answerInstead: (request: number) => Step | undefined = () => undefined,
) {
  const requestedPages: { readonly limit: number | undefined; readonly cursor: string | undefined }[] = [];
  stub.respond(({ target }) => {
    const query = new URL(target, "http://service.example").searchParams;
    const cursor = query.get("cursor") ?? undefined;
    const limit = query.has("limit") ? Number(query.get("limit")) : undefined;
    requestedPages.push({ limit, cursor });
    const from = cursor === undefined ? 0 : Number(cursor.slice("at ".length));
    const end = from + (limit ?? 25);
    const hasMore = end < jobs().length;
    const page = { nextCursor: hasMore ? `at ${end}` : null, hasMore };
    return (
      answerInstead(requestedPages.length) ??
      answer(200, { data: jobs().slice(from, end), meta: { requestId: "r" }, page })
    );
  });
  return requestedPages;
}

/** Reads all jobs of the emulator's workspace, at most 200. */
export async function listEveryJob(service: Service) {
  const query = { workspaceId: service.emulator.workspaceId, limit: 100 };
  const first = await service.ok(operations.listMicJobs, { query });
  const second = await service.ok(operations.listMicJobs, {
    query: { ...query, cursor: String(first.page.nextCursor) },
  });
  expect(second.page.hasMore).toBe(false);
  return [...first.data, ...second.data];
}
