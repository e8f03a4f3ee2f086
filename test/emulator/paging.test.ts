// Tests lists and their cursors, docs/contract.md, 2.2 and 4.2.
import { expect } from "vitest";
import { operations } from "../operations.ts";
import { expectProblem } from "./http.ts";
import { type Service, serviceForFile, test } from "./service.ts";
import { FILE, submitJob } from "./work.ts";

const fileService = serviceForFile();

interface Page {
  readonly ids: readonly string[];
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
}
type ReadPage = (query: { limit?: number; cursor?: string }) => Promise<Page>;

const jobPages =
  (service: Service): ReadPage =>
  async (query) => {
    const { data, page } = await service.ok(operations.listMicJobs, service.inWorkspace(query));
    return { ids: data.map(({ id }) => id), ...page };
  };

const recipePages =
  (sort: { sort?: string } = {}): ReadPage =>
  async (query) => {
    const parts = fileService().inWorkspace({ ...sort, ...query });
    const { data, page } = await fileService().ok(operations.listMicExecutableRecipes, parts);
    return { ids: data.map(({ recipe }) => recipe.versionId), ...page };
  };

async function readAll(
  read: ReadPage,
  limits: readonly number[],
  betweenPages?: () => Promise<unknown>,
): Promise<readonly Page[]> {
  const pages: Page[] = [];
  let cursor: string | undefined;
  for (let round = 0; round < 300; round += 1) {
    const limit = limits[round % limits.length];
    const page = await read({ ...(limit === undefined ? {} : { limit }), ...(cursor === undefined ? {} : { cursor }) });
    pages.push(page);
    expect(page.hasMore).toBe(page.nextCursor !== null);
    if (page.nextCursor === null) return pages;
    expect(page.ids.length).toBe(limit ?? page.ids.length);
    cursor = page.nextCursor;
    await betweenPages?.();
  }
  throw new Error("the pages never end");
}

const readIds = async (...reading: Parameters<typeof readAll>) => (await readAll(...reading)).flatMap(({ ids }) => ids);

test("130 jobs are listed in pages of 25, each job once, and in the same order with any limits", {
  tags: ["4.2/next-cursor", "4.2/has-more", "4.2/jobs-limit-default"],
}, async () => {
  const pages = await readAll(jobPages(fileService()), []);
  expect(pages.map(({ ids }) => ids.length)).toEqual([25, 25, 25, 25, 25, 5]);
  const all = pages.flatMap(({ ids }) => ids);
  expect(new Set(all).size).toBe(130);
  for (const limits of [[1], [65], [100], [7, 100, 3]])
    expect(await readIds(jobPages(fileService()), limits)).toEqual(all);
});

test("jobs that existed before a listing are listed exactly once, even if other jobs arrive during the listing", {
  tags: ["4.2/next-cursor"],
}, async ({ service }) => {
  const before = await readIds(jobPages(service), [100]);
  const arrived: string[] = [];
  const read = await readIds(jobPages(service), [7, 20, 1], async () => {
    service.clock.advance(10);
    arrived.push((await submitJob(service, FILE.succeeds)).id);
  });
  expect(arrived.length).toBeGreaterThan(5);
  expect(new Set(read).size).toBe(read.length);
  expect(read.filter((id) => !arrived.includes(id))).toEqual(before);
  const after = await readIds(jobPages(service), [100]);
  expect(after.sort()).toEqual([...before, ...arrived].sort());
});

test("recipes are listed one by one, with cursors of 43 characters", {
  tags: ["4.2/recipes-sort", "4.2/recipes-cursor", "4.2/next-cursor", "4.2/has-more"],
}, async () => {
  const sorted = [...fileService().emulator.recipeVersionIds].sort();
  for (const sort of [{}, { sort: "versionId" }]) {
    const pages = await readAll(recipePages(sort), [1]);
    const ids = pages.flatMap((page) => page.ids);
    expect(ids.toSorted()).toEqual(sorted);
    for (const { nextCursor } of pages.slice(0, -1)) expect(nextCursor).toMatch(/^[A-Za-z0-9_-]{43}$/);
    for (const limits of [[], [100]]) expect(await readIds(recipePages(sort), limits)).toEqual(ids);
  }
  expect(await readIds(recipePages({ sort: "versionId" }), [100])).toEqual(sorted);
});

test("an altered cursor, and a cursor of another list, are refused", async () => {
  const { nextCursor: jobs } = await jobPages(fileService())({ limit: 1 });
  const { nextCursor: recipes } = await recipePages()({ limit: 1 });
  const cursor = String(jobs);
  const middle = Math.floor(cursor.length / 2);
  const flipped = cursor.slice(0, middle) + (cursor[middle] === "A" ? "B" : "A") + cursor.slice(middle + 1);
  for (const [operation, invalidCursor] of [
    ...[flipped, cursor.slice(1), `${cursor}A`, cursor.slice(0, middle)].map(
      (altered) => [operations.listMicJobs, altered] as const,
    ),
    [operations.listMicJobs, String(recipes)],
    [operations.listMicExecutableRecipes, cursor],
  ] as const)
    expectProblem(await fileService().call(operation, fileService().inWorkspace({ cursor: invalidCursor })), 400);
});
