// What the query parameters of the job-processing API do, docs/contract.md, 4.2, and how their text is read; which values they
// take, fields.test.ts shows.
import { expect } from "vitest";
import { type OperationRow, operations } from "../operations.ts";
import { proves } from "../proves.ts";
import { at, expectProblem, parseJson } from "./http.ts";
import { serviceForFile } from "./service.ts";

const service = serviceForFile();
const { listMicJobs, listMicExecutableRecipes, getMicPublicUsage } = operations;

const workspace = () => `workspaceId=${service().emulator.workspaceId}`;

async function refuses(operation: OperationRow, query: string, parameter?: string): Promise<void> {
  const answer = await service().call(operation, { query });
  const problem = expectProblem(answer, 400);
  if (parameter !== undefined)
    expect(JSON.stringify(problem), `${query} is refused for another reason`).toContain(parameter);
}

const accepts = async (operation: OperationRow, query: string) => {
  const answer = await service().call(operation, { query });
  expect([query, answer.status]).toEqual([query, 200]);
  return parseJson(answer.text);
};

const badLimits = [
  "0",
  "101",
  "-1",
  "1.5",
  "25.0",
  "abc",
  "",
  "1e1",
  "0x10",
  "%2B5",
  "5%20",
  "%D9%A1",
  "NaN",
  "1,5",
  "99999999999999999999",
];

proves("4.2/list-limit", "limit: an integer 1-100", async () => {
  for (const list of [listMicJobs, listMicExecutableRecipes]) {
    for (const limit of badLimits) await refuses(list, `${workspace()}&limit=${limit}`, "limit");
    for (const limit of [1, 100]) await accepts(list, `${workspace()}&limit=${limit}`);
  }
  for (const limit of [1, 2, 99, 100])
    expect(at(await accepts(listMicJobs, `${workspace()}&limit=${limit}`), "data", "length")).toBe(limit);
  expect(at(await accepts(listMicExecutableRecipes, `${workspace()}&limit=2`), "page", "limit")).toBe(2);
});

proves("4.2/jobs-limit-default", "a page of jobs without limit has 25", async () => {
  expect(at(await accepts(listMicJobs, workspace()), "data", "length")).toBe(25);
});

proves("4.2/jobs-cursor", "cursor of jobs: one that the service gave", async () => {
  for (const cursor of ["a", "%00", "%F0%9F%98%80", "null"])
    await refuses(listMicJobs, `${workspace()}&cursor=${cursor}`, "cursor");
  const given = String(at(await accepts(listMicJobs, `${workspace()}&limit=1`), "page", "nextCursor"));
  await accepts(listMicJobs, `${workspace()}&cursor=${encodeURIComponent(given)}`);
});

proves("4.2/recipes-cursor", "cursor of recipes: one that the service gave", async () => {
  const given = String(at(await accepts(listMicExecutableRecipes, `${workspace()}&limit=1`), "page", "nextCursor"));
  expect(given).toMatch(/^[A-Za-z0-9_-]{43}$/);
  await accepts(listMicExecutableRecipes, `${workspace()}&cursor=${given}`);
  const other = given.startsWith("A") ? "B" : "A";
  for (const cursor of [`${given.slice(1)}%2B`, "a".repeat(43), other + given.slice(1)])
    await refuses(listMicExecutableRecipes, `${workspace()}&cursor=${cursor}`, "cursor");
});

proves("4.2/recipes-sort", "recipes stand by versionId where that is asked for", async () => {
  const page = operations.listMicExecutableRecipes.answer.parse(
    await accepts(listMicExecutableRecipes, `${workspace()}&sort=versionId&limit=100`),
  );
  const ids = page.data.map(({ recipe }) => recipe.versionId);
  expect(ids).toEqual([...ids].sort());
  expect(ids).toHaveLength(service().emulator.recipeVersionIds.length);
});

proves(["4.2/usage-window", "2.2/usage-window"], "window: DAY and ENTITLEMENT; MONTH is not to be had", async () => {
  for (const window of ["DAY", "ENTITLEMENT"]) {
    const usage = await accepts(getMicPublicUsage, `${workspace()}&window=${window}`);
    expect(at(usage, "data", "window")).toBe(window);
  }
  const month = await service().call(getMicPublicUsage, { query: `${workspace()}&window=MONTH` });
  expect(JSON.stringify(expectProblem(month, 422))).toContain("MONTH");
});

proves("4.2/closed-query", "a query that is no percent-encoded UTF-8 is refused, not repaired", async () => {
  for (const query of ["%", "%zz=1", `${workspace()}&cursor=%ff`, `${workspace()}&cursor=%c3%28`])
    await refuses(listMicJobs, query);
});
