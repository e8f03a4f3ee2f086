// The audit as whoever runs a deployment reads it: a row for each action, refusal, download and change of a team, with the trace that the
// caller's request belongs to; and nothing of what was sent. A row that cannot be written fails nothing but the end of an action.
import { expect, onTestFinished, test, vi } from "vitest";
import { openPostgres } from "../../src/actions/store/postgres.ts";
import { loadTelemetry } from "../../src/cli/telemetry.ts";
import { type Caller, callerId } from "../../src/teams/caller.ts";
import { toAuditRow } from "../../src/teams/downloads/downloads.ts";
import { createEncryption, readSecretKeys } from "../../src/teams/encryption.ts";
import { Service } from "../emulator/service.ts";
import { FILE, jobBodyFor } from "../emulator/work.ts";
import { connectLegacyClient, createModernClient, resultOf } from "../mcp/http/raw-client.ts";
import { emulatorForTest, manualClock } from "../support/emulator.ts";
import { AGENT } from "../support/identity-provider.ts";
import { receiverForTest } from "../telemetry/receiver.ts";
import { addTeam, callerNamed, clientAt, instanceForTest, keyLine } from "./deployment.ts";
import { assetTicket } from "./file-server.ts";
import { describeWithDeployment, describeWithPostgres } from "./services.ts";

const MARK = "only-the-caller-knows-this";
const TRACES = ["4bf92f3577b34da6a3ce929d0e0e4736", "0af7651916cd43dd8448eb211c80319c"] as const;
const traceparent = (trace: string): string => `00-${trace}-00f067aa0ba902b7-01`;

async function rowsAt(url: string) {
  const database = await openPostgres(url);
  onTestFinished(() => database.close());
  return {
    database,
    /** By tool, and those of one by time: rows of calls that follow each other may be written at once. */
    rows: () =>
      database.query(
        `SELECT event, caller, team, client, tool, key, resource_id, outcome, trace_id FROM audit ORDER BY tool COLLATE "C", at`,
      ),
  };
}

const linkIn = (result: unknown): string =>
  /http:[^"\\\s]*\/downloads\/[\w.-]+/.exec(JSON.stringify(result))?.[0] ?? "";

const NOTHING = { tool: null, key: null, resource_id: null, trace_id: null };

describeWithPostgres("the audit of callers", (postgres) => {
  async function scene(more: Parameters<typeof instanceForTest>[1] = {}) {
    const clock = manualClock();
    const emulator = await emulatorForTest({ clients: 2, clock });
    const [red, blue] = emulator.clients;
    if (!red || !blue) throw new Error("two clients were asked for");
    const place = { url: await postgres().database(), keys: keyLine("one"), emulator };
    await addTeam(place, { name: "red", client: 0, claim: "reds" });
    const instance = await instanceForTest(place, more);
    const clientOf = (caller: Caller) => clientAt(instance, caller);
    const service = new Service(emulator, clock);
    const { workspaceId, ...job } = await jobBodyFor(service, FILE.succeeds);
    const { recipeVersionId, inputBindings, parameterValues } = job;
    const calls: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
      register_input: { inputKind: "M4_FILE", referenceId: red.fileIds[0], alias: MARK },
      submit_job: { ...job, clientReference: MARK },
      run_job: { recipeVersionId, inputs: inputBindings, parameterValues, clientReference: MARK },
      request_file_processing: { fileId: red.fileIds[0], idempotencyKey: "a-key-of-the-caller" },
      cancel_job: { jobId: "micjob_0000000000000001", reason: MARK },
      retry_job: { jobId: "micjob_0000000000000001", retryMode: "SAFE_RESUME", reason: MARK },
      retry_jobs: { jobIds: ["micjob_0000000000000001"], retryMode: "SAFE_RESUME", reason: MARK },
    };
    return { ...(await rowsAt(place.url)), instance, service, blue, clientOf, calls };
  }

  test("has each action that somebody asked for who is in no team; what he reads is not in it", async () => {
    const { rows, database, clientOf, calls, instance } = await scene();
    const nonMember = callerNamed("nobody");
    const client = await clientOf(nonMember);
    expect((await client.callTool("list_jobs")).error).toMatchObject({ kind: "forbidden" });
    const refusedTools = Object.keys(calls).sort();
    for (const tool of refusedTools)
      expect((await client.callTool(tool, calls[tool])).error, tool).toMatchObject({ kind: "forbidden" });
    await instance.audit.flush();
    const row = { ...NOTHING, event: "refusal", caller: nonMember.id, team: "", client: "agent", outcome: "forbidden" };
    expect(await rows()).toEqual(refusedTools.map((tool) => ({ ...row, tool })));
    expect(JSON.stringify(await database.query("SELECT * FROM audit"))).not.toMatch(`${MARK}|a-key-of|micjob_`);
  });

  test("has each action in another team's workspace, and none that the service refused", async () => {
    const { rows, blue, clientOf, calls, instance, service } = await scene();
    const ann = callerNamed("ann", ["reds"]);
    const client = await clientOf(ann);
    for (const tool of ["register_input", "submit_job", "run_job"]) {
      const { error } = await client.callTool(tool, { ...calls[tool], workspaceId: blue.workspaceId });
      expect(error, tool).toMatchObject({ kind: "forbidden" });
    }
    expect((await client.callTool("list_jobs", { workspaceId: blue.workspaceId })).isError).toBe(true);
    await service.fault({ kind: "status", status: 403 }, { operationId: "createMicPublicInput", times: 1 });
    expect((await client.callTool("register_input", calls["register_input"])).error).toMatchObject({ status: 403 });
    await instance.audit.flush();
    const row = { ...NOTHING, event: "refusal", caller: ann.id, team: "red", client: "agent", outcome: "forbidden" };
    expect((await rows()).filter(({ event }) => event === "refusal")).toEqual(
      ["register_input", "run_job", "submit_job"].map((tool) => ({ ...row, tool })),
    );
    expect((await rows()).filter(({ event }) => event === "action")).toMatchObject([{ outcome: "rejected" }]);
  });

  test("names telemetry's trace where there is telemetry", async () => {
    const receiver = await receiverForTest();
    vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint);
    onTestFinished(() => void vi.unstubAllEnvs());
    const startTelemetry = await loadTelemetry(process.env, { hasPort: true });
    const stderr = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    onTestFinished(() => void stderr.mockRestore());
    const { rows, clientOf, calls, instance } = await scene({ startTelemetry });
    const isError = async (caller: Caller, tool: string) =>
      (await (await clientOf(caller)).callTool(tool, calls[tool])).isError;
    expect(await isError(callerNamed("ann", ["reds"]), "register_input")).toBe(false);
    expect(await isError(callerNamed("nobody"), "submit_job")).toBe(true);
    await instance.audit.flush();
    await instance.telemetry?.close();
    const traceOf = (name: string) => receiver.spans().find((span) => span.name === name)?.traceId;
    expect((await rows()).map(({ tool, trace_id }) => [tool, trace_id])).toEqual([
      ["register_input", traceOf("tools/call register_input")],
      ["submit_job", traceOf("tools/call submit_job")],
    ]);
  });
});

test("records a download as complete, interrupted or with its HTTP status", () => {
  const ended = { ...{ caller: "ann", team: undefined, client: "agent", traceId: undefined, bytes: 1 }, source: "it" };
  const outcomeOf = (kind: "asset" | "rows", status: number, isComplete: boolean) =>
    toAuditRow({ ...ended, kind, status, isComplete });
  expect(outcomeOf("asset", 200, true)[1]).toEqual({ event: "download", outcome: "complete", resourceId: "it" });
  expect(outcomeOf("rows", 200, false)[1]).toEqual({ event: "download", outcome: "interrupted", tool: "it" });
  expect(outcomeOf("rows", 502, false)).toMatchObject([{ caller: "ann", team: "" }, { outcome: "HTTP 502" }]);
});

const OPTIONS = { instances: 1, teams: 1, env: { MIC_LOG_LEVEL: "warn" } };

describeWithDeployment("the audit of a deployment", OPTIONS, (deployment) => {
  /** The table is empty, and it is known who calls. */
  async function scene() {
    const { databaseUrl, teams, token, url, provider, command, env, fleet } = deployment();
    const [team] = teams;
    if (!team) throw new Error("there is a team");
    const { database, rows } = await rowsAt(databaseUrl);
    await database.query("DELETE FROM audit");
    const bearer = async (scope?: string) => ({ authorization: `Bearer ${await token("ann", [team], scope)}` });
    const ann = { caller: callerId(provider.issuer, "ann"), team: team.name, client: AGENT.id };
    /** A row is written beside its answer. */
    const become = (...wanted: object[]) => expect.poll(rows).toEqual(wanted);
    return { database, rows, become, bearer, ann, team, url, command, env, fleet };
  }
  const input = (of: Awaited<ReturnType<typeof scene>>, file: number) => ({
    inputKind: "M4_FILE",
    referenceId: of.team.client.fileIds[file],
    alias: MARK,
  });

  test("an action, in either era, has the trace of the message or else of its request", async () => {
    const it = await scene();
    const headers = { ...(await it.bearer()), traceparent: traceparent(TRACES[0]) };
    const modern = createModernClient(it.url, {}, headers);
    const of = { name: "register_input", arguments: input(it, 1), _meta: { traceparent: traceparent(TRACES[1]) } };
    await resultOf(modern.request(1, "tools/call", of), 1);
    await resultOf((await connectLegacyClient(it.url, {}, headers)).call(2, "register_input", input(it, 2)), 2);
    const broken = { ...headers, traceparent: "00-nothing" };
    await resultOf(createModernClient(it.url, {}, broken).call(3, "register_input", input(it, 3)), 3);
    const row = { ...it.ann, event: "action", tool: "register_input", outcome: "succeeded" };
    const own = { key: expect.any(String), resource_id: expect.any(String) };
    await it.become(...[TRACES[1], TRACES[0], null].map((trace_id) => ({ ...row, ...own, trace_id })));
    expect(JSON.stringify(await it.database.query("SELECT * FROM audit"))).not.toContain(MARK);
  });

  test("a refusal for lack of a scope is in it: the tool, or the method where none is named", async () => {
    const it = await scene();
    const reader = { ...(await it.bearer("mic:read")), traceparent: traceparent(TRACES[0]) };
    const modern = createModernClient(it.url, {}, reader);
    expect((await modern.call(1, "submit_job", { clientReference: MARK }).answer).status).toBe(403);
    expect((await modern.request(2, "tasks/cancel", { taskId: MARK }).answer).status).toBe(403);
    const noScopeClient = createModernClient(it.url, {}, await it.bearer("openid"));
    expect((await noScopeClient.call(3, "list_jobs", {}).answer).status).toBe(403);
    expect((await modern.call(4, "list_jobs", {}).answer).status).toBe(200);
    const row = { ...NOTHING, ...it.ann, event: "refusal", outcome: "insufficient_scope" };
    await it.become(
      { ...row, tool: "submit_job", trace_id: TRACES[0] },
      { ...row, tool: "tasks/cancel", trace_id: TRACES[0] },
      // Whose path names no team, and who may not read: nobody has asked which teams he is in.
      { ...row, team: "" },
    );
  });

  test("a download is in it: the asset, the client that the link was made for, and how it ended", async () => {
    const it = await scene();
    const client = createModernClient(it.url, {}, await it.bearer());
    const [assetId = ""] = it.team.client.assetIds;
    const result = await resultOf(client.call(1, "download_asset", { assetId, fileName: MARK }), 1);
    const link = linkIn(result);
    await (await fetch(link, { headers: { traceparent: traceparent(TRACES[1]) } })).arrayBuffer();
    const row = { ...NOTHING, ...it.ann, event: "download" };
    const completeRow = { ...row, resource_id: assetId, outcome: "complete", trace_id: TRACES[1] };
    await it.become(completeRow);
    const encryption = createEncryption(readSecretKeys(it.env["MIC_SECRET_KEYS"] ?? ""));
    const holder = { issuer: it.env["MIC_AUTH_ISSUER"] ?? "", subject: "ann", groups: [it.team.claim] };
    const missing = { caller: it.ann.caller, team: it.team.name, holder, assetId: "there-is-none" };
    const ticket = await assetTicket(encryption, missing);
    expect((await fetch(new URL(`/downloads/${ticket}`, it.url))).status).toBe(404);
    await it.become(completeRow, { ...row, resource_id: "there-is-none", outcome: "HTTP 404" });
    expect(JSON.stringify(await it.database.query("SELECT * FROM audit"))).not.toContain(MARK);
  });

  test("a change of a team is in it, as the operator's; what changed nothing is not", async () => {
    const it = await scene();
    const { name, client } = it.team;
    const teams = (line: string, input?: string) => it.command(["teams", ...line.split(" ")], input);
    const more = "--client-id another --workspace-id w2 --secret-stdin --skip-verify --member bob";
    await teams(`add another ${more}`, MARK);
    await teams(`add ${name} --member bob --claim ${it.team.claim}`);
    await teams(`add ${name} --member bob`);
    for (let times = 1; times <= 2; times++) await teams(`remove ${name} --member bob`);
    await teams(`rotate-secret ${name} --secret-stdin`, client.clientSecret);
    await teams("rotate-keys");
    await teams("list");
    await teams("remove another");
    const of = (team: string, outcome: string, resource: string | null = null) => ({
      ...NOTHING,
      ...{ event: "team", caller: "operator", client: "mic-mcp", team, outcome, resource_id: resource },
    });
    const bob = callerId(it.env["MIC_AUTH_ISSUER"] ?? "", "bob");
    const ofAnother = [of("another", "added"), of("another", "member added", bob), of("another", "removed")];
    const members = [of(name, "member added", bob), of(name, "member removed", bob)];
    const expected = [...ofAnother, ...members, of(name, "claim set"), of(name, "secret replaced")];
    // The rows of one command are written at the same time, in any order.
    const rows = await it.rows();
    expect(rows).toHaveLength(expected.length);
    expect(rows).toEqual(expect.arrayContaining(expected));
    expect(JSON.stringify(await it.database.query("SELECT * FROM audit"))).not.toMatch(
      `${MARK}|${client.clientSecret}`,
    );
  }, 120_000);

  test("a row that cannot be written is logged, and what it is about goes on", async () => {
    const it = await scene();
    await it.database.query("ALTER TABLE audit RENAME TO elsewhere");
    onTestFinished(async () => void (await it.database.query("ALTER TABLE elsewhere RENAME TO audit")));
    const [assetId = ""] = it.team.client.assetIds;
    const reader = createModernClient(it.url, {}, await it.bearer("mic:read"));
    expect((await reader.call(1, "submit_job", {}).answer).status).toBe(403);
    const result = await resultOf(reader.call(2, "download_asset", { assetId }), 2);
    const link = linkIn(result);
    expect((await fetch(link)).status).toBe(200);
    expect(await it.command(["teams", "add", it.team.name, "--claim", it.team.claim])).toContain("belongs to it");
    const serverLogs = () => it.fleet.instances.map((instance) => instance.output()).join("");
    await expect.poll(serverLogs).toMatch(/"event":"refusal".*a row of the audit was not written/);
    await expect.poll(serverLogs).toMatch(/"event":"download".*a row of the audit was not written/);
  });
});
