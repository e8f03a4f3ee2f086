// Query parameters of the job-processing API, docs/contract.md, 4.2.
import { expect } from "vitest";
import { jobOperations, type OperationRow, operations } from "../operations.ts";
import { proves } from "../proves.ts";
import { example, worldFor } from "./example.ts";
import { at, expectProblem, parseJson } from "./http.ts";
import { serviceForFile } from "./service.ts";

const service = serviceForFile();
const world = worldFor(service);
const { getMicPublicCapabilities, listMicJobs, listMicExecutableRecipes, getMicPublicUsage } = operations;

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

proves("4.2/closed-query", "each operation refuses one parameter more", async () => {
  for (const operation of jobOperations) {
    const parts = await example(service(), await world(), operation.id);
    const usual = Object.entries(Object(parts.query)).map(([name, value]) => `${name}=${String(value)}`);
    for (const extra of ["unexpected=1", "unexpected", "__proto__=1", "cursors=a"]) {
      const answer = await service().call(operation, { ...parts, query: [...usual, extra].join("&") });
      expectProblem(answer, 400);
    }
  }
});

proves("4.2/closed-query", "parameters of one list are not those of another", async () => {
  await refuses(getMicPublicCapabilities, `${workspace()}&limit=10`, "limit");
  await refuses(getMicPublicCapabilities, `${workspace()}&window=DAY`, "window");
  await refuses(listMicJobs, `${workspace()}&sort=versionId`, "sort");
  await refuses(getMicPublicUsage, `${workspace()}&window=DAY&limit=10`, "limit");
});

proves("4.2/closed-query", "a parameter given twice is refused", async () => {
  await refuses(listMicJobs, `${workspace()}&${workspace()}`);
  await refuses(listMicJobs, `${workspace()}&limit=1&limit=2`);
  await refuses(getMicPublicUsage, `${workspace()}&window=DAY&window=ENTITLEMENT`);
});

proves("4.2/query-workspace-id", "workspaceId of capabilities and jobs: 1-128 characters", async () => {
  for (const operation of [getMicPublicCapabilities, listMicJobs]) {
    await refuses(operation, "", "workspaceId");
    await refuses(operation, "workspaceId", "workspaceId");
    await refuses(operation, "workspaceId=", "workspaceId");
    await refuses(operation, "WorkspaceId=a", "workspaceId");
    await refuses(operation, `workspaceId=${"a".repeat(129)}`, "workspaceId");
    for (const id of ["a", "a".repeat(128), "..", "%20", encodeURIComponent("é".repeat(128))])
      expectProblem(await service().call(operation, { query: `workspaceId=${id}` }), 403);
  }
});

proves("4.2/query-workspace-style-id", "workspaceId of recipes and usage: a workspace-style id", async () => {
  for (const [operation, rest] of [
    [listMicExecutableRecipes, ""],
    [getMicPublicUsage, "&window=DAY"],
  ] as const) {
    await refuses(operation, rest.slice(1), "workspaceId");
    for (const id of ["", "a".repeat(129), "_a", ".a", "-a", ":a", "a..b", "a%20b", "a%2Fb", "%C3%A9", "a%00", "a%0A"])
      await refuses(operation, `workspaceId=${id}${rest}`, "workspaceId");
    for (const id of ["a", "9", "a".repeat(128), "micws_a.b:c-d_e"])
      expectProblem(await service().call(operation, { query: `workspaceId=${id}${rest}` }), 403);
  }
});

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

proves("4.2/list-limit", "limit of jobs: an integer 1-100", async () => {
  for (const limit of badLimits) await refuses(listMicJobs, `${workspace()}&limit=${limit}`, "limit");
  for (const limit of [1, 2, 99, 100]) {
    const page = await accepts(listMicJobs, `${workspace()}&limit=${limit}`);
    expect(at(page, "data", "length")).toBe(limit);
  }
});

proves("4.2/jobs-limit-default", "a page of jobs without limit has 25", async () => {
  expect(at(await accepts(listMicJobs, workspace()), "data", "length")).toBe(25);
});

proves("4.2/jobs-cursor", "cursor of jobs: 1-4096 characters, and one that the service gave", async () => {
  await refuses(listMicJobs, `${workspace()}&cursor=`, "cursor");
  await refuses(listMicJobs, `${workspace()}&cursor=${"a".repeat(4097)}`, "cursor");
  for (const cursor of ["a", "a".repeat(4096), "%00", "%F0%9F%98%80", "null"])
    await refuses(listMicJobs, `${workspace()}&cursor=${cursor}`, "cursor");
  const given = String(at(await accepts(listMicJobs, `${workspace()}&limit=1`), "page", "nextCursor"));
  await accepts(listMicJobs, `${workspace()}&cursor=${encodeURIComponent(given)}`);
});

proves("4.2/list-limit", "limit of recipes: an integer 1-100", async () => {
  for (const limit of badLimits) await refuses(listMicExecutableRecipes, `${workspace()}&limit=${limit}`, "limit");
  for (const limit of [1, 100]) {
    const page = await accepts(listMicExecutableRecipes, `${workspace()}&limit=${limit}`);
    expect(at(page, "page", "limit")).toBe(limit);
  }
});

proves("4.2/recipes-cursor", "cursor of recipes: exactly 43 characters, and one that the service gave", async () => {
  const given = String(at(await accepts(listMicExecutableRecipes, `${workspace()}&limit=1`), "page", "nextCursor"));
  expect(given).toMatch(/^[A-Za-z0-9_-]{43}$/);
  await accepts(listMicExecutableRecipes, `${workspace()}&cursor=${given}`);
  const other = given.startsWith("A") ? "B" : "A";
  for (const cursor of [
    "",
    given.slice(1),
    `${given}A`,
    `${given.slice(1)}.`,
    `${given.slice(1)}%2B`,
    "a".repeat(43),
    other + given.slice(1),
  ])
    await refuses(listMicExecutableRecipes, `${workspace()}&cursor=${cursor}`, "cursor");
});

proves("4.2/recipes-sort", "sort of recipes: only versionId, by which they then stand", async () => {
  for (const sort of ["", "name", "VERSIONID", "versionid", "-versionId", "versionId,name", "versionId%20"])
    await refuses(listMicExecutableRecipes, `${workspace()}&sort=${sort}`, "sort");
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
  await refuses(getMicPublicUsage, workspace(), "window");
  for (const window of ["", "day", "WEEK", "DAY%20"])
    await refuses(getMicPublicUsage, `${workspace()}&window=${window}`, "window");
});

proves("4.2/closed-query", "a query that is no percent-encoded UTF-8 is refused, not repaired", async () => {
  for (const query of ["%", "%zz=1", `${workspace()}&cursor=%ff`, `${workspace()}&cursor=%c3%28`])
    await refuses(listMicJobs, query);
});
