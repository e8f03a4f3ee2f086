// Tests the effect and the parsing of query parameters of the job-processing API, docs/contract.md, 4.2.
import { expect, test } from "vitest";
import { type OperationRow, operations } from "../operations.ts";
import { expectProblem, parseJson, valueAt } from "./http.ts";
import { serviceForFile } from "./service.ts";

const service = serviceForFile();
const { listMicJobs, listMicExecutableRecipes, getMicPublicUsage } = operations;

const workspace = () => `workspaceId=${service().emulator.workspaceId}`;

async function expectRefusal(operation: OperationRow, query: string, parameter?: string): Promise<void> {
  const answer = await service().call(operation, { query });
  const problem = expectProblem(answer, 400);
  if (parameter !== undefined)
    expect(JSON.stringify(problem), `${query} is refused for another reason`).toContain(parameter);
}

const expectAccepted = async (operation: OperationRow, query: string) => {
  const answer = await service().call(operation, { query });
  expect([query, answer.status]).toEqual([query, 200]);
  return parseJson(answer.text);
};

test("recipes are ordered by versionId with sort=versionId [4.2/recipes-sort]", async () => {
  const page = operations.listMicExecutableRecipes.answer.parse(
    await expectAccepted(listMicExecutableRecipes, `${workspace()}&sort=versionId&limit=100`),
  );
  const ids = page.data.map(({ recipe }) => recipe.versionId);
  expect(ids).toEqual([...ids].sort());
  expect(ids).toHaveLength(service().emulator.recipeVersionIds.length);
});

test("usage has the windows DAY and ENTITLEMENT, and MONTH is refused [4.2/usage-window, 2.2/usage-window]", async () => {
  for (const window of ["DAY", "ENTITLEMENT"]) {
    const usage = await expectAccepted(getMicPublicUsage, `${workspace()}&window=${window}`);
    expect(valueAt(usage, "data", "window")).toBe(window);
  }
  const month = await service().call(getMicPublicUsage, { query: `${workspace()}&window=MONTH` });
  expect(JSON.stringify(expectProblem(month, 422))).toContain("MONTH");
});

test("a query that is not percent-encoded UTF-8 is refused [4.2/closed-query]", async () => {
  for (const query of ["%", "%zz=1", `${workspace()}&cursor=%ff`, `${workspace()}&cursor=%c3%28`])
    await expectRefusal(listMicJobs, query);
});
