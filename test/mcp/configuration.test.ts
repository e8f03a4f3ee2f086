// Tests the effects of the configuration: the default workspace, read-only mode, toolsets, and missing settings.
import { describe, expect, test } from "vitest";
import * as z from "zod/v4";
import { serviceForFile } from "../emulator/service.ts";
import { operations } from "../operations.ts";
import {
  type ClientRevision,
  connectionForTest,
  emulatorEnv,
  inProcessClientForTest,
  type TestClient,
} from "../support/mcp.ts";
import { words } from "../support/words.ts";
import { GEOGRAPHY_TOOLS, POST_TOOLS, TOOL_NAMES } from "../tools/catalogue.ts";

const service = serviceForFile();
const testedRevisions: readonly ClientRevision[] = ["v1-client", "v2-modern"];

const serve = (revision: ClientRevision, env: Readonly<Record<string, string>> = {}): Promise<TestClient> =>
  inProcessClientForTest(revision, { ...emulatorEnv(service().emulator), ...env });

const namesOf = async (connection: TestClient): Promise<readonly string[]> =>
  (await connection.listTools()).map(({ name }) => name);

/** Calls a tool that is not offered and returns the message of the protocol error; asserts that the API receives no request. */
async function callError(connection: TestClient, name: string): Promise<string> {
  const before = (await service().requests()).length;
  const error: unknown = await connection.callTool(name, {}).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(await service().requests()).toHaveLength(before);
  return z.object({ code: z.literal(-32602), message: z.string() }).parse(error).message;
}

describe.each(testedRevisions)("%s", (revision) => {
  test("tools use the default workspace if no workspaceId is given [4.2/query-workspace-id, 1/workspace-id-prefix]", async () => {
    const { workspaceId } = service().emulator;
    const connection = await serve(revision, { MIC_WORKSPACE_ID: workspaceId });
    for (const { name, inputSchema } of await connection.listTools()) {
      const { properties, required = [] } = z
        .looseObject({ properties: z.record(z.string(), z.unknown()), required: z.array(z.string()).optional() })
        .parse(inputSchema);
      expect(required, name).not.toContain("workspaceId");
      const workspaceTools = words(`
        get_capabilities register_input list_recipes submit_job list_jobs get_usage request_file_processing run_job
        run_jobs retry_jobs`);
      expect("workspaceId" in properties, name).toBe(workspaceTools.includes(name));
    }
    expect(connection.instructions()).toContain(workspaceId);
    const jobs = await connection.callTool("list_jobs", { limit: 1 });
    expect(jobs.isError, jobs.text).toBe(false);
    expect((await connection.callTool("get_capabilities", { view: "full" })).structured).toMatchObject({
      data: { workspaceId },
    });
    const registered = await connection.callTool("register_input", {
      inputKind: "M4_FILE",
      referenceId: service().emulator.fileIds[0],
    });
    expect(registered.structured).toMatchObject({ data: { state: "READY" } });
    const other = await connection.callTool("list_jobs", { workspaceId: "micws_other" });
    expect(other.error).toMatchObject({ kind: "forbidden" });
    const wrong = await connection.callTool("list_jobs", { workspaceId: "" });
    expect(wrong.error).toMatchObject({ kind: "invalid_arguments", fieldErrors: [{ pointer: "/workspaceId" }] });
  });

  test("tools require a workspaceId if there is no default workspace", async () => {
    const connection = await serve(revision);
    const { error } = await connection.callTool("list_jobs", {});
    expect(error).toMatchObject({ kind: "invalid_arguments", fieldErrors: [{ pointer: "/workspaceId" }] });
  });

  test("read-only mode offers only tools that change nothing, neither at the API nor on this machine", async () => {
    const writeTools = [...POST_TOOLS, "download_asset", "save_table"];
    const readTools = TOOL_NAMES.filter((name) => !writeTools.includes(name));
    const args = ["serve", "--read-only"];
    const connection = await connectionForTest(revision, { env: emulatorEnv(service().emulator), args });
    expect(await namesOf(connection)).toEqual(readTools);
    for (const { name, annotations } of await connection.listTools())
      expect(annotations, name).toMatchObject({ readOnlyHint: true });
    for (const name of writeTools) expect(await callError(connection, name)).toMatch(/read-only.*MIC_READ_ONLY/);
    expect(await namesOf(await serve(revision, { MIC_READ_ONLY: "1" }))).toEqual(readTools);
    expect(await namesOf(await serve(revision, { MIC_READ_ONLY: "0" }))).toEqual(TOOL_NAMES);
  });

  test("without MIC_DOWNLOAD_DIR, files go to the platform's downloads folder", async () => {
    const connection = await connectionForTest(revision, { env: emulatorEnv(service().emulator) });
    const { structured } = await connection.callTool("download_asset", { assetId: service().emulator.assetIds[0] });
    expect(structured).toMatchObject({ path: expect.stringContaining(`${connection.home}/Downloads/`) });
  });

  test("MIC_TOOLSETS limits the offered tools, and the error for other tools names the setting", async () => {
    const jobs = await serve(revision, { MIC_TOOLSETS: "jobs" });
    expect(await namesOf(jobs)).toEqual(
      TOOL_NAMES.filter((name) => !GEOGRAPHY_TOOLS.includes(name) || name === "save_table"),
    );
    expect(await callError(jobs, "list_states")).toMatch(/geography.*MIC_TOOLSETS/);
    expect(jobs.instructions()).not.toContain("list_states");
    const geography = await serve(revision, { MIC_TOOLSETS: "geography" });
    expect(await namesOf(geography)).toEqual(GEOGRAPHY_TOOLS);
    expect(await callError(geography, "submit_job")).toMatch(/jobs.*MIC_TOOLSETS/);
    expect(geography.instructions()).not.toContain("submit_job");
    expect(await namesOf(await serve(revision, { MIC_TOOLSETS: " jobs , geography,jobs" }))).toEqual(TOOL_NAMES);
  });

  test("the error for an unknown tool contains its name and the available tools", async () => {
    const connection = await serve(revision);
    for (const unknown of ["nope", "listStates", "constructor", "__proto__", ""]) {
      const message = await callError(connection, unknown);
      for (const name of [unknown, ...TOOL_NAMES]) expect(message).toContain(name);
    }
  });

  test("tools report the settings to set if the base URL or the credentials are missing [5/playground-anonymous]", async () => {
    const unconfigured = await inProcessClientForTest(revision, {});
    expect(await namesOf(unconfigured)).toEqual(TOOL_NAMES);
    for (const name of ["list_states", "get_job"]) {
      const { error } = await unconfigured.callTool(name, name === "get_job" ? { jobId: "j" } : {});
      expect(error).toMatchObject({ kind: "not_configured", retryable: false, sideEffect: "none" });
      expect(error?.next).toMatch(/MIC_BASE_URL.*--emulator/);
    }
    const anonymous = await inProcessClientForTest(revision, { MIC_BASE_URL: `${service().emulator.baseUrl}/` });
    expect((await anonymous.callTool("list_states")).isError).toBe(false);
    const { error } = await anonymous.callTool("get_job", { jobId: "j" });
    expect(error).toMatchObject({ kind: "not_configured", sideEffect: "none" });
    expect(error?.next).toMatch(/MIC_CLIENT_ID.*MIC_CLIENT_SECRET/);
    const denied = await serve(revision, { MIC_CLIENT_SECRET: "not-the-secret" });
    const failed = await denied.callTool("get_job", { jobId: "j" });
    expect(failed.error).toMatchObject({
      kind: "unauthorized",
      status: 401,
      code: "invalid_client",
      sideEffect: "none",
    });
    expect(failed.error?.next).toContain("MIC_CLIENT_SECRET");
  });

  test("every tool reports a missing configuration before it checks arguments", async () => {
    const unconfigured = await inProcessClientForTest(revision, { MIC_KEYCHAIN: "off" });
    const anonymous = await inProcessClientForTest(revision, {
      MIC_KEYCHAIN: "off",
      MIC_BASE_URL: service().emulator.baseUrl,
    });
    // list_actions reads only the journal.
    const apiTools = TOOL_NAMES.filter((name) => name !== "list_actions");
    for (const args of [{}, { no: "such argument" }])
      for (const name of apiTools) {
        const { error } = await unconfigured.callTool(name, args);
        expect(error, name).toMatchObject({ kind: "not_configured", retryable: false, sideEffect: "none" });
        expect(error?.next, name).toMatch(/^Ask the user to /);
        const ofAnonymous = await anonymous.callTool(name, args);
        if (GEOGRAPHY_TOOLS.includes(name)) expect(ofAnonymous.error?.kind, name).not.toBe("not_configured");
        else expect(ofAnonymous.error, name).toMatchObject({ kind: "not_configured" });
      }
    expect((await unconfigured.callTool("list_actions")).isError).toBe(false);
    expect((await unconfigured.callTool("list_actions", { limit: 0 })).error).toMatchObject({
      kind: "invalid_arguments",
    });
  });

  test("serve --emulator connects to its own emulator and describes its data in the instructions", async () => {
    const connection = await connectionForTest(revision, { args: ["serve", "--emulator"] });
    const instructions = connection.instructions() ?? "";
    expect(instructions).toMatch(/emulator/);
    const [fileId] = /devfile_[0-9a-f]{32}/.exec(instructions) ?? [];
    const registered = await connection.callTool("register_input", { inputKind: "M4_FILE", referenceId: fileId });
    expect(registered.isError, registered.text).toBe(false);
    expect((await connection.callTool("list_states")).structured).toMatchObject(
      await service().ok(operations.listPlaygroundStates),
    );
    // The emulator has no other client, so the server reads the lists of all states at once.
    const found = await connection.callTool("find_district", { name: "Nowhereville" });
    expect(found.structured, found.text).toMatchObject({ vintage: expect.stringContaining("complete") });
  });
});
