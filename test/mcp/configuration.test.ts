// Tests the effects of the configuration: the default workspace, read-only mode, toolsets, and missing settings.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { serviceForFile } from "../emulator/service.ts";
import { createRetryableJob } from "../emulator/work.ts";
import { operations } from "../operations.ts";
import { expectConsistentInstructions } from "../support/instructions.ts";
import { connectionForTest, emulatorEnv, inProcessClientForTest, type TestClient } from "../support/mcp.ts";
import { words } from "../support/words.ts";
import { GEOGRAPHY_TOOLS, POST_TOOLS, TOOL_NAMES } from "../tools/catalogue.ts";

const service = serviceForFile();
const ToolSchema = z.looseObject({
  properties: z.record(z.string(), z.unknown()),
  required: z.array(z.string()).default([]),
});

const serve = (env: Readonly<Record<string, string>> = {}): Promise<TestClient> =>
  inProcessClientForTest("v2-modern", { ...emulatorEnv(service().emulator), ...env });

const namesOf = async (connection: TestClient): Promise<readonly string[]> =>
  (await connection.listTools()).map(({ name }) => name);

/** Calls a tool that is not offered and returns the message of the protocol error; asserts that the API receives no request. */
async function callError(connection: TestClient, name: string): Promise<string> {
  const before = (await service().requests()).length;
  const error: unknown = await connection.callTool(name, {}).catch((reason: unknown) => reason);
  expect(await service().requests()).toHaveLength(before);
  return z.object({ code: z.literal(-32602), message: z.string() }).parse(error).message;
}

const ESSENTIALS = [
  ...["list_districts", "download_asset", "list_recipes", "get_recipe", "list_jobs", "get_job", "cancel_job"],
  ...["get_usage", "find_district", "rank_divisions", "list_actions", "resolve_actions"],
  ...["run_job", "run_jobs", "retry_jobs", "wait_for_jobs"],
];
const WRITE_TOOLS = ["download_asset", "cancel_job", "resolve_actions", "run_job", "run_jobs", "retry_jobs"];

const workspaceTools = words(`
  get_capabilities register_input list_recipes submit_job list_jobs get_usage request_file_processing run_job
  run_jobs retry_jobs`);

test("tools use the default workspace if no workspaceId is given, and require one if there is none [4.2/query-workspace-id, 1/workspace-id-prefix]", async () => {
  const { workspaceId, fileIds } = service().emulator;
  const connection = await serve({ MIC_WORKSPACE_ID: workspaceId });
  for (const { name, inputSchema } of await connection.listTools()) {
    const { properties, required } = ToolSchema.parse(inputSchema);
    expect(required, name).not.toContain("workspaceId");
    expect("workspaceId" in properties, name).toBe(workspaceTools.includes(name));
  }
  expect(connection.instructions()).toContain(workspaceId);
  expect((await connection.callTool("get_capabilities", { view: "full" })).structured).toMatchObject({
    data: { workspaceId },
  });
  const registered = await connection.callTool("register_input", { inputKind: "M4_FILE", referenceId: fileIds[0] });
  expect(registered.structured).toMatchObject({ data: { state: "READY" } });
  const other = await connection.callTool("list_jobs", { workspaceId: "micws_other" });
  expect(other.error).toMatchObject({ kind: "forbidden" });
  for (const wrong of [
    await connection.callTool("list_jobs", { workspaceId: "" }),
    await (await serve()).callTool("list_jobs", {}),
  ])
    expect(wrong.error).toMatchObject({ kind: "invalid_arguments", fieldErrors: [{ pointer: "/workspaceId" }] });
});

test("read-only mode offers only tools that change nothing, neither at the API nor on this machine", async () => {
  const writeTools = [...POST_TOOLS, "download_asset", "save_table"];
  const readTools = TOOL_NAMES.filter((name) => !writeTools.includes(name));
  const args = ["serve", "--read-only"];
  const connection = await connectionForTest("v2-modern", { env: emulatorEnv(service().emulator), args });
  expect(await namesOf(connection)).toEqual(readTools);
  for (const { name, annotations } of await connection.listTools())
    expect(annotations, name).toMatchObject({ readOnlyHint: true });
  for (const name of writeTools) expect(await callError(connection, name)).toMatch(/read-only.*MIC_READ_ONLY/);
  expect(await namesOf(await serve({ MIC_READ_ONLY: "1" }))).toEqual(readTools);
  expect(await namesOf(await serve({ MIC_READ_ONLY: "0" }))).toEqual(TOOL_NAMES);
});

test("without MIC_DOWNLOAD_DIR, files go to the platform's downloads folder", async () => {
  const connection = await connectionForTest("v2-modern", { env: emulatorEnv(service().emulator) });
  const { structured } = await connection.callTool("download_asset", { assetId: service().emulator.assetIds[0] });
  expect(structured).toMatchObject({ path: expect.stringContaining(`${connection.home}/Downloads/`) });
});

test("MIC_TOOLSETS limits the offered tools, and the error for other tools names the setting", async () => {
  const jobs = await serve({ MIC_TOOLSETS: "jobs" });
  expect(await namesOf(jobs)).toEqual(
    TOOL_NAMES.filter((name) => !GEOGRAPHY_TOOLS.includes(name) || name === "save_table"),
  );
  expect(await callError(jobs, "list_states")).toMatch(/geography.*MIC_TOOLSETS/);
  const geography = await serve({ MIC_TOOLSETS: "geography" });
  expect(await namesOf(geography)).toEqual(GEOGRAPHY_TOOLS);
  expect(await callError(geography, "submit_job")).toMatch(/jobs.*MIC_TOOLSETS/);
  expect(await namesOf(await serve({ MIC_TOOLSETS: " jobs , geography,jobs" }))).toEqual(TOOL_NAMES);
});

test("the error for an unknown tool contains its name and the available tools", async () => {
  const connection = await serve();
  for (const unknown of ["nope", "listStates", "constructor", "__proto__", ""]) {
    const message = await callError(connection, unknown);
    for (const name of [unknown, ...TOOL_NAMES]) expect(message).toContain(name);
  }
});

test("every tool reports the settings to set if the base URL or the credentials are missing, before it checks arguments [5/playground-anonymous]", async () => {
  const unconfigured = await inProcessClientForTest("v2-modern", {});
  const anonymous = await inProcessClientForTest("v2-modern", { MIC_BASE_URL: service().emulator.baseUrl });
  expect(await namesOf(unconfigured)).toEqual(TOOL_NAMES);
  expect((await anonymous.callTool("list_states")).isError).toBe(false);
  const missing = { kind: "not_configured", retryable: false, sideEffect: "none" };
  // list_actions reads only the journal.
  for (const name of TOOL_NAMES.filter((each) => each !== "list_actions"))
    for (const args of [{}, { no: "such argument" }]) {
      const { error } = await unconfigured.callTool(name, args);
      expect(error, name).toMatchObject(missing);
      expect(error?.next, name).toMatch(/^Ask the user to .*MIC_BASE_URL.*--emulator/);
      const { error: withoutCredentials } = await anonymous.callTool(name, args);
      if (GEOGRAPHY_TOOLS.includes(name)) expect(withoutCredentials?.kind, name).not.toBe("not_configured");
      else expect(withoutCredentials, name).toMatchObject(missing);
    }
  const { error } = await anonymous.callTool("get_job", { jobId: "j" });
  expect(error?.next).toMatch(/MIC_CLIENT_ID.*MIC_CLIENT_SECRET/);
  expect((await unconfigured.callTool("list_actions")).isError).toBe(false);
});

test("a wrong secret is reported as unauthorized, with the setting to correct", async () => {
  const { error } = await (await serve({ MIC_CLIENT_SECRET: "not-the-secret" })).callTool("get_job", { jobId: "j" });
  expect(error).toMatchObject({ kind: "unauthorized", status: 401, code: "invalid_client", sideEffect: "none" });
  expect(error?.next).toContain("MIC_CLIENT_SECRET");
});

test("serve --emulator connects to its own emulator and describes its data in the instructions", async () => {
  const connection = await connectionForTest("v2-modern", { args: ["serve", "--emulator"] });
  await expectConsistentInstructions(connection, "with an emulator");
  const instructions = connection.instructions() ?? "";
  expect(instructions).toMatch(/emulator/);
  const [referenceId] = /devfile_[0-9a-f]{32}/.exec(instructions) ?? [];
  const registered = await connection.callTool("register_input", { inputKind: "M4_FILE", referenceId });
  expect(registered.isError, registered.text).toBe(false);
  expect((await connection.callTool("list_states")).structured).toMatchObject(
    await service().ok(operations.listPlaygroundStates),
  );
  // The emulator has no other client, so the server reads the lists of all states at once.
  const found = await connection.callTool("find_district", { name: "Nowhereville" });
  expect(found.structured, found.text).toMatchObject({ vintage: expect.stringContaining("complete") });
});

test("MIC_TOOLSETS=essentials offers 16 tools of both toolsets, and no views; in read-only mode, no write tools", async () => {
  expect(await namesOf(await serve({ MIC_TOOLSETS: "essentials", MIC_APPS: "always" }))).toEqual(ESSENTIALS);
  const readOnly = await serve({ MIC_TOOLSETS: "essentials", MIC_READ_ONLY: "1" });
  expect(await namesOf(readOnly)).toEqual(ESSENTIALS.filter((name) => !WRITE_TOOLS.includes(name)));
  expect(await callError(readOnly, "run_job")).toMatch(/read-only.*MIC_READ_ONLY/);
  expect(await callError(readOnly, "submit_job")).toMatch(/toolset jobs is not enabled.*MIC_TOOLSETS/);
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
