// What never leaves for a collector: arguments, results, ids, keys, names of files, headers, secrets, a word of the service.
import { expect, test } from "vitest";
import { tools } from "../../tools/index.ts";
import { job } from "../contract/samples.ts";
import { folderForTest } from "../support/home.ts";
import { answer, stubForTest } from "../support/stub.ts";
import { connectClient, WAYS } from "./client.ts";
import { receiverForTest } from "./receiver.ts";

/** Stands in everything that may not leave. */
const MARK = "QqMarkQq";
const marked = (what: string): string => `${MARK}-${what}-${MARK}`;

test.each(WAYS)("%s: no mark in any byte that leaves", async (way) => {
  const receiver = await receiverForTest();
  const stub = await stubForTest();
  const problem = {
    type: `https://example.invalid/${MARK}`,
    title: MARK,
    status: 422,
    code: MARK,
    requestId: MARK,
    retryable: false,
    fieldErrors: [{ pointer: `/${MARK}`, code: MARK, message: MARK }],
  };
  const id = marked("job");
  stub.respondToToken(() => answer(200, { access_token: marked("token") }));
  stub.respond(({ method, target }) => {
    if (target.includes("/content"))
      return answer(200, MARK, { "content-disposition": `attachment; filename="${MARK}.txt"` });
    if (target.endsWith(`/jobs/${id}`))
      return answer(200, { data: { ...job, id, [MARK]: MARK }, meta: { requestId: MARK } }, { "x-request-id": MARK });
    return method === "POST" && target.endsWith("/retries")
      ? answer(202, { data: { ...job, id: MARK, retryOfBatchId: id }, meta: { requestId: MARK } })
      : answer(422, problem, { "content-type": "application/problem+json" });
  });
  const token = marked("http-token");
  const { program, call, request, end } = await connectClient(way, {
    MIC_BASE_URL: stub.baseUrl,
    MIC_CLIENT_ID: marked("client-id"),
    MIC_CLIENT_SECRET: marked("client-secret"),
    MIC_WORKSPACE_ID: marked("workspace"),
    MIC_DOWNLOAD_DIR: await folderForTest(),
    MIC_LOG_LEVEL: "info",
    ...(way.startsWith("HTTP") && { MIC_HTTP_TOKEN: token }),
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${marked("collector")}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: way.endsWith("modern") ? "http/json" : "http/protobuf",
  });
  const headers = { "user-agent": MARK, "x-mark": MARK, baggage: `a=${MARK}` };
  const extra = { headers, meta: { baggage: `a=${MARK}`, [`com.example/${MARK}`]: MARK } };
  for (const { name } of tools)
    await call(name, { workspaceId: MARK, jobId: MARK, reason: MARK, name: MARK, state: MARK, [MARK]: MARK }, extra);
  for (let count = 0; count < 3; count++) await call("get_job", { jobId: id, view: "full" }, extra);
  await call("retry_job", { jobId: id, retryMode: "RESTART", reason: MARK }, extra);
  await call("retry_job", { jobId: id, retryMode: "RESTART", reason: MARK, idempotencyKey: marked("key") }, extra);
  await call("register_input", { inputKind: "M4_FILE", referenceId: MARK }, extra);
  await call("download_asset", { assetId: MARK, fileName: `${MARK}.csv` }, extra);
  await call("find_district", { name: MARK }, extra);
  await call(MARK, { [MARK]: MARK }, extra);
  await request("resources/read", { uri: `mic://workspaces/${MARK}/jobs/${MARK}` }, extra);
  await request("prompts/get", { name: MARK, arguments: { [MARK]: MARK } }, extra);
  await request(`${MARK}/${MARK}`, {}, extra);
  await end();

  expect(receiver.spans().length).toBeGreaterThan(tools.length);
  expect(receiver.lines().length).toBeGreaterThan(5);
  expect(receiver.headers()[0]?.authorization).toBe(`Bearer ${marked("collector")}`);
  const sent = receiver.bytes();
  const keys = stub.requests.flatMap(({ headers: { "idempotency-key": key } }) =>
    key === undefined ? [] : [String(key)],
  );
  expect(keys.length).toBeGreaterThan(1);
  for (const secret of [MARK, ...keys]) expect(sent.includes(secret), secret).toBe(false);
  expect(program.stderr()).not.toContain(marked("collector"));
});
