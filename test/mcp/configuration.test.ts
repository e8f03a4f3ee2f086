// Tests the effects of the configuration: the default workspace, the offered tools, and missing settings.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { serviceForFile } from "../emulator/service.ts";
import { createRetryableJob } from "../emulator/work.ts";
import { expectConsistentInstructions } from "../support/instructions.ts";
import { connectionForTest, emulatorEnv, inProcessClientForTest, type TestClient } from "../support/mcp.ts";
import { words } from "../support/words.ts";
import { GEOGRAPHY_TOOLS, POST_TOOLS, TOOL_NAMES } from "../tools/catalogue.ts";

const service = serviceForFile();
const ToolSchema = z.looseObject({
  properties: z.record(z.string(), z.unknown()),
  required: z.array(z.string()).default([]),
});

type Env = Readonly<Record<string, string>>;
const serve = (env: Env = {}): Promise<TestClient> =>
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

const workspaceTools = words(`
  get_capabilities register_input list_recipes submit_job list_jobs get_usage request_file_processing run_job
  run_jobs retry_jobs`);

test("tools use the default workspace if no workspaceId is given, and require a workspaceId if there is no default", {
  tags: ["4.2/query-workspace-id", "1/workspace-id-prefix"],
}, async () => {
  const { workspaceId, fileIds } = service().emulator;
  const connection = await serve({ MIC_WORKSPACE_ID: workspaceId });
  for (const { name, inputSchema } of await connection.listTools()) {
    const { properties, required } = ToolSchema.parse(inputSchema);
    expect(required, name).not.toContain("workspaceId");
    expect("workspaceId" in properties, name).toBe(workspaceTools.includes(name));
  }
  expect(connection.instructions()).toContain(workspaceId);
  const capabilities = await connection.callTool("get_capabilities", { view: "full" });
  expect(capabilities.structured).toMatchObject({ data: { workspaceId } });
  const registered = await connection.callTool("register_input", { inputKind: "M4_FILE", referenceId: fileIds[0] });
  expect(registered.structured).toMatchObject({ data: { state: "READY" } });
  const other = await connection.callTool("list_jobs", { workspaceId: "micws_other" });
  expect(other.error).toMatchObject({ kind: "forbidden" });
  const wrong = await connection.callTool("list_jobs", { workspaceId: "w".repeat(129) });
  expect(wrong.error).toMatchObject({ kind: "invalid_arguments", fieldErrors: [{ pointer: "/workspaceId" }] });
  const unconfigured = await serve();
  for (const [name, args] of [
    ["list_jobs", {}],
    ["list_recipes", { workspaceId: "" }],
    ["retry_jobs", { createdSince: "2026-11-23", retryMode: "SAFE_RESUME", reason: "nightly" }],
    ["save_table", { source: "list_jobs", arguments: {}, fileName: "jobs.csv" }],
  ] as const) {
    const missing = await unconfigured.callTool(name, args);
    expect({ name, error: missing.error }).toMatchObject({
      error: { kind: "not_configured", next: expect.stringMatching(/MIC_WORKSPACE_ID .*micws_/) },
    });
  }
});

const ESSENTIALS = words(`
  download_asset list_recipes get_recipe list_jobs get_job get_usage find_district
  rank_divisions resolve_actions run_job run_jobs retry_jobs cancel_jobs wait_for_jobs save_table`);
const WRITE_TOOLS = [...POST_TOOLS, "download_asset", "save_table"];
const toolsIn = (...names: readonly string[]) => TOOL_NAMES.filter((name) => names.includes(name));
const without = (names: readonly string[], removed: readonly string[]) =>
  names.filter((name) => !removed.includes(name));
const JOBS = [...without(TOOL_NAMES, GEOGRAPHY_TOOLS), "save_table"];

/** The offered tools, and the error for each of some others. */
test.for<readonly [Env, offered: readonly string[], errors?: Readonly<Record<string, RegExp>>]>([
  [{ MIC_READ_ONLY: "0" }, TOOL_NAMES],
  [
    { MIC_READ_ONLY: "1" },
    without(TOOL_NAMES, WRITE_TOOLS),
    Object.fromEntries(WRITE_TOOLS.map((name) => [name, /read-only.*MIC_READ_ONLY/])),
  ],
  [{ MIC_TOOLSETS: "jobs" }, toolsIn(...JOBS), { list_states: /geography.*MIC_TOOLSETS/ }],
  [{ MIC_TOOLSETS: "geography" }, GEOGRAPHY_TOOLS, { submit_job: /jobs.*MIC_TOOLSETS/ }],
  [{ MIC_TOOLSETS: " jobs , geography,jobs" }, TOOL_NAMES],
  [{ MIC_TOOLSETS: "essentials" }, ESSENTIALS],
  [
    { MIC_TOOLSETS: "essentials", MIC_READ_ONLY: "1" },
    without(ESSENTIALS, WRITE_TOOLS),
    { run_job: /read-only.*MIC_READ_ONLY/, submit_job: /toolset jobs is not enabled.*MIC_TOOLSETS/ },
  ],
  [{ MIC_TOOLSETS: "essentials,geography" }, toolsIn(...ESSENTIALS, ...GEOGRAPHY_TOOLS)],
  [{ MIC_TOOLSETS: "essentials,geography,jobs" }, TOOL_NAMES],
  [{ MIC_TOOLS: "get_job, find_district" }, ["get_job", "find_district"]],
  [
    { MIC_TOOLS: "submit_job", MIC_TOOLSETS: "essentials", MIC_EXCLUDE_TOOLS: "run_job" },
    without(toolsIn(...ESSENTIALS, "submit_job"), ["run_job"]),
    { run_job: /excluded \(MIC_EXCLUDE_TOOLS\)/ },
  ],
])(
  "%j decides which tools are offered, and the error for another tool names the setting",
  async ([env, offered, errors = {}]) => {
    const connection = await serve(env);
    expect(await namesOf(connection)).toEqual(offered);
    for (const [name, error] of Object.entries(errors)) expect(await callError(connection, name)).toMatch(error);
  },
);

test("an unknown name in MIC_TOOLS is refused with the names of the tools", async () => {
  await expect(serve({ MIC_TOOLS: "get_jobs" })).rejects.toThrow(
    /unknown tools: get_jobs\. The tools are: list_states, /,
  );
});

test("the error for an unknown tool contains its name and the available tools", async () => {
  const connection = await serve();
  for (const unknown of ["nope", "constructor", "__proto__", ""]) {
    const message = await callError(connection, unknown);
    for (const name of [unknown, ...TOOL_NAMES]) expect(message).toContain(name);
  }
});

test("every tool reports the settings to set if the base URL or the credentials are missing, before it checks arguments", {
  tags: ["5/playground-anonymous"],
}, async () => {
  const unconfigured = await inProcessClientForTest("v2-modern", {});
  const anonymous = await inProcessClientForTest("v2-modern", { MIC_BASE_URL: service().emulator.baseUrl });
  expect(await namesOf(unconfigured)).toEqual(TOOL_NAMES);
  expect((await anonymous.callTool("list_states")).isError).toBe(false);
  const missing = { kind: "not_configured", retryable: false, sideEffect: "none" };
  // list_actions reads only the journal.
  for (const name of without(TOOL_NAMES, ["list_actions"])) {
    const { error } = await unconfigured.callTool(name, { no: "such argument" });
    expect(error, name).toMatchObject(missing);
    expect(error?.next, name).toMatch(/^Ask the user to .*MIC_BASE_URL.*--emulator/);
    const { error: withoutCredentials } = await anonymous.callTool(name, { no: "such argument" });
    if (GEOGRAPHY_TOOLS.includes(name)) expect(withoutCredentials?.kind, name).not.toBe("not_configured");
    else {
      expect(withoutCredentials, name).toMatchObject(missing);
      expect(withoutCredentials?.next, name).toMatch(/MIC_CLIENT_ID.*MIC_CLIENT_SECRET/);
    }
  }
  expect((await unconfigured.callTool("list_actions")).isError).toBe(false);
});

test("a wrong secret is reported as unauthorized, with the setting to correct", async () => {
  const { error } = await (await serve({ MIC_CLIENT_SECRET: "not-the-secret" })).callTool("get_job", { jobId: "j" });
  expect(error).toMatchObject({ kind: "unauthorized", status: 401, code: "invalid_client", sideEffect: "none" });
  expect(error?.next).toContain("MIC_CLIENT_SECRET");
});

test("serve --emulator names its own files and completes their names, and saves to the platform's downloads folder", async () => {
  const connection = await connectionForTest("v2-modern", { args: ["serve", "--emulator"] });
  await expectConsistentInstructions(connection, "with an emulator");
  const file = /(dev(?:sign)?file_\w{32}) lgd-districts\.csv \(divisions\)/;
  const [, referenceId = ""] = file.exec(connection.instructions() ?? "") ?? [];
  expect(await connection.complete({ type: "ref/prompt", name: "run_job" }, "referenceId", "LGD-dist")).toEqual([
    referenceId,
  ]);
  const registered = await connection.callTool("register_input", { inputKind: "M4_FILE", referenceId });
  expect(registered.isError, registered.text).toBe(false);
  const { structured } = await connection.callTool("download_asset", { assetId: referenceId });
  expect(structured).toMatchObject({ path: expect.stringContaining(`${connection.home}/Downloads/`) });
  // The emulator has no other client, so the server reads the lists of all states at once.
  const found = await connection.callTool("find_district", { name: "Nowhereville" });
  expect(found.structured, found.text).toMatchObject({ vintage: expect.stringContaining("complete") });
});

test("the next step of a retryable failed job is retry_jobs if retry_job is not offered", async () => {
  const { id } = await createRetryableJob(service());
  const client = await serve({ MIC_TOOLSETS: "essentials" });
  const reason = expect.stringContaining("Retry after");
  const nextStep = { tool: "retry_jobs", arguments: { jobIds: [id], retryMode: "SAFE_RESUME", reason } };
  const failed = await client.callTool("get_job", { jobId: id });
  expect(failed.structured).toMatchObject({ nextStep });
  expect(failed.text).toContain(`Next: retry_jobs {"jobIds":["${id}"]`);
  const step = Object(failed.structured?.["nextStep"]);
  const retried = await client.callTool("retry_jobs", { ...step.arguments, waitSeconds: 0 });
  expect(retried.structured).toMatchObject({ results: [{ jobId: id, outcome: "retried" }] });
});
