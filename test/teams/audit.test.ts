// Tests the audit table: each action, refusal, download and change of a team has a row with the request's trace id. It contains
// none of the content that was sent. If a row cannot be written, only the end of an action fails.
import { expect, onTestFinished, test } from "vitest";
import { type Caller, callerId } from "../../src/teams/caller.ts";
import { Service } from "../emulator/service.ts";
import { createJobBodyForFile, FILE } from "../emulator/work.ts";
import { connectLegacyClient, createModernClient, resultOf } from "../mcp/http/raw-client.ts";
import { createManualClock, emulatorForTest } from "../support/emulator.ts";
import { AGENT } from "../support/identity-provider.ts";
import { connectCaller, createCaller, environmentForTest, instanceForTest } from "./deployment.ts";
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
    expectNoContent: async (content: string | RegExp) =>
      expect(JSON.stringify(await database.query("SELECT * FROM audit"))).not.toMatch(content),
  };
}

const findLink = (result: unknown): string => String(Object(result).structuredContent.url);

const EMPTY_COLUMNS = { tool: null, key: null, resource_id: null, trace_id: null };
const REFUSAL = { ...EMPTY_COLUMNS, event: "refusal", client: "agent", outcome: "forbidden" };

describeWithPostgres("the audit of callers", (postgres) => {
  test("the audit has each action refused for a missing team or another team's workspace, but no reads and no API refusals", async () => {
    const clock = createManualClock();
    const emulator = await emulatorForTest({ clients: 2, clock });
    const place = await environmentForTest(postgres(), emulator);
    const instance = await instanceForTest(place);
    const { rows, expectNoContent } = await openAudit(place.url);
    const service = new Service(emulator, clock);
    const { workspaceId: _, ...job } = await createJobBodyForFile(service, FILE.succeeds);
    const { recipeVersionId, inputBindings: inputs, parameterValues } = job;
    const [fileId] = emulator.fileIds;
    const [jobId, clientReference, reason] = ["micjob_0000000000000001", MARKER, MARKER];
    const calls: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
      register_input: { inputKind: "M4_FILE", referenceId: fileId, alias: MARKER },
      submit_job: { ...job, clientReference },
      run_job: { recipeVersionId, inputs, parameterValues, clientReference },
      request_file_processing: { fileId, idempotencyKey: "a-key-of-the-caller" },
      cancel_job: { jobId, reason },
      retry_job: { jobId, retryMode: "SAFE_RESUME", reason },
      retry_jobs: { jobIds: [jobId], retryMode: "SAFE_RESUME", reason },
    };
    const [nonMember, ann] = [createCaller("zoe"), createCaller("ann", ["reds"])];
    const expectForbidden = async (caller: Caller, tools: readonly string[], more: object = {}) => {
      const client = await connectCaller(instance, caller);
      for (const tool of tools) {
        const { error } = await client.callTool(tool, { ...calls[tool], ...more });
        expect(error, tool).toMatchObject({ kind: "forbidden" });
      }
    };
    const tools = Object.keys(calls).sort();
    await expectForbidden(nonMember, ["list_jobs", ...tools]);
    await instance.audit.flush();
    expect(await rows()).toEqual(tools.map((tool) => ({ ...REFUSAL, caller: nonMember.id, team: "", tool })));
    await expectNoContent(new RegExp(`${MARKER}|a-key-of|micjob_`));

    const submissions = ["register_input", "run_job", "submit_job"];
    await expectForbidden(ann, ["list_jobs", ...submissions], { workspaceId: emulator.clients[1]?.workspaceId });
    await service.injectFault({ kind: "status", status: 403 }, { operationId: "createMicPublicInput", times: 1 });
    const byApi = await (await connectCaller(instance, ann)).callTool("register_input", calls["register_input"]);
    expect(byApi.error).toMatchObject({ status: 403 });
    await instance.audit.flush();
    const ofAnn = (await rows()).filter(({ caller }) => caller === ann.id);
    expect(ofAnn.filter(({ event }) => event === "refusal")).toEqual(
      submissions.map((tool) => ({ ...REFUSAL, caller: ann.id, team: "red", tool })),
    );
    expect(ofAnn.filter(({ event }) => event === "action")).toMatchObject([{ outcome: "rejected" }]);
  });
});

const OPTIONS = { instances: 1, teams: 1, env: { MIC_LOG_LEVEL: "warn" } };

describeWithDeployment("the audit of a deployment", OPTIONS, (deployment) => {
  async function setUp() {
    const { databaseUrl, teams, issueToken, url, provider, runCommand, env, fleet } = deployment();
    const [team] = teams;
    if (!team) throw new Error("there is a team");
    const audit = await openAudit(databaseUrl);
    await audit.database.query("DELETE FROM audit");
    const bearer = async (scope?: string) => ({ authorization: `Bearer ${await issueToken("ann", [team], scope)}` });
    const ann = { ...EMPTY_COLUMNS, caller: callerId(provider.issuer, "ann"), team: team.name, client: AGENT.id };
    /** Polls, because a row is written concurrently with its response. */
    const expectRows = (...expectedRows: object[]) => expect.poll(audit.rows).toEqual(expectedRows);
    const { fileIds } = team.client;
    const inputAt = (file: number) => ({ inputKind: "M4_FILE", alias: MARKER, referenceId: fileIds[file] });
    return { ...audit, expectRows, bearer, ann, team, url, runCommand, env, fleet, inputAt };
  }

  test("the audit row of an action has the trace id of the message, or else of its HTTP request, in either protocol revision", async () => {
    const { url, bearer, inputAt, ann, expectRows, expectNoContent } = await setUp();
    const headers = { ...(await bearer()), traceparent: toTraceparent(TRACES[0]) };
    const tool = "register_input";
    const _meta = { traceparent: toTraceparent(TRACES[1]) };
    const modern = createModernClient(url, {}, headers);
    await resultOf(modern.request(1, "tools/call", { name: tool, arguments: inputAt(1), _meta }), 1);
    await resultOf((await connectLegacyClient(url, {}, headers)).call(2, tool, inputAt(2)), 2);
    const broken = { ...headers, traceparent: "00-nothing" };
    await resultOf(createModernClient(url, {}, broken).call(3, tool, inputAt(3)), 3);
    const own = { key: expect.any(String), resource_id: expect.any(String) };
    const row = { ...ann, ...own, event: "action", tool, outcome: "succeeded" };
    await expectRows(...[TRACES[1], TRACES[0], null].map((trace_id) => ({ ...row, trace_id })));
    await expectNoContent(MARKER);
  });

  test("the audit has each refusal for a missing scope, with the tool, or the method if the request names no tool", async () => {
    const { url, bearer, ann, expectRows } = await setUp();
    const reader = { ...(await bearer("mic:read")), traceparent: toTraceparent(TRACES[0]) };
    const modern = createModernClient(url, {}, reader);
    expect((await modern.call(1, "submit_job", { clientReference: MARKER }).answer).status).toBe(403);
    expect((await modern.request(2, "tasks/cancel", { taskId: MARKER }).answer).status).toBe(403);
    const noScopeClient = createModernClient(url, {}, await bearer("openid"));
    expect((await noScopeClient.call(3, "list_jobs", {}).answer).status).toBe(403);
    expect((await modern.call(4, "list_jobs", {}).answer).status).toBe(200);
    const row = { ...ann, event: "refusal", outcome: "insufficient_scope" };
    await expectRows(
      { ...row, tool: "submit_job", trace_id: TRACES[0] },
      { ...row, tool: "tasks/cancel", trace_id: TRACES[0] },
      // The path names no team and the caller may not read, so the server has not looked up the caller's teams.
      { ...row, team: "" },
    );
  });

  test("the audit has each download, with the asset, the client that the link was created for, and the outcome", async () => {
    const { url, bearer, ann, team, expectRows, expectNoContent } = await setUp();
    const client = createModernClient(url, {}, await bearer());
    const [assetId = ""] = team.client.assetIds;
    const link = findLink(await resultOf(client.call(1, "download_asset", { assetId, fileName: MARKER }), 1));
    await (await fetch(link, { headers: { traceparent: toTraceparent(TRACES[1]) } })).arrayBuffer();
    const what = { event: "download", resource_id: assetId, outcome: "complete", trace_id: TRACES[1] };
    await expectRows({ ...ann, ...what });
    await expectNoContent(MARKER);
  });

  test("the audit has each change of a team with the operator as caller, and no row for a command that changed nothing", async () => {
    const { team, env, rows, runCommand, expectNoContent } = await setUp();
    const { name, claim, client } = team;
    const teams = (line: string, input?: string) => runCommand(["teams", ...line.split(" ")], input);
    const other = await emulatorForTest();
    const ids = `--base-url ${other.baseUrl} --client-id ${other.clientId} --workspace-id ${other.workspaceId}`;
    await teams(`add another ${ids} --secret-stdin --member bob`, other.clientSecret);
    await teams(`add ${name} --member bob --claim ${claim}`);
    await teams(`add ${name} --member bob`);
    for (let times = 1; times <= 2; times++) await teams(`remove ${name} --member bob`);
    await teams(`rotate-secret ${name} --secret-stdin`, client.clientSecret);
    await teams("rotate-keys");
    await teams("list");
    await teams("remove another");
    const bob = callerId(env["MIC_AUTH_ISSUER"] ?? "", "bob");
    const changes = [
      ...["added", "removed"].map((outcome) => ({ team: "another", outcome, resource_id: null })),
      { team: "another", outcome: "member added", resource_id: bob },
      ...["member added", "member removed"].map((outcome) => ({ team: name, outcome, resource_id: bob })),
      ...["claim set", "secret replaced"].map((outcome) => ({ team: name, outcome, resource_id: null })),
    ];
    const operator = { ...EMPTY_COLUMNS, event: "team", caller: "operator", client: "mic-mcp" };
    const expected = changes.map((change) => ({ ...operator, ...change }));
    // The rows of one command are written concurrently, in any order.
    const written = await rows();
    expect(written).toHaveLength(expected.length);
    expect(written).toEqual(expect.arrayContaining(expected));
    await expectNoContent(new RegExp(`${other.clientSecret}|${client.clientSecret}`));
  });

  test("an audit row that cannot be written is logged, and its refusal, download or command still completes", async () => {
    const { url, bearer, team, database, runCommand, fleet } = await setUp();
    await database.query("ALTER TABLE audit ADD CONSTRAINT refused CHECK (false) NOT VALID");
    onTestFinished(async () => void (await database.query("ALTER TABLE audit DROP CONSTRAINT refused")));
    const [assetId = ""] = team.client.assetIds;
    const reader = createModernClient(url, {}, await bearer("mic:read"));
    expect((await reader.call(1, "submit_job", {}).answer).status).toBe(403);
    const link = findLink(await resultOf(reader.call(2, "download_asset", { assetId }), 2));
    expect((await fetch(link)).status).toBe(200);
    expect(await runCommand(["teams", "add", team.name, "--claim", team.claim])).toContain("are members");
    const serverLogs = () => fleet.instances.map((instance) => instance.output()).join("");
    for (const event of ["refusal", "download"])
      await expect.poll(serverLogs).toMatch(new RegExp(`"event":"${event}".*writing an audit row failed`));
  });
});

describeWithPostgres("a database that fails while an action runs", (postgres) => {
  test("the outcome and its audit row are recorded while the instance runs, and nothing is sent again", async () => {
    const place = await environmentForTest(postgres(), await emulatorForTest({ clients: 1 }));
    const caller = createCaller("ann", ["reds"]);
    const client = await connectCaller(await instanceForTest(place), caller);
    const database = await databaseForTest(place.url);
    const readState = async () => [
      ...(await database.query("SELECT state FROM actions")),
      ...(await database.query("SELECT outcome, caller FROM audit")),
    ];
    await client.callTool("list_actions");
    await database.query(
      "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''the disk is full''; END'",
    );
    await database.query("CREATE TRIGGER fail BEFORE UPDATE ON actions FOR EACH ROW EXECUTE FUNCTION fail()");
    const input = { inputKind: "M4_FILE", referenceId: place.emulator.fileIds[0] };
    expect((await client.callTool("register_input", input)).isError).toBe(false);
    expect(await readState()).toEqual([{ state: "in_progress" }]);
    await database.query("DROP TRIGGER fail ON actions");
    await expect.poll(readState).toEqual([{ state: "succeeded" }, { outcome: "succeeded", caller: caller.id }]);
  });
});
