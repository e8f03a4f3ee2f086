// Tests spans of calls, actions and API requests that the built server exports, in the client's trace if it names one.
import { describe, expect, test } from "vitest";
import { stubEnv } from "../api-client/client.ts";
import { enveloped, job as sample } from "../contract/samples.ts";
import { answer, hangUp, stubForTest } from "../support/stub.ts";
import { type ClientMode, clientModes, connectClient } from "./client.ts";
import { receiverForTest, type Span } from "./receiver.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "00f067aa0ba902b7";
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`;
const OTHER_TRACE = "11111111111111111111111111111111";

const [INTERNAL, SERVER, CLIENT] = [1, 2, 3];
const ERROR = 2;

const job = { ...sample, id: "job-that-nobody-may-know" };
const found = answer(200, enveloped(job));

/** Starts a client of a server whose API answers each request with a job, unless the test changes its answers. */
async function setUp(mode: ClientMode, more: Readonly<Record<string, string>> = {}) {
  const [receiver, stub] = [await receiverForTest(), await stubForTest()];
  stub.respond(() => found);
  return { receiver, stub, ...(await connectClient(mode, { ...stubEnv(stub), ...receiver.env, ...more })) };
}

const spansNamed = (spans: readonly Span[], name: string): readonly Span[] =>
  spans.filter((span) => span.name === name);

describe.each(clientModes)("%s", (mode) => {
  test("calls and their API requests are in the trace that the client names", async () => {
    const { receiver, stub, call, end } = await setUp(mode);
    // The third call bypasses the MCP SDK.
    for (let count = 0; count < 3; count++)
      expect(
        await call("get_job", { jobId: job.id }, { meta: { traceparent: TRACEPARENT, tracestate: "a=b" } }),
      ).toContain(job.id);
    await call("get_job", { jobId: job.id }, { meta: { traceparent: "00-zz-not-one" } });
    expect((await end()).code).toBe(0);

    const calls = spansNamed(receiver.spans(), "tools/call get_job");
    expect(calls).toHaveLength(4);
    for (const span of calls.slice(0, 3)) {
      expect(span).toMatchObject({ kind: SERVER, traceId: TRACE, parentSpanId: PARENT, status: { code: 0 } });
      expect(span.attributes).toMatchObject({
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "get_job",
        "gen_ai.operation.name": "execute_tool",
        "network.transport": mode.startsWith("stdio") ? "pipe" : "tcp",
        "mcp.protocol.version": mode.endsWith("modern") ? "2026-07-28" : "2025-06-18",
      });
    }
    expect(calls[3]).toMatchObject({ parentSpanId: "" });
    expect(calls[3]?.traceId).not.toBe(TRACE);

    const requests = spansNamed(receiver.spans(), "GET /v1/mic/jobs/{jobId}");
    expect(requests.map(({ parentSpanId }) => parentSpanId)).toEqual(calls.map(({ spanId }) => spanId));
    for (const span of requests) {
      expect(span.kind).toBe(CLIENT);
      expect(span.attributes).toEqual({
        "http.request.method": "GET",
        "url.template": "/v1/mic/jobs/{jobId}",
        "server.address": "127.0.0.1",
        "server.port": Number(new URL(stub.baseUrl).port),
        "http.response.status_code": 200,
      });
    }
    expect(stub.requests.map(({ headers }) => headers["traceparent"])).toEqual(
      requests.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`),
    );
    for (const { headers } of [...stub.requests, ...stub.tokenRequests])
      expect([headers["tracestate"], headers["baggage"]]).toEqual([undefined, undefined]);
    expect(stub.tokenRequests.map(({ headers }) => headers["traceparent"])).toEqual([undefined]);
    expect(receiver.bytes().includes(job.id)).toBe(false);
  });
});

test.each(["HTTP, older", "HTTP, modern"] as const)(
  "%s: the trace context of an HTTP header becomes a link",
  async (mode) => {
    const { receiver, call, end } = await setUp(mode);
    const headers = { traceparent: `00-${OTHER_TRACE}-${PARENT}-01` };
    for (let count = 0; count < 3; count++)
      await call("get_job", { jobId: job.id }, { meta: { traceparent: TRACEPARENT }, headers });
    await call("get_job", { jobId: job.id }, { headers });
    await call("get_job", { jobId: job.id });
    await end();
    const calls = spansNamed(receiver.spans(), "tools/call get_job");
    expect(calls.map(({ links }) => links.map(({ traceId }) => traceId))).toEqual([
      ...Array.from({ length: 4 }, () => [OTHER_TRACE]),
      [],
    ]);
    expect(calls.slice(0, 3).map(({ traceId }) => traceId)).toEqual([TRACE, TRACE, TRACE]);
    expect(calls[3]?.traceId).not.toBe(OTHER_TRACE);
  },
);

test("each request on stdio has one span, with the name of a tool or a prompt and without the URI of a resource", async () => {
  const { receiver, request, call, end } = await setUp("stdio, older");
  await request("tools/list", {});
  await call("get_job", { jobId: "j" });
  await request("prompts/get", { name: "run_job", arguments: {} });
  await request("prompts/get", { name: "no_such_prompt" });
  await request("resources/read", { uri: "mic://workspaces/w-secret/jobs/j-secret" });
  await end();
  const names = receiver.spans().flatMap(({ name, kind }) => (kind === SERVER ? [name] : []));
  const prompts = ["prompts/get run_job", "prompts/get _OTHER"];
  expect(names).toEqual(["initialize", "tools/list", "tools/call get_job", ...prompts, "resources/read"]);
  expect(receiver.bytes().includes("j-secret")).toBe(false);
});

test("each attempt has a separate span, with the same key and body", async () => {
  const { receiver, stub, call, end } = await setUp("stdio, modern");
  stub.expect(
    answer(503, {}, { "retry-after": "0" }),
    hangUp,
    answer(202, enveloped({ ...sample, id: "job-2", retryOfBatchId: "job-1" })),
  );
  const result = await call("retry_job", { jobId: "job-1", retryMode: "SAFE_RESUME", reason: "again" });
  await end();
  expect(stub.requests, result).toHaveLength(3);
  const hasOneValue = <T>(values: readonly T[]) => new Set(values).size === 1;
  expect(hasOneValue(stub.requests.map(({ headers }) => headers["idempotency-key"]))).toBe(true);
  expect(hasOneValue(stub.requests.map(({ body }) => body.toString()))).toBe(true);

  const spans = receiver.spans();
  const attempts = spansNamed(spans, "POST /v1/mic/jobs/{jobId}/retries");
  expect(attempts.map(({ attributes }) => attributes["http.request.resend_count"])).toEqual([undefined, 1, 2]);
  expect(attempts.map(({ attributes }) => attributes["error.type"])).toEqual(["503", "connection", undefined]);
  expect(new Set(stub.requests.map(({ headers }) => headers["traceparent"])).size).toBe(3);
  const [action] = spansNamed(spans, "action");
  expect(attempts.map(({ parentSpanId }) => parentSpanId)).toEqual(attempts.map(() => action?.spanId));
  expect(action).toMatchObject({ kind: INTERNAL });
  expect(action?.attributes).toMatchObject({ "mic.action.attempts": 3, "mic.action.state": "succeeded" });
  expect(action?.parentSpanId).toBe(spansNamed(spans, "tools/call retry_job")[0]?.spanId);
});

test("a failed tool, an unknown tool and an unknown outcome have error spans without their texts", async () => {
  const { receiver, stub, call, end } = await setUp("stdio, older", { MIC_LOG_LEVEL: "info" });
  stub.respond(({ method }) =>
    method === "POST" ? answer(302, "", { location: "/elsewhere" }) : answer(404, "nothing like that here"),
  );
  await call("get_job", { jobId: "j" });
  for (const tool of ["surely_no_tool", "surely_not_this"]) await call(tool, {});
  await call("cancel_job", { jobId: "j", reason: "r", resourceVersion: 1 }, {});
  await end();
  const spans = receiver.spans();
  const [failed] = spansNamed(spans, "tools/call get_job");
  expect(failed?.status).toEqual({ code: ERROR, message: "" });
  expect(failed?.attributes).toMatchObject({ "error.type": "tool_error", "mic.error.kind": expect.any(String) });
  const [unknown] = spansNamed(spans, "tools/call _OTHER");
  expect(unknown?.attributes).toMatchObject({ "error.type": "-32602", "rpc.response.status_code": "-32602" });
  expect(spansNamed(spans, "action")[0]?.attributes).toMatchObject({ "mic.action.state": "unknown" });
  expect(receiver.bytes().includes("nothing like that")).toBe(false);
  expect(receiver.bytes().includes("surely_no")).toBe(false);
  // Unknown names share one series.
  const ofUnknown = receiver.points().filter(({ attributes }) => attributes["gen_ai.tool.name"] === "_OTHER");
  expect(ofUnknown).toMatchObject([{ name: "mcp.server.operation.duration", value: 2 }]);
});

test("OTEL_PROPAGATORS=none reads and sends no trace context", async () => {
  const { receiver, stub, call, end } = await setUp("stdio, modern", { OTEL_PROPAGATORS: "none" });
  await call("get_job", { jobId: job.id }, { meta: { traceparent: TRACEPARENT } });
  await end();
  expect(spansNamed(receiver.spans(), "tools/call get_job")[0]?.parentSpanId).toBe("");
  expect(stub.requests.map(({ headers }) => headers["traceparent"])).toEqual([undefined]);
});
