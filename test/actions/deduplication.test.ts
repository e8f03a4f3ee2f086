// Tests deduplication as an agent sees it (docs/interface.md, "Deduplication"): repeated, similar, respelled and mistyped calls.
import { beforeEach, expect, test } from "vitest";
import {
  createInput,
  createJob,
  createProcessingRequest,
  enveloped,
  input,
  job,
  micEnveloped,
  operation,
  problem,
  processingRequest,
} from "../contract/samples.ts";
import { createLatch } from "../support/latch.ts";
import type { CallResult } from "../support/results.ts";
import { type InProcessServer, inProcessServerForTest } from "../support/server.ts";
import { answer, holdUntil, type Stub } from "../support/stub.ts";
import { benchForTest } from "./bench.ts";

let stub: Stub;
let env: Readonly<Record<string, string>>;
let server: InProcessServer;
beforeEach(async () => {
  ({ stub, env } = await benchForTest());
  server = await inProcessServerForTest(env);
});

const createdJob = (id: string) => answer(202, enveloped({ ...job, id }));
const read = (id: string, state = job.state) => answer(200, enveloped({ ...job, id, state }));
const unknown = answer(503, undefined, { "retry-after": "60" });

const posts = () => stub.requests.filter(({ method }) => method === "POST");
const countKeys = () => new Set(posts().map(({ headers }) => headers["idempotency-key"])).size;
const dataOf = ({ structured }: CallResult) => Object(structured).data;

test("an identical call is a replay with the current state, even in a new session", async () => {
  stub.expect(createdJob("job-1"), read("job-1"), read("job-1", "SUCCEEDED"));
  const first = await server.call("submit_job", createJob);
  expect(first.text).not.toContain("Not run again");
  const second = await server.call("submit_job", createJob);
  await server.end();
  const third = await (await inProcessServerForTest(env)).call("submit_job", createJob);
  for (const [repeated, state] of [
    [second, job.state],
    [third, "SUCCEEDED"],
  ] as const) {
    expect(repeated.action).toEqual({ ...first.action, replayed: true });
    expect(dataOf(repeated)).toMatchObject({ id: "job-1", state });
    for (const text of [repeated.text, String(Object(repeated.structured).summary)])
      expect(text).toMatch(
        new RegExp(
          `^Not run again: an identical call ran \\d+ s ago \\(${state}.*?\\)\\. To run it again, pass idempotencyKey again-[0-9a-f]{16}\\. The job`,
        ),
      );
  }
  expect(posts()).toHaveLength(1);
});

test("the key that a replay offers runs the call again, and only once", async () => {
  stub.expect(createdJob("job-1"), read("job-1"), createdJob("job-2"), read("job-2"));
  await server.call("submit_job", createJob);
  const { text } = await server.call("submit_job", createJob);
  const idempotencyKey = /again-[0-9a-f]{16}/.exec(text)?.[0];
  const other = await server.call("submit_job", { ...createJob, idempotencyKey });
  expect(other.action).toMatchObject({ idempotencyKey, replayed: false });
  expect(dataOf(other).id).toBe("job-2");
  const again = await server.call("submit_job", { ...createJob, idempotencyKey });
  expect(again.action).toMatchObject({ idempotencyKey, replayed: true });
  expect(again.text, "its key asks about that very action").not.toContain("To run it again");
  expect(posts()).toHaveLength(2);
});

test("repeating the submission of a job that failed retryably is a replay, even after the agent has read the failure", async () => {
  const failure = { ...problem, status: 503, code: "BUSY", retryable: true };
  const now = answer(200, enveloped({ ...job, id: "job-1", state: "FAILED", failure }));
  stub.expect(createdJob("job-1"), now, now);
  await server.call("submit_job", createJob);
  await server.call("get_job", { jobId: "job-1" });
  const again = await server.call("submit_job", createJob);
  expect(again.action?.replayed).toBe(true);
  expect(Object(again.structured).nextStep).toMatchObject({ tool: "retry_job", arguments: { jobId: "job-1" } });
  expect(again.text).not.toContain("To run it again");
  expect(posts()).toHaveLength(1);
});

test("a replay whose resource cannot be read reports this and returns the first answer", async () => {
  stub.expect(createdJob("job-1"), answer(404, undefined));
  await server.call("submit_job", createJob);
  const again = await server.call("submit_job", createJob);
  expect(again.text).toMatch(
    /^Not run again: an identical call ran \d+ s ago\. Its current state could not be read; this is the first answer\./,
  );
  expect(dataOf(again)).toMatchObject({ id: "job-1" });
});

test("a call that stalls before its action is recorded is the same action as an identical call made meanwhile", async () => {
  const other = await inProcessServerForTest(env);
  const { released, release } = createLatch();
  const aJob = answer(200, enveloped(job), { etag: '"7"' });
  stub.respond(({ method, target }) => {
    if (method === "POST") return answer(202, enveloped(operation));
    if (target.includes("operations")) return answer(200, enveloped(operation));
    return stub.requests.length === 1 ? holdUntil(released, aJob) : aJob;
  });
  const cancel = { jobId: job.id, reason: "no longer wanted" };
  server.send("cancel_job", cancel, 7);
  await expect.poll(() => stub.requests.length).toBe(1);
  const first = await other.call("cancel_job", cancel);
  expect(first.action).toMatchObject({ replayed: false });
  release();
  expect((await server.waitForResult(7)).action).toEqual({ ...first.action, replayed: true });
  expect(posts()).toHaveLength(1);
});

const bindings = [
  { port: "b", inputId: "micinput_2" },
  { port: "a", inputId: "micinput_1" },
];

const calls = {
  submit_job: [createJob, createdJob("job-1")],
  register_input: [createInput, answer(201, micEnveloped(input))],
  request_file_processing: [createProcessingRequest, answer(201, micEnveloped(processingRequest))],
  cancel_job: [{ jobId: job.id, reason: "why", resourceVersion: 7 }, answer(202, enveloped(operation))],
  retry_job: [{ jobId: "job-0", retryMode: "SAFE_RESUME", reason: "why" }, createdJob("job-2")],
} as const;

test.each<[string, keyof typeof calls, object, object]>([
  ["bindings in another order", "submit_job", { inputBindings: bindings }, { inputBindings: bindings.toReversed() }],
  ["another note", "submit_job", { clientReference: "Asha" }, { clientReference: "districts" }],
  ["a note that is null or left out", "submit_job", { clientReference: null }, {}],
  [
    "fields of parameterValues in another order",
    "submit_job",
    { parameterValues: { a: 1, b: 2 } },
    { parameterValues: { b: 2, a: 1 } },
  ],
  ["another alias", "register_input", { alias: "one" }, { alias: "two" }],
  ["blanks around the purpose", "request_file_processing", { purpose: "research" }, { purpose: " research " }],
  ["another expiry", "request_file_processing", {}, { expiresAt: "2099-01-01T00:00:00.000Z" }],
  ["another reason", "cancel_job", { reason: "one" }, { reason: "two" }],
  ["another mode", "retry_job", { retryMode: "SAFE_RESUME" }, { retryMode: "RESTART" }],
])("a call with %s is the same action", async (_what, tool, one, other) => {
  const [base, success] = calls[tool];
  stub.respond(({ method }) => (method === "POST" ? success : answer(404, undefined)));
  const first = await server.call(tool, { ...base, ...one });
  expect(first.error).toBeUndefined();
  const second = await server.call(tool, { ...base, ...other });
  expect(second.action).toEqual({ ...first.action, replayed: true });
  expect(posts()).toHaveLength(1);
});

test.each([
  ["null instead of an absent field of parameterValues", { parameterValues: { x: null } }, { parameterValues: {} }],
  ["other blanks in parameterValues", { parameterValues: { x: "a" } }, { parameterValues: { x: "a " } }],
  [
    "another input on a port",
    { inputBindings: bindings },
    { inputBindings: bindings.map((each) => ({ ...each, inputId: `${each.inputId}0` })) },
  ],
])("a call with %s starts another job", async (_what, one, other) => {
  stub.expect(createdJob("job-1"), createdJob("job-2"));
  await server.call("submit_job", { ...createJob, ...one });
  expect((await server.call("submit_job", { ...createJob, ...other })).action?.replayed).toBe(false);
  expect(countKeys()).toBe(2);
});

test("a job for another input of the same file is the same action", async () => {
  const inputs = ["micinput_00000000000000000000000000000001", "micinput_00000000000000000000000000000002"];
  const [first, second] = inputs.map((id) => answer(201, micEnveloped({ ...input, id })));
  stub.respond(({ method, target }) => {
    if (method !== "POST") return answer(404, undefined);
    if (target.endsWith("/jobs")) return createdJob("job-1");
    return (posts().length === 1 ? first : second) ?? answer(500);
  });
  await server.call("register_input", createInput);
  await server.call("register_input", { ...createInput, idempotencyKey: "the-same-file-again" });
  const submit = (inputId: string | undefined) =>
    server.call("submit_job", { ...createJob, inputBindings: [{ port: "data", inputId }] });
  expect((await submit(inputs[0])).action?.replayed).toBe(false);
  expect((await submit(inputs[1])).action?.replayed).toBe(true);
  expect(posts()).toHaveLength(3);
});

test.each([
  ["a digit that differs", (key: string) => key.slice(0, -1) + (key.endsWith("0") ? "1" : "0")],
  ["capitals", (key: string) => key.toUpperCase()],
])("a key in mic-mcp's own format with %s is refused, and nothing is sent", async (_what, mistype) => {
  stub.expect(createdJob("job-1"));
  const { action } = await server.call("submit_job", createJob);
  const wrong = mistype(action?.idempotencyKey ?? "");
  for (const args of [{ ...createJob, idempotencyKey: wrong }, { idempotencyKey: wrong }]) {
    const { error, text } = await server.call("submit_job", args);
    expect(error).toMatchObject({ kind: "conflict", sideEffect: "none" });
    expect(error).not.toHaveProperty("idempotencyKey");
    expect(text).toMatch(/No action has the key .*\..*Nothing was changed\..*list_actions shows the keys/s);
  }
  expect(stub.requests).toHaveLength(1);
});

test("a call with only the key takes the other arguments from the journal", async () => {
  stub.expect(unknown, createdJob("job-1"), read("job-1"));
  const { error } = await server.call("submit_job", createJob);
  const idempotencyKey = error?.idempotencyKey;
  await server.end();
  const next = await inProcessServerForTest(env);
  expect((await next.call("register_input", { idempotencyKey })).error).toMatchObject({ kind: "invalid_arguments" });
  const resolved = await next.call("submit_job", { idempotencyKey });
  expect(resolved.action).toEqual({ idempotencyKey, replayed: false });
  expect(posts()[1]?.body).toEqual(posts()[0]?.body);
  const own = await next.call("submit_job", { idempotencyKey: "a-key-of-my-own" });
  expect(own.error).toMatchObject({ kind: "invalid_arguments" });
});

test("a call canceled right after its answer is replayed when repeated", async () => {
  stub.expect(createdJob(job.id), read(job.id));
  await server.call("submit_job", createJob, 7);
  server.cancel(7);
  expect((await server.call("submit_job", createJob, 8)).action).toMatchObject({ replayed: true });
  expect(posts()).toHaveLength(1);
});

test("the key of a rejected action accepts the same arguments in another spelling, but not another note", async () => {
  const [binding] = createJob.inputBindings;
  const first = { port: "first", inputId: "input-1" };
  const args = {
    ...createJob,
    inputBindings: [binding, first],
    clientReference: "A",
    idempotencyKey: "rejected-key-1",
  };
  const respelled = { ...args, inputBindings: [first, binding], clientReference: " A " };
  stub.expect(answer(422, { ...problem, status: 422 }), createdJob("job-1"));
  expect((await server.call("submit_job", args)).error).toMatchObject({ kind: "rejected", sideEffect: "none" });
  const noted = await server.call("submit_job", { ...args, clientReference: "B" });
  expect(noted.error).toMatchObject({ kind: "conflict", sideEffect: "none" });
  expect(noted.error?.message).toMatch(/other arguments \(clientReference\)\.$/);
  expect((await server.call("submit_job", respelled)).action).toMatchObject({ replayed: false });
  const [one, other] = posts();
  expect(other?.body).toEqual(one?.body);
});
