// Tests the audit table: each action, refusal, download and change of a team has a row with the request's trace id. It contains
// none of the content that was sent. If a row cannot be written, only the end of an action fails.
import { expect, onTestFinished, test, vi } from "vitest";
import { type Caller, callerId } from "../../src/teams/caller.ts";
import { createEncryption, readSecretKeys } from "../../src/teams/encryption.ts";
import { Service } from "../emulator/service.ts";
import { createJobBodyForFile, FILE } from "../emulator/work.ts";
import { connectLegacyClient, createModernClient, resultOf } from "../mcp/http/raw-client.ts";
import { createManualClock, emulatorForTest } from "../support/emulator.ts";
import { AGENT } from "../support/identity-provider.ts";
import { loadTelemetryForTest, receiverForTest } from "../telemetry/receiver.ts";
import { connectCaller, createCaller, environmentForTest, instanceForTest } from "./deployment.ts";
import { createAssetTicket } from "./file-server.ts";
import { databaseForTest, describeWithDeployment, describeWithPostgres } from "./services.ts";

const MARKER = "only-the-caller-knows-this";
const TRACES = ["4bf92f3577b34da6a3ce929d0e0e4736", "0af7651916cd43dd8448eb211c80319c"] as const;
const toTraceparent = (trace: string): string => `00-${trace}-00f067aa0ba902b7-01`;

async function openAudit(url: string) {
  const database = await databaseForTest(url);
  return {
    database,
    /**
     * Rows ordered by tool name, then by time. Without the first key the order is not stable, because consecutive calls may write
     * their rows concurrently.
     */
    rows: () =>
      database.query(
        `SELECT event, caller, team, client, tool, key, resource_id, outcome, trace_id FROM audit ORDER BY tool COLLATE "C", at`,
      ),
  };
}

const findLink = (result: unknown): string =>
  /http:[^"\\\s]*\/downloads\/[\w.-]+/.exec(JSON.stringify(result))?.[0] ?? "";

const EMPTY_COLUMNS = { tool: null, key: null, resource_id: null, trace_id: null };

describeWithPostgres("the audit of callers", (postgres) => {
  async function setUp(more: Parameters<typeof instanceForTest>[1] = {}) {
    const clock = createManualClock();
    const emulator = await emulatorForTest({ clients: 2, clock });
    const [red, blue] = emulator.clients;
    if (!red || !blue) throw new Error("two clients were asked for");
    const place = await environmentForTest(postgres(), emulator);
    const instance = await instanceForTest(place, more);
    const connectClient = (caller: Caller) => connectCaller(instance, caller);
    const service = new Service(emulator, clock);
    const { workspaceId, ...job } = await createJobBodyForFile(service, FILE.succeeds);
    const { recipeVersionId, inputBindings, parameterValues } = job;
    const calls: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
      register_input: { inputKind: "M4_FILE", referenceId: red.fileIds[0], alias: MARKER },
      submit_job: { ...job, clientReference: MARKER },
      run_job: { recipeVersionId, inputs: inputBindings, parameterValues, clientReference: MARKER },
      request_file_processing: { fileId: red.fileIds[0], idempotencyKey: "a-key-of-the-caller" },
      cancel_job: { jobId: "micjob_0000000000000001", reason: MARKER },
      retry_job: { jobId: "micjob_0000000000000001", retryMode: "SAFE_RESUME", reason: MARKER },
      retry_jobs: { jobIds: ["micjob_0000000000000001"], retryMode: "SAFE_RESUME", reason: MARKER },
    };
    return { ...(await openAudit(place.url)), instance, service, blue, clientOf: connectClient, calls };
  }

  test("the audit has each action that a caller without a team attempted, and none of their reads", async () => {
    const { rows, database, clientOf: connectClient, calls, instance } = await setUp();
    const nonMember = createCaller("nobody");
    const client = await connectClient(nonMember);
    expect((await client.callTool("list_jobs")).error).toMatchObject({ kind: "forbidden" });
    const refusedTools = Object.keys(calls).sort();
    for (const tool of refusedTools)
      expect((await client.callTool(tool, calls[tool])).error, tool).toMatchObject({ kind: "forbidden" });
    await instance.audit.flush();
    const row = {
      ...EMPTY_COLUMNS,
      event: "refusal",
      caller: nonMember.id,
      team: "",
      client: "agent",
      outcome: "forbidden",
    };
    expect(await rows()).toEqual(refusedTools.map((tool) => ({ ...row, tool })));
    expect(JSON.stringify(await database.query("SELECT * FROM audit"))).not.toMatch(`${MARKER}|a-key-of|micjob_`);
  });

  test("the audit has each action attempted in another team's workspace, and no refusal for an action that the API refused", async () => {
    const { rows, blue, clientOf: connectClient, calls, instance, service } = await setUp();
    const ann = createCaller("ann", ["reds"]);
    const client = await connectClient(ann);
    for (const tool of ["register_input", "submit_job", "run_job"]) {
      const { error } = await client.callTool(tool, { ...calls[tool], workspaceId: blue.workspaceId });
      expect(error, tool).toMatchObject({ kind: "forbidden" });
    }
    expect((await client.callTool("list_jobs", { workspaceId: blue.workspaceId })).isError).toBe(true);
    await service.injectFault({ kind: "status", status: 403 }, { operationId: "createMicPublicInput", times: 1 });
    expect((await client.callTool("register_input", calls["register_input"])).error).toMatchObject({ status: 403 });
    await instance.audit.flush();
    const row = {
      ...EMPTY_COLUMNS,
      event: "refusal",
      caller: ann.id,
      team: "red",
      client: "agent",
      outcome: "forbidden",
    };
    expect((await rows()).filter(({ event }) => event === "refusal")).toEqual(
      ["register_input", "run_job", "submit_job"].map((tool) => ({ ...row, tool })),
    );
    expect((await rows()).filter(({ event }) => event === "action")).toMatchObject([{ outcome: "rejected" }]);
  });

  test("an audit row has the trace id of telemetry if telemetry is on", async () => {
    const receiver = await receiverForTest();
    const startTelemetry = await loadTelemetryForTest(receiver);
    const stderr = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    onTestFinished(() => void stderr.mockRestore());
    const { rows, clientOf: connectClient, calls, instance } = await setUp({ startTelemetry });
    const isError = async (caller: Caller, tool: string) =>
      (await (await connectClient(caller)).callTool(tool, calls[tool])).isError;
    expect(await isError(createCaller("ann", ["reds"]), "register_input")).toBe(false);
    expect(await isError(createCaller("nobody"), "submit_job")).toBe(true);
    await instance.audit.flush();
    await instance.telemetry?.close();
    const traceOf = (name: string) => receiver.spans().find((span) => span.name === name)?.traceId;
    expect((await rows()).map(({ tool, trace_id }) => [tool, trace_id])).toEqual([
      ["register_input", traceOf("tools/call register_input")],
      ["submit_job", traceOf("tools/call submit_job")],
    ]);
  });
});

const OPTIONS = { instances: 1, teams: 1, env: { MIC_LOG_LEVEL: "warn" } };

describeWithDeployment("the audit of a deployment", OPTIONS, (deployment) => {
  /** Empties the audit table and returns a deployment with one known caller. */
  async function setUp() {
    const { databaseUrl, teams, issueToken, url, provider, runCommand, env, fleet } = deployment();
    const [team] = teams;
    if (!team) throw new Error("there is a team");
    const { database, rows } = await openAudit(databaseUrl);
    await database.query("DELETE FROM audit");
    const bearer = async (scope?: string) => ({ authorization: `Bearer ${await issueToken("ann", [team], scope)}` });
    const ann = { caller: callerId(provider.issuer, "ann"), team: team.name, client: AGENT.id };
    /** Polls, because a row is written concurrently with its response. */
    const expectRows = (...expectedRows: object[]) => expect.poll(rows).toEqual(expectedRows);
    return { database, rows, become: expectRows, bearer, ann, team, url, command: runCommand, env, fleet };
  }
  const input = (setup: Awaited<ReturnType<typeof setUp>>, file: number) => ({
    inputKind: "M4_FILE",
    referenceId: setup.team.client.fileIds[file],
    alias: MARKER,
  });

  test("the audit row of an action has the trace id of the message, or else of its HTTP request, in either protocol revision", async () => {
    const setup = await setUp();
    const headers = { ...(await setup.bearer()), traceparent: toTraceparent(TRACES[0]) };
    const modern = createModernClient(setup.url, {}, headers);
    const callParams = {
      name: "register_input",
      arguments: input(setup, 1),
      _meta: { traceparent: toTraceparent(TRACES[1]) },
    };
    await resultOf(modern.request(1, "tools/call", callParams), 1);
    await resultOf((await connectLegacyClient(setup.url, {}, headers)).call(2, "register_input", input(setup, 2)), 2);
    const broken = { ...headers, traceparent: "00-nothing" };
    await resultOf(createModernClient(setup.url, {}, broken).call(3, "register_input", input(setup, 3)), 3);
    const row = { ...setup.ann, event: "action", tool: "register_input", outcome: "succeeded" };
    const own = { key: expect.any(String), resource_id: expect.any(String) };
    await setup.become(...[TRACES[1], TRACES[0], null].map((trace_id) => ({ ...row, ...own, trace_id })));
    expect(JSON.stringify(await setup.database.query("SELECT * FROM audit"))).not.toContain(MARKER);
  });

  test("the audit has each refusal for a missing scope, with the tool, or the method if the request names no tool", async () => {
    const setup = await setUp();
    const reader = { ...(await setup.bearer("mic:read")), traceparent: toTraceparent(TRACES[0]) };
    const modern = createModernClient(setup.url, {}, reader);
    expect((await modern.call(1, "submit_job", { clientReference: MARKER }).answer).status).toBe(403);
    expect((await modern.request(2, "tasks/cancel", { taskId: MARKER }).answer).status).toBe(403);
    const noScopeClient = createModernClient(setup.url, {}, await setup.bearer("openid"));
    expect((await noScopeClient.call(3, "list_jobs", {}).answer).status).toBe(403);
    expect((await modern.call(4, "list_jobs", {}).answer).status).toBe(200);
    const row = { ...EMPTY_COLUMNS, ...setup.ann, event: "refusal", outcome: "insufficient_scope" };
    await setup.become(
      { ...row, tool: "submit_job", trace_id: TRACES[0] },
      { ...row, tool: "tasks/cancel", trace_id: TRACES[0] },
      // The path names no team and the caller may not read, so the server has not looked up the caller's teams.
      { ...row, team: "" },
    );
  });

  test("the audit has each download, with the asset, the client that the link was created for, and the outcome", async () => {
    const setup = await setUp();
    const client = createModernClient(setup.url, {}, await setup.bearer());
    const [assetId = ""] = setup.team.client.assetIds;
    const result = await resultOf(client.call(1, "download_asset", { assetId, fileName: MARKER }), 1);
    const link = findLink(result);
    await (await fetch(link, { headers: { traceparent: toTraceparent(TRACES[1]) } })).arrayBuffer();
    const row = { ...EMPTY_COLUMNS, ...setup.ann, event: "download" };
    const completeRow = { ...row, resource_id: assetId, outcome: "complete", trace_id: TRACES[1] };
    await setup.become(completeRow);
    const encryption = createEncryption(readSecretKeys(setup.env["MIC_SECRET_KEYS"] ?? ""));
    const holder = { issuer: setup.env["MIC_AUTH_ISSUER"] ?? "", subject: "ann", groups: [setup.team.claim] };
    const missing = { caller: setup.ann.caller, team: setup.team.name, holder, assetId: "there-is-none" };
    const ticket = await createAssetTicket(encryption, missing);
    expect((await fetch(new URL(`/downloads/${ticket}`, setup.url))).status).toBe(404);
    await setup.become(completeRow, { ...row, resource_id: "there-is-none", outcome: "HTTP 404" });
    expect(JSON.stringify(await setup.database.query("SELECT * FROM audit"))).not.toContain(MARKER);
  });

  test("the audit has each change of a team as the operator's, and no command that changed nothing", async () => {
    const setup = await setUp();
    const { name, client } = setup.team;
    const teams = (line: string, input?: string) => setup.command(["teams", ...line.split(" ")], input);
    const teamOptions = "--client-id another --workspace-id w2 --secret-stdin --skip-verify --member bob";
    await teams(`add another ${teamOptions}`, MARKER);
    await teams(`add ${name} --member bob --claim ${setup.team.claim}`);
    await teams(`add ${name} --member bob`);
    for (let times = 1; times <= 2; times++) await teams(`remove ${name} --member bob`);
    await teams(`rotate-secret ${name} --secret-stdin`, client.clientSecret);
    await teams("rotate-keys");
    await teams("list");
    await teams("remove another");
    const teamRow = (team: string, outcome: string, resource: string | null = null) => ({
      ...EMPTY_COLUMNS,
      ...{ event: "team", caller: "operator", client: "mic-mcp", team, outcome, resource_id: resource },
    });
    const bob = callerId(setup.env["MIC_AUTH_ISSUER"] ?? "", "bob");
    const ofAnother = [
      teamRow("another", "added"),
      teamRow("another", "member added", bob),
      teamRow("another", "removed"),
    ];
    const members = [teamRow(name, "member added", bob), teamRow(name, "member removed", bob)];
    const expected = [...ofAnother, ...members, teamRow(name, "claim set"), teamRow(name, "secret replaced")];
    // The rows of one command are written concurrently, in any order.
    const rows = await setup.rows();
    expect(rows).toHaveLength(expected.length);
    expect(rows).toEqual(expect.arrayContaining(expected));
    expect(JSON.stringify(await setup.database.query("SELECT * FROM audit"))).not.toMatch(
      `${MARKER}|${client.clientSecret}`,
    );
  }, 120_000);

  test("an audit row that cannot be written is logged, and its refusal, download or command still completes", async () => {
    const setup = await setUp();
    await setup.database.query("ALTER TABLE audit RENAME TO elsewhere");
    onTestFinished(async () => void (await setup.database.query("ALTER TABLE elsewhere RENAME TO audit")));
    const [assetId = ""] = setup.team.client.assetIds;
    const reader = createModernClient(setup.url, {}, await setup.bearer("mic:read"));
    expect((await reader.call(1, "submit_job", {}).answer).status).toBe(403);
    const result = await resultOf(reader.call(2, "download_asset", { assetId }), 2);
    const link = findLink(result);
    expect((await fetch(link)).status).toBe(200);
    expect(await setup.command(["teams", "add", setup.team.name, "--claim", setup.team.claim])).toContain(
      "are members",
    );
    const serverLogs = () => setup.fleet.instances.map((instance) => instance.output()).join("");
    await expect.poll(serverLogs).toMatch(/"event":"refusal".*writing an audit row failed/);
    await expect.poll(serverLogs).toMatch(/"event":"download".*writing an audit row failed/);
  });
});

describeWithPostgres("a database that fails while an action runs", (postgres) => {
  test("the outcome and its audit row are recorded while the instance runs, and nothing is sent again", async () => {
    const place = await environmentForTest(postgres(), await emulatorForTest({ clients: 1 }));
    const caller = createCaller("ann", ["reds"]);
    const client = await connectCaller(await instanceForTest(place), caller);
    const database = await databaseForTest(place.url);
    const readState = async () => ({
      actions: await database.query("SELECT state FROM actions"),
      audit: await database.query("SELECT outcome, caller FROM audit"),
    });
    await client.callTool("list_actions");
    await database.query(
      "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''the disk is full''; END'",
    );
    await database.query("CREATE TRIGGER fail BEFORE UPDATE ON actions FOR EACH ROW EXECUTE FUNCTION fail()");
    const registered = await client.callTool("register_input", {
      inputKind: "M4_FILE",
      referenceId: place.emulator.fileIds[0],
    });
    expect(registered.isError, registered.text).toBe(false);
    expect(await readState()).toEqual({ actions: [{ state: "in_progress" }], audit: [] });
    await database.query("DROP TRIGGER fail ON actions");
    await expect
      .poll(readState, { timeout: 15_000 })
      .toEqual({ actions: [{ state: "succeeded" }], audit: [{ outcome: "succeeded", caller: caller.id }] });
  });
});
