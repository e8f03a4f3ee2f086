// Tests lists and their cursors, docs/contract.md, 2.2 and 4.2.
import fc from "fast-check";
import { expect, test } from "vitest";
import { operations } from "../operations.ts";
import { expectProblem } from "./http.ts";
import { type Service, serviceForFile, serviceForTest } from "./service.ts";
import { FILE, submitJob } from "./work.ts";

const service = serviceForFile();

interface Page {
  readonly ids: readonly string[];
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
}
type ReadPage = (query: { limit?: number; cursor?: string }) => Promise<Page>;

const jobPages =
  (testService: Service): ReadPage =>
  async (query) => {
    const { data, page } = await testService.ok(operations.listMicJobs, {
      query: { workspaceId: testService.emulator.workspaceId, ...query },
    });
    return { ids: data.map(({ id }) => id), ...page };
  };

const recipePages =
  (testService: Service, sort: { sort?: string } = {}): ReadPage =>
  async (query) => {
    const { data, page } = await testService.ok(operations.listMicExecutableRecipes, {
      query: { workspaceId: testService.emulator.workspaceId, ...sort, ...query },
    });
    return { ids: data.map(({ recipe }) => recipe.versionId), ...page };
  };

/** Reads all pages, with the limits in turn. */
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

const idsOf = (pages: readonly Page[]) => pages.flatMap(({ ids }) => ids);

test("130 jobs are listed in pages of 25, each job once [4.2/next-cursor, 4.2/has-more, 4.2/jobs-limit-default]", async () => {
  const pages = await readAll(jobPages(service()), []);
  expect(pages.map(({ ids }) => ids.length)).toEqual([25, 25, 25, 25, 25, 5]);
  expect(pages.map(({ hasMore }) => hasMore)).toEqual([true, true, true, true, true, false]);
  expect(new Set(idsOf(pages)).size).toBe(130);
});

test("the list is the same with any limits [4.2/next-cursor, 4.2/has-more]", async () => {
  const all = idsOf(await readAll(jobPages(service()), [100]));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 5, max: 100 }), { minLength: 1, maxLength: 6 }), async (limits) => {
      expect(idsOf(await readAll(jobPages(service()), limits))).toEqual(all);
    }),
    { numRuns: 25 },
  );
});

test("jobs that existed before are listed exactly once while new jobs arrive [4.2/next-cursor]", async () => {
  const own = await serviceForTest();
  const before = idsOf(await readAll(jobPages(own), [100]));
  const arrived: string[] = [];
  const read = idsOf(
    await readAll(jobPages(own), [7, 20, 1], async () => {
      own.clock.advance(10);
      arrived.push((await submitJob(own, FILE.succeeds)).id);
    }),
  );
  expect(arrived.length).toBeGreaterThan(5);
  expect(new Set(read).size).toBe(read.length);
  expect(read.filter((id) => !arrived.includes(id))).toEqual(before);
  const after = idsOf(await readAll(jobPages(own), [100]));
  expect([...after].sort()).toEqual([...before, ...arrived].sort());
});

test("recipes are listed one by one, with cursors of 43 characters [4.2/recipes-sort, 4.2/recipes-cursor, 4.2/next-cursor, 4.2/has-more]", async () => {
  for (const sort of [{}, { sort: "versionId" }]) {
    const pages = await readAll(recipePages(service(), sort), [1]);
    expect(idsOf(pages)).toEqual(idsOf(await readAll(recipePages(service(), sort), [100])));
    expect([...idsOf(pages)].sort()).toEqual([...service().emulator.recipeVersionIds].sort());
    for (const { nextCursor } of pages.slice(0, -1)) expect(nextCursor).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const withDefault = await readAll(recipePages(service(), sort), []);
    expect(idsOf(withDefault)).toEqual(idsOf(pages));
  }
  const sortedIds = idsOf(await readAll(recipePages(service(), { sort: "versionId" }), [100]));
  expect(sortedIds).toEqual([...sortedIds].sort());
});

test("a cursor of one list is refused by the other", async () => {
  const { nextCursor: jobs } = await jobPages(service())({ limit: 1 });
  const { nextCursor: recipes } = await recipePages(service())({ limit: 1 });
  const query = { workspaceId: service().emulator.workspaceId };
  expectProblem(await service().call(operations.listMicJobs, { query: { ...query, cursor: String(recipes) } }), 400);
  expectProblem(
    await service().call(operations.listMicExecutableRecipes, { query: { ...query, cursor: String(jobs) } }),
    400,
  );
});

test("an altered cursor is refused", async () => {
  const { nextCursor } = await jobPages(service())({ limit: 1 });
  const cursor = String(nextCursor);
  const middle = Math.floor(cursor.length / 2);
  const flipped = cursor.slice(0, middle) + (cursor[middle] === "A" ? "B" : "A") + cursor.slice(middle + 1);
  for (const invalidCursor of [flipped, cursor.slice(1), `${cursor}A`, cursor.slice(0, middle)]) {
    const query = { workspaceId: service().emulator.workspaceId, cursor: invalidCursor };
    expectProblem(await service().call(operations.listMicJobs, { query }), 400);
  }
});
