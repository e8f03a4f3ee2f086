// Tests the toolset essentials: its tools, what the server says of the others, and next steps that its tools can do.
import { expect, test } from "vitest";
import { serviceForFile } from "../../emulator/service.ts";
import { createRetryableJob } from "../../emulator/work.ts";
import { emulatorEnv, inProcessClientForTest, type TestClient } from "../../support/mcp.ts";
import { GEOGRAPHY_TOOLS, TOOL_NAMES } from "../../tools/catalogue.ts";

const ESSENTIALS = [
  ...["list_districts", "download_asset", "list_recipes", "get_recipe", "list_jobs", "get_job", "cancel_job"],
  ...["get_usage", "find_district", "rank_divisions", "list_actions", "resolve_actions"],
  ...["run_job", "run_jobs", "retry_jobs", "wait_for_jobs"],
];
const WRITE_TOOLS = ["download_asset", "cancel_job", "resolve_actions", "run_job", "run_jobs", "retry_jobs"];

const service = serviceForFile();

const serve = (env: Readonly<Record<string, string>>): Promise<TestClient> =>
  inProcessClientForTest("v2-modern", { ...emulatorEnv(service().emulator), ...env });

const namesOf = async (client: TestClient): Promise<readonly string[]> =>
  (await client.listTools()).map(({ name }) => name);

test("MIC_TOOLSETS=essentials offers 16 tools of both toolsets, and no views", async () => {
  expect(await namesOf(await serve({ MIC_TOOLSETS: "essentials", MIC_APPS: "always" }))).toEqual(ESSENTIALS);
});

test("essentials in read-only mode offers no write tools", async () => {
  const readTools = ESSENTIALS.filter((name) => !WRITE_TOOLS.includes(name));
  const client = await serve({ MIC_TOOLSETS: "essentials", MIC_READ_ONLY: "1" });
  expect(await namesOf(client)).toEqual(readTools);
  await expect(client.callTool("run_job", {})).rejects.toThrow(/read-only.*MIC_READ_ONLY/);
  await expect(client.callTool("submit_job", {})).rejects.toThrow(/toolset jobs is not enabled.*MIC_TOOLSETS/);
});

test("essentials with another toolset offers the tools of both", async () => {
  const names = await namesOf(await serve({ MIC_TOOLSETS: "essentials,geography" }));
  expect(names).toEqual(TOOL_NAMES.filter((name) => [...ESSENTIALS, ...GEOGRAPHY_TOOLS].includes(name)));
  expect(await namesOf(await serve({ MIC_TOOLSETS: "essentials,geography,jobs" }))).toEqual(TOOL_NAMES);
});

test("the next step of a retryable failed job is retry_jobs if retry_job is not offered", async () => {
  const { id } = await createRetryableJob(service());
  const client = await serve({ MIC_TOOLSETS: "essentials" });
  const nextStep = {
    tool: "retry_jobs",
    arguments: { jobIds: [id], retryMode: "SAFE_RESUME", reason: expect.stringContaining("Retry after") },
  };
  const failed = await client.callTool("get_job", { jobId: id });
  expect(failed.structured).toMatchObject({ nextStep });
  expect(failed.text).toContain(`Next: retry_jobs {"jobIds":["${id}"]`);
  const step = Object(failed.structured?.["nextStep"]);
  const retried = await client.callTool("retry_jobs", { ...step.arguments, waitSeconds: 0 });
  expect(retried.structured).toMatchObject({ results: [{ jobId: id, outcome: "retried" }] });
  const all = await serve({});
  expect((await all.callTool("get_job", { jobId: id })).structured).not.toMatchObject({ nextStep });
});

test("MIC_TOOLS offers only these tools, or adds them to a toolset, and MIC_EXCLUDE_TOOLS removes tools", async () => {
  expect(await namesOf(await serve({ MIC_TOOLS: "get_job, find_district" }))).toEqual(["get_job", "find_district"]);
  const added = await serve({ MIC_TOOLS: "submit_job", MIC_TOOLSETS: "essentials", MIC_EXCLUDE_TOOLS: "run_job" });
  const expected = TOOL_NAMES.filter((name) => [...ESSENTIALS, "submit_job"].includes(name) && name !== "run_job");
  expect(await namesOf(added)).toEqual(expected);
  await expect(added.callTool("run_job", {})).rejects.toThrow(/excluded \(MIC_EXCLUDE_TOOLS\)/);
});

test("an unknown name in MIC_TOOLS is refused with the names of the tools", async () => {
  await expect(serve({ MIC_TOOLS: "get_jobs" })).rejects.toThrow(
    /unknown tools: get_jobs\. The tools are: list_states, /,
  );
});
