// Tests what is exported: metrics and how they are scraped, and the data that is never exported (arguments, results, ids, keys,
// file names, headers, secrets and texts of the API). No call and no shutdown waits for a collector.
import { createServer } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { readConfig } from "../../src/core/config.ts";
import { tools } from "../../tools/index.ts";
import { stubEnv } from "../api-client/client.ts";
import { enveloped, job } from "../contract/samples.ts";
import { get } from "../mcp/http/raw-client.ts";
import { emulatorForTest } from "../support/emulator.ts";
import { serveForTest } from "../support/http-server.ts";
import { emulatorEnv } from "../support/mcp.ts";
import { queryPostgres } from "../support/postgres.ts";
import { answer, refusingBaseUrl, stubForTest } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { BLUE, connectCaller, createCaller, environmentForTest, instanceForTest, RED } from "../teams/deployment.ts";
import { describeWithPostgres } from "../teams/services.ts";
import { clientModes, connectClient } from "./client.ts";
import { loadTelemetryForTest, type Receiver, receiverForTest, type Span } from "./receiver.ts";

test("actions are counted by state and replay, and token requests, resources, permits and sessions have metrics", async () => {
  const receiver = await receiverForTest();
  const emulator = await emulatorForTest();
  const { call, end } = await connectClient("stdio, modern", {
    ...emulatorEnv(emulator),
    MIC_WORKSPACE_ID: emulator.workspaceId,
    ...receiver.env,
  });
  const register = { inputKind: "M4_FILE", referenceId: emulator.files[0]?.id, idempotencyKey: "key-of-this-test-01" };
  await call("register_input", register);
  await call("register_input", register);
  await call("cancel_job", { jobId: "no-such-job", reason: "r", resourceVersion: 1 });
  await call("list_states", {});
  await end();
  const points = receiver.points();
  const of = (name: string) => points.filter((point) => point.name === name);
  const outcomes = of("mic.action.outcomes").map(({ attributes, value }) => [
    attributes["gen_ai.tool.name"],
    attributes["mic.action.state"],
    attributes["mic.action.replayed"],
    value,
  ]);
  expect(outcomes).toEqual([
    ["register_input", "succeeded", false, 1],
    ["register_input", "succeeded", true, 1],
    ["cancel_job", "rejected", false, 1],
  ]);
  expect(of("mic.token.fetches")[0]?.value).toBeGreaterThan(0);
  expect(of("mic.watched.resources")[0]?.value).toBe(0);
  expect(of("mic.geography.available_requests")[0]?.value).toBe(29);
  expect(of("mcp.server.session.duration")[0]?.value).toBe(1);
});

const SCRAPED = {
  OTEL_METRICS_EXPORTER: "prometheus",
  OTEL_EXPORTER_PROMETHEUS_HOST: "127.0.0.1",
  OTEL_EXPORTER_PROMETHEUS_PORT: "0",
  MIC_LOG_LEVEL: "info",
};

test("metrics can be scraped on a separate port in Prometheus' text format, from this machine only", async () => {
  const { call, program, end } = await connectClient("HTTP, older", SCRAPED);
  await call("list_actions", {});
  const [, url = ""] = /"url":"(http[^"]+\/metrics)"/.exec(program.stderr()) ?? [];
  const response = await fetch(url);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const lines = (await response.text()).trim().split("\n");
  const SAMPLE = /^[a-z_:][\w:]*(\{[a-z_]\w*="(\\.|[^"\\])*"(,[a-z_]\w*="(\\.|[^"\\])*")*\})? -?[\d.e+]+$/i;
  expect(lines.filter((line) => !line.startsWith("# ") && !SAMPLE.test(line))).toEqual([]);
  const counts = lines.filter((line) => line.startsWith("mcp_server_operation_duration_count"));
  expect(counts.join("\n")).toContain('gen_ai_tool_name="list_actions"');
  expect(lines.join("\n")).toContain("mic_http_streams");
  const elsewhere = await get(url, { host: "rebound.example" }).answer;
  expect(elsewhere.status).toBe(403);
  expect((await fetch(new URL("/", url))).status).toBe(404);
  expect((await fetch(url, { method: "POST" })).status).toBe(405);
  expect((await end()).code).toBe(0);
});

test("the server serves and logs a warning if the port for metrics is taken", async () => {
  const { port } = new URL(await serveForTest(createServer()));
  const { call, program, end } = await connectClient("HTTP, modern", {
    ...SCRAPED,
    OTEL_EXPORTER_PROMETHEUS_PORT: port,
  });
  expect(await call("list_actions", {})).toContain("actions");
  expect(program.stderr()).toContain(`metrics are not available at 127.0.0.1 port ${port}`);
  expect((await end()).code).toBe(0);
});

/** Part of each value that must not be exported. */
const MARKER = "QqMarkQq";
const marked = (what: string): string => `${MARKER}-${what}-${MARKER}`;

/** A batch is sent immediately (1 ms), and the exporter would wait ten minutes for the response. */
const IMMEDIATE_EXPORT = { OTEL_BSP_SCHEDULE_DELAY: "1", OTEL_EXPORTER_OTLP_TIMEOUT: "600000" };

async function startClient(exporter: Readonly<Record<string, string>>) {
  const stub = await stubForTest();
  stub.respond(() => answer(200, enveloped(job)));
  const client = await connectClient("stdio, modern", { ...stubEnv(stub), ...IMMEDIATE_EXPORT, ...exporter });
  const warnings = () =>
    client.program
      .stderr()
      .split("\n")
      .filter((line) => line.includes('"msg":"telemetry"'));
  return { ...client, warnings, readJob: () => client.call("get_job", { jobId: job.id }) };
}

test.each<[string, () => Promise<Receiver | undefined>, number]>([
  ["an unreachable collector", async () => undefined, 1],
  ["a collector that never responds", () => receiverForTest(() => undefined), 0],
  ["a collector that fails", () => receiverForTest((response) => void response.writeHead(500).end(MARKER)), 1],
])(
  "with %s, calls are answered, the server exits, and stderr has at most one warning without the collector's text",
  async (_what, startCollector, warningCount) => {
    const collector = await startCollector();
    const { readJob, end, program, warnings } = await startClient(
      collector?.env ?? { OTEL_EXPORTER_OTLP_ENDPOINT: await refusingBaseUrl() },
    );
    await readJob();
    if (collector) await expect.poll(() => collector.requests()).toBeGreaterThan(0);
    if (collector && warningCount > 0) await expect.poll(warnings).toHaveLength(warningCount);
    for (let count = 0; count < 5; count++) expect(await readJob()).toContain(job.id);
    expect(await end()).toEqual({ code: 0, signal: null });
    expect(warnings().length).toBeLessThanOrEqual(warningCount);
    expect(program.stderr()).not.toContain(MARKER);
  },
);

test.each(clientModes)(
  "%s: no exported byte contains a marked value of a request, an answer or a setting",
  async (mode) => {
    const receiver = await receiverForTest();
    const stub = await stubForTest();
    const fieldErrors = [{ pointer: `/${MARKER}`, code: MARKER, message: MARKER }];
    const facts = { title: MARKER, status: 422, code: MARKER, requestId: MARKER, retryable: false, fieldErrors };
    const problem = { type: `https://example.invalid/${MARKER}`, ...facts };
    const id = marked("job");
    const isJson = mode.endsWith("modern");
    stub.respondToToken(() => answer(200, { access_token: marked("token") }));
    stub.respond(({ method, target }) => {
      if (target.includes("/content"))
        return answer(200, MARKER, { "content-disposition": `attachment; filename="${MARKER}.txt"` });
      const meta = { requestId: MARKER };
      if (target.endsWith(`/jobs/${id}`))
        return answer(200, { data: { ...job, id, [MARKER]: MARKER }, meta }, { "x-request-id": MARKER });
      return method === "POST" && target.endsWith("/retries")
        ? answer(202, { data: { ...job, id: MARKER, retryOfBatchId: id }, meta })
        : answer(422, problem, { "content-type": "application/problem+json" });
    });
    const token = marked("http-token");
    const { program, call, request, end } = await connectClient(mode, {
      MIC_BASE_URL: stub.baseUrl,
      MIC_CLIENT_ID: marked("client-id"),
      MIC_CLIENT_SECRET: marked("client-secret"),
      MIC_WORKSPACE_ID: marked("workspace"),
      MIC_DOWNLOAD_DIR: await folderForTest(),
      MIC_LOG_LEVEL: "info",
      ...(mode.startsWith("HTTP") && { MIC_HTTP_TOKEN: token }),
      ...receiver.env,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${marked("collector")}`,
      // Without the variable, the data is protobuf.
      OTEL_EXPORTER_OTLP_PROTOCOL: isJson ? "http/json" : "",
    });
    const headers = { "user-agent": MARKER, "x-mark": MARKER, baggage: `a=${MARKER}` };
    const extra = { headers, meta: { baggage: `a=${MARKER}`, [`com.example/${MARKER}`]: MARKER } };
    const all = { workspaceId: MARKER, jobId: MARKER, reason: MARKER, name: MARKER, state: MARKER, [MARKER]: MARKER };
    const read = ["get_job", { jobId: id, view: "full" }] as const;
    const retry = { jobId: id, retryMode: "RESTART", reason: MARKER };
    for (const [name, args] of [
      ...tools.map((tool) => [tool.name, all] as const),
      ...[read, read, read, ["retry_job", retry] as const],
      ["retry_job", { ...retry, idempotencyKey: marked("key") }] as const,
      ["register_input", { inputKind: "M4_FILE", referenceId: MARKER }] as const,
      ["download_asset", { assetId: MARKER, fileName: `${MARKER}.csv` }] as const,
      ["find_district", { name: MARKER }] as const,
      [MARKER, { [MARKER]: MARKER }] as const,
    ])
      await call(name, args, extra);
    await request("resources/read", { uri: `mic://workspaces/${MARKER}/jobs/${MARKER}` }, extra);
    await request("prompts/get", { name: MARKER, arguments: { [MARKER]: MARKER } }, extra);
    await request(`${MARKER}/${MARKER}`, {}, extra);
    await end();

    expect(receiver.headers()[0]).toMatchObject({
      authorization: `Bearer ${marked("collector")}`,
      "content-type": isJson ? "application/json" : "application/x-protobuf",
    });
    const sent = receiver.bytes();
    for (const { name } of tools) expect(sent.includes(`tools/call ${name}`), name).toBe(true);
    for (const name of ["mcp.server.operation.duration"]) expect(sent.includes(name)).toBe(true);
    const keys = stub.requests.flatMap(({ headers: { "idempotency-key": key } }) => (key ? [String(key)] : []));
    expect(keys.length).toBeGreaterThan(1);
    for (const secret of [MARKER, ...keys]) expect(sent.includes(secret), secret).toBe(false);
    expect(program.stderr()).not.toContain(marked("collector"));
  },
);

describeWithPostgres("telemetry of teams", (postgres) => {
  test("spans have team and caller, metrics have only the team, and the audit has the trace id", async () => {
    const receiver = await receiverForTest();
    const startTelemetry = await loadTelemetryForTest(receiver);
    const stderr = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    onTestFinished(() => void stderr.mockRestore());
    const place = await environmentForTest(postgres(), await emulatorForTest({ clients: 2 }), [RED, BLUE]);
    const config = readConfig({ MIC_BASE_URL: place.emulator.baseUrl, MIC_KEYCHAIN: "off", MIC_LOG_LEVEL: "info" });
    const instance = await instanceForTest(place, { config, startTelemetry });
    const ann = createCaller("ann", ["reds"]);
    const bob = createCaller("bob", ["blues"]);
    for (const caller of [ann, bob]) {
      const client = await connectCaller(instance, caller);
      expect((await client.callTool("list_jobs")).isError).toBe(false);
      // Refused, because the workspace is not the team's.
      const [other] = place.emulator.clients.slice(1);
      const input = { inputKind: "M4_FILE", referenceId: other?.fileIds[0], workspaceId: other?.workspaceId };
      if (caller === ann) expect((await client.callTool("register_input", input)).error?.kind).toBe("forbidden");
      await client.close();
    }
    await instance.audit.flush();
    await instance.telemetry?.close();
    const traceId = receiver.spans().find(({ name }) => name === "tools/call register_input")?.traceId;
    expect(traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(await queryPostgres(place.url, "SELECT trace_id FROM audit")).toEqual([{ trace_id: traceId }]);

    const ownersOf = (items: readonly { readonly attributes: Span["attributes"] }[]) =>
      items.map(({ attributes }) => [attributes["mic.team"], attributes["mic.caller"]]);
    const [ofAnn, ofBob] = [
      ["red", ann.id],
      ["blue", bob.id],
    ] as const;
    const spans = receiver.spans().filter(({ name }) => /list_jobs|\/v1\/mic\/jobs|token/.test(name));
    const names = ["POST /sandbox/oauth/token", "GET /v1/mic/jobs", "tools/call list_jobs"];
    expect(spans.map(({ name }) => name)).toEqual([...names, ...names]);
    expect(ownersOf(spans)).toEqual([ofAnn, ofAnn, ofAnn, ofBob, ofBob, ofBob]);
    const points = receiver.points();
    expect(new Set(points.map(({ attributes }) => attributes["mic.team"]))).toEqual(
      new Set([undefined, "red", "blue"]),
    );
    expect(points.flatMap(({ attributes }) => Object.keys(attributes))).not.toContain("mic.caller");
    for (const name of ["mic.api.cooldown", "mic.database.waiting", "mic.watched.resources"])
      expect(points.filter((point) => point.name === name)).toMatchObject([{ name, value: 0 }]);
    // The exported data must not contain the callers' subjects or their issuer.
    for (const name of ["ann", "bob", "login.example.org"]) expect(receiver.bytes().includes(name), name).toBe(false);
  });
});
