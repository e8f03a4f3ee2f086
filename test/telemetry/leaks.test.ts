// Tests the data that is never exported: arguments, results, ids, keys, file names, headers, secrets and texts of the API.
import { expect, test } from "vitest";
import { tools } from "../../tools/index.ts";
import { job } from "../contract/samples.ts";
import { answer, stubForTest } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { CLIENT_MODES, connectClient } from "./client.ts";
import { receiverForTest } from "./receiver.ts";

/** Part of each value that must not be exported. */
const MARKER = "QqMarkQq";
const marked = (what: string): string => `${MARKER}-${what}-${MARKER}`;

test.each(CLIENT_MODES)("%s: no exported byte contains the marker", async (mode) => {
  const receiver = await receiverForTest();
  const stub = await stubForTest();
  const problem = {
    type: `https://example.invalid/${MARKER}`,
    title: MARKER,
    status: 422,
    code: MARKER,
    requestId: MARKER,
    retryable: false,
    fieldErrors: [{ pointer: `/${MARKER}`, code: MARKER, message: MARKER }],
  };
  const id = marked("job");
  stub.respondToToken(() => answer(200, { access_token: marked("token") }));
  stub.respond(({ method, target }) => {
    if (target.includes("/content"))
      return answer(200, MARKER, { "content-disposition": `attachment; filename="${MARKER}.txt"` });
    if (target.endsWith(`/jobs/${id}`))
      return answer(
        200,
        { data: { ...job, id, [MARKER]: MARKER }, meta: { requestId: MARKER } },
        { "x-request-id": MARKER },
      );
    return method === "POST" && target.endsWith("/retries")
      ? answer(202, { data: { ...job, id: MARKER, retryOfBatchId: id }, meta: { requestId: MARKER } })
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
    OTEL_EXPORTER_OTLP_PROTOCOL: mode.endsWith("modern") ? "http/json" : "http/protobuf",
  });
  const headers = { "user-agent": MARKER, "x-mark": MARKER, baggage: `a=${MARKER}` };
  const extra = { headers, meta: { baggage: `a=${MARKER}`, [`com.example/${MARKER}`]: MARKER } };
  for (const { name } of tools)
    await call(
      name,
      { workspaceId: MARKER, jobId: MARKER, reason: MARKER, name: MARKER, state: MARKER, [MARKER]: MARKER },
      extra,
    );
  for (let count = 0; count < 3; count++) await call("get_job", { jobId: id, view: "full" }, extra);
  await call("retry_job", { jobId: id, retryMode: "RESTART", reason: MARKER }, extra);
  await call("retry_job", { jobId: id, retryMode: "RESTART", reason: MARKER, idempotencyKey: marked("key") }, extra);
  await call("register_input", { inputKind: "M4_FILE", referenceId: MARKER }, extra);
  await call("download_asset", { assetId: MARKER, fileName: `${MARKER}.csv` }, extra);
  await call("find_district", { name: MARKER }, extra);
  await call(MARKER, { [MARKER]: MARKER }, extra);
  await request("resources/read", { uri: `mic://workspaces/${MARKER}/jobs/${MARKER}` }, extra);
  await request("prompts/get", { name: MARKER, arguments: { [MARKER]: MARKER } }, extra);
  await request(`${MARKER}/${MARKER}`, {}, extra);
  await end();

  expect(receiver.headers()[0]?.authorization).toBe(`Bearer ${marked("collector")}`);
  const sent = receiver.bytes();
  for (const { name } of tools) expect(sent.includes(`tools/call ${name}`), name).toBe(true);
  for (const name of ["tool call failed", "mcp.server.operation.duration"]) expect(sent.includes(name)).toBe(true);
  const keys = stub.requests.flatMap(({ headers: { "idempotency-key": key } }) =>
    key === undefined ? [] : [String(key)],
  );
  expect(keys.length).toBeGreaterThan(1);
  for (const secret of [MARKER, ...keys]) expect(sent.includes(secret), secret).toBe(false);
  expect(program.stderr()).not.toContain(marked("collector"));
});
