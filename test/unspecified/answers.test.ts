// Tests parts of the answers that the contract leaves open, such as headers, statuses, codes, rates, and the order of jobs.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import * as samples from "../contract/samples.ts";
import { hourlyJobs, serveJobs } from "../support/job-list.ts";
import { answer, hangUp } from "../support/stub.ts";
import { sessionForFile, sessionForTest } from "./session.ts";

const { createJob, districtsResponse, enveloped, job, micEnveloped, openApiDocument, operation, problem } = samples;
const { state, statesResponse } = samples;
const session = sessionForFile();

const oddHeaders: readonly Readonly<Record<string, string>>[] = [
  {},
  { etag: 'W/"99"' },
  { etag: '"98"', "x-request-id": "other", location: "https://elsewhere.example/" },
  { etag: "unquoted", "retry-after": "600", "content-type": "text/plain" },
  { "content-type": "application/vnd.mic.v1+json; charset=latin1" },
];
for (const [at, headers] of oddHeaders.entries())
  test(`the server returns a job exactly as in the body of the response, whatever the headers (case ${at})`, {
    tags: ["4.2/assumes-no-response-headers"],
  }, async () => {
    const { stub, connection } = session();
    // As bytes, so that the stub adds no header of its own.
    const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
    const jobId = `job-headers-${at}`;
    const found = { ...job, id: jobId };
    stub.respond(({ method }) =>
      method === "GET"
        ? answer(200, bytes(enveloped(found)), headers)
        : answer(202, bytes(enveloped({ ...operation, originatingResourceId: jobId })), headers),
    );
    const read = await connection.callTool("get_job", { jobId, view: "full" });
    expect(read, read.text).toMatchObject({ isError: false, structured: { data: found } });
    const cancellation = { jobId, reason: "Submitted by mistake", waitSeconds: 0 };
    const cancelled = await connection.callTool("cancel_job", cancellation);
    expect(cancelled, cancelled.text).toMatchObject({ isError: false, meta: { "mic-mcp/requestId": "req-1" } });
    expect(stub.requests.at(-1)?.headers["if-match"]).toBe(`"${job.resourceVersion}"`);
  });

for (const replayed of [undefined, "yes", "1", "false"])
  test(`the server accepts a stored answer if Idempotent-Replayed is ${replayed ?? "absent"}`, {
    tags: ["4.2/assumes-no-response-headers", "4.2/key-names-one-command"],
  }, async () => {
    const { stub, connection } = session();
    const headers: Readonly<Record<string, string>> = replayed === undefined ? {} : { "idempotent-replayed": replayed };
    stub.expect(hangUp, answer(202, enveloped(job), headers));
    const order = { ...createJob, idempotencyKey: `stored-answer-${replayed}` };
    const { structured, text } = await connection.callTool("submit_job", order);
    expect(structured, text).toMatchObject({ data: { id: job.id }, action: { replayed: false } });
    const [first, second] = stub.requests;
    expect(second?.headers["idempotency-key"]).toBe(first?.headers["idempotency-key"]);
  });

test("a stored answer is reported as that of an earlier request, or of this call's own requests", async () => {
  const { stub, connection } = session();
  const stored = answer(202, enveloped(job), { "idempotent-replayed": "true" });
  stub.expect(stored);
  const ofOther = await connection.callTool("submit_job", { ...createJob, idempotencyKey: "key-of-another-client" });
  expect(ofOther.text).toMatch(
    /^The API already had this key: an earlier request ran the action, and this call did not/,
  );
  expect(ofOther.action).toMatchObject({ replayed: false });
  stub.expect(hangUp, stored);
  const resent = await connection.callTool("submit_job", { ...createJob, parameterValues: { isResent: true } });
  expect(resent.text).toMatch(/^Sent 2 times under one key after lost answers; the action ran once\. /);
});

test("the server reports a refusal unchanged, with any status and code", {
  tags: ["7.2/assumes-no-statuses-or-codes"],
}, async () => {
  const { stub, connection } = session();
  const codes = ["¡no!", "IDEMPOTENCY_KEY_REUSED", "NOT_FOUND", "VERSION_CONFLICT", "RATE_LIMITED", "SUCCESS"];
  for (const status of [400, 402, 404, 405, 409, 410, 418, 422, 423, 425, 451, 499]) {
    const kinds = [];
    for (const code of codes) {
      stub.expect(answer(status, { ...problem, code, status: 599, retryable: false }));
      const { error } = await connection.callTool("get_job", { jobId: job.id });
      expect(error).toMatchObject({ status, code, retryable: false, sideEffect: "none", requestId: problem.requestId });
      kinds.push(error?.kind);
    }
    // Only the status determines the kind.
    expect(new Set(kinds).size, `${status}: ${kinds}`).toBe(1);
  }
});

test.each([
  ["its title", { title: `micsharedrequest_${"0a".repeat(16)} is pending` }],
  ["a field", { fieldErrors: [{ pointer: "", code: "X", message: `Wait for micsharedrequest_${"0a".repeat(16)}.` }] }],
])(
  "the error for a 403 with a processing request's id in %s names the call that reads the request, whatever the code",
  { tags: ["7.2/assumes-no-statuses-or-codes"] },
  async (_, change) => {
    const { stub, connection } = session();
    for (const code of ["PROCESSING_NOT_PERMITTED", "¡no!", "MISSING_SCOPE"]) {
      stub.expect(answer(403, { ...problem, ...change, code, status: 403, retryable: false }));
      const { error } = await connection.callTool("submit_job", {
        ...createJob,
        idempotencyKey: `job-of-${code.length}`,
      });
      expect(error?.next).toMatch(
        /^get_file_processing_request \{"requestId":"micsharedrequest_(0a){16}","waitSeconds":45\} /,
      );
    }
    stub.expect(answer(403, { ...problem, status: 403, retryable: false }));
    const other = await connection.callTool("submit_job", { ...createJob, idempotencyKey: "job-without-request" });
    expect(other.error?.next).toMatch(/^Check workspaceId\. /);
  },
);

test("the server does not wait for a limit that no answer has stated, and obeys a stated one", {
  tags: ["8/assumes-no-job-rate"],
}, async () => {
  const { stub, connection } = session();
  const read = () => connection.callTool("get_job", { jobId: job.id });
  stub.respond(() => answer(200, enveloped(job)));
  const many = await Promise.all(Array.from({ length: 200 }, read));
  expect(many.filter(({ isError }) => isError)).toEqual([]);
  expect(stub.requests).toHaveLength(200);
  // A 429 with Retry-After is returned to the agent; one without it is retried.
  stub.expect(answer(429, problem, { "retry-after": "600" }));
  expect((await read()).error).toMatchObject({ kind: "rate_limited", retryable: true, retryAfterSeconds: 600 });
  stub.expect(answer(429), answer(429, "<html>slow down</html>"));
  expect(await read()).toMatchObject({ isError: false });
  expect(stub.requests).toHaveLength(204);
});

test("the server sends every body as JSON, except the token request", { tags: ["1/json-bodies"] }, async () => {
  const { stub, connection } = await sessionForTest();
  const retried = enveloped({ ...job, retryOfBatchId: "job-0" });
  const permission = { ...samples.createProcessingRequest, expiresAt: new Date(Date.now() + 3_600_000).toISOString() };
  const reason = "„Nein“ – \u2028 🧭";
  for (const [tool, args, body, step] of [
    ["submit_job", {}, createJob, answer(202, enveloped(job))],
    [
      "cancel_job",
      { jobId: "job-1", resourceVersion: 3, waitSeconds: 0 },
      { reason },
      answer(202, enveloped(operation)),
    ],
    ["retry_job", { jobId: "job-0" }, { retryMode: "RESTART", reason: "Again" }, answer(202, retried)],
    ["register_input", {}, samples.createInput, answer(201, enveloped(samples.input))],
    ["request_file_processing", {}, permission, answer(201, micEnveloped(samples.processingRequest))],
  ] as const) {
    stub.respond(({ method }) => (method === "GET" ? answer(200, enveloped(job)) : step));
    const { isError, text } = await connection.callTool(tool, { ...args, ...body });
    expect(isError, `${tool}: ${text}`).toBe(false);
    const sent = stub.requests.at(-1);
    expect(sent?.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(String(sent?.body))).toEqual(body);
  }
  expect(stub.tokenRequests.length).toBeGreaterThan(0);
  for (const { headers } of stub.tokenRequests)
    expect(headers["content-type"]).toBe("application/x-www-form-urlencoded");
});

const Found = z.looseObject({
  summary: z.string(),
  nextStep: z.unknown().optional(),
  data: z.array(z.looseObject({ id: z.string() })),
  read: z.object({ jobs: z.number(), complete: z.boolean() }),
});

const newestFirst = hourlyJobs(350);
/** Lower bound of createdAt: matches the latest 31 jobs. */
const createdSince = "2026-11-19T06:00:00Z";
const young = newestFirst.slice(0, 31).map(({ id }) => id);
const args = { workspaceId: "micws_1", createdSince, limit: 100 };

test("the server finds jobs created since a time in a list of any order", {
  tags: ["4.2/assumes-no-job-order"],
}, async () => {
  const oldestFirst = newestFirst.toReversed();
  const mixed = newestFirst.map((_, index) => newestFirst[(index * 137) % newestFirst.length] ?? { id: "none" });
  for (const jobs of [oldestFirst, mixed]) {
    const { stub, connection } = await sessionForTest();
    serveJobs(stub, () => jobs);
    const { structured } = await connection.callTool("list_jobs", args);
    const { data, read } = Found.parse(structured);
    expect(data.map(({ id }) => id).toSorted()).toEqual(young.toSorted());
    expect(read).toEqual({ jobs: 350, complete: true });
  }
});

test("the server stops at the first older job if the newest come first, and says so", {
  tags: ["4.2/assumes-no-job-order"],
}, async () => {
  const { stub, connection } = await sessionForTest();
  const requestedPages = serveJobs(stub, () => newestFirst);
  const { structured } = await connection.callTool("list_jobs", args);
  const { data, read, summary, nextStep } = Found.parse(structured);
  expect(data.map(({ id }) => id)).toEqual(young);
  expect(requestedPages).toHaveLength(1);
  expect(read).toEqual({ jobs: 100, complete: true });
  expect(summary).toContain(`All remaining jobs are older than ${createdSince}: the list is newest first.`);
  expect(nextStep).toBeUndefined();
  expect(structured).toMatchObject({ page: { nextCursor: null, hasMore: false } });
});

const denied = answer(403, { status: "PLAYGROUND_REQUEST_DENIED" });

test("the server reports a 403 unchanged, and the next call sends a request again", {
  tags: ["7.1/assumes-no-condition-of-403"],
}, async () => {
  const { stub, connection } = await sessionForTest();
  for (const [tool, args, body, structured] of [
    ["list_states", {}, statesResponse, { states: { TG: { districts: 33 } } }],
    ["list_districts", { state: state.code }, districtsResponse, { districts: { 501: { mandals: 21 } } }],
    ["get_geography_openapi", {}, openApiDocument, openApiDocument],
  ] as const) {
    const { length } = stub.requests;
    stub.expect(denied);
    const { error } = await connection.callTool(tool, args);
    const code = "PLAYGROUND_REQUEST_DENIED";
    expect(error).toMatchObject({ kind: "forbidden", status: 403, code, retryable: false, sideEffect: "none" });
    expect(error).not.toHaveProperty("retryAfterSeconds");
    stub.expect(answer(200, body));
    expect(await connection.callTool(tool, args)).toMatchObject({ isError: false, structured });
    expect(stub.requests).toHaveLength(length + 2);
  }
});

test("a 403 for one state has no effect on the other states", {
  tags: ["7.1/assumes-no-condition-of-403"],
}, async () => {
  const { stub, connection } = await sessionForTest();
  const states = ["AA", "BB", "CC"].map((code) => ({ ...state, code, name: `State ${code}`, districtCount: 1 }));
  stub.respond(({ target }) => {
    if (target.endsWith("/geo/states")) return answer(200, { ...statesResponse, states });
    const code = target.slice(-2);
    return code === "BB" ? denied : answer(200, { ...districtsResponse, state: `State ${code}` });
  });
  const ranked = await connection.callTool("rank_divisions", { level: "district", by: "mandalCount", waitSeconds: 20 });
  const coverage = { statesTotal: 3, statesRead: 2, complete: false, missing: [{ states: ["BB"] }] };
  expect(ranked.structured, ranked.text).toMatchObject({ coverage });
});
