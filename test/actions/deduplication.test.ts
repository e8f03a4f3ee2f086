// Which call is which action (docs/interface.md), as an agent sees it: a repeat of what was heard, sent, worded otherwise, mistyped.
import { expect, test } from "vitest";
import { createInput, createJob, enveloped, input, job, micEnveloped, operation } from "../contract/samples.ts";
import { credentials } from "../service/client.ts";
import { gate } from "../support/gate.ts";
import { insideServer, type Talk } from "../support/server.ts";
import { answer, holdUntil, type Stub } from "../support/stub.ts";
import { benchForTest } from "./bench.ts";

async function bench(window = "600") {
  const { stub, env } = await benchForTest({ MIC_REPEAT_WINDOW_SECONDS: window });
  return { stub, env, server: await insideServer(env) };
}

const made = (id: string) => answer(202, enveloped({ ...job, id }));
const unknown = answer(503, undefined, { "retry-after": "60" });
const keysOf = (stub: Stub) => new Set(stub.requests.map(({ headers }) => headers["idempotency-key"]));
const jobIn = ({ structured }: Awaited<ReturnType<Talk["call"]>>) => Object(structured).data.id;

test("the same call is the same action for a while: the stored answer, and first of all that nothing was done", async () => {
  const { stub, server, env } = await bench();
  stub.expect(made("job-1"));
  const first = await server.call("submit_job", createJob);
  expect(first.text).not.toContain("Not done again");
  const second = await server.call("submit_job", createJob);
  await server.end();
  const third = await (await insideServer(env)).call("submit_job", createJob);
  for (const told of [second, third]) {
    expect(told.action).toEqual({ ...first.action, replayed: true });
    expect(jobIn(told)).toBe("job-1");
    for (const words of [told.text, String(Object(told.structured).summary)])
      expect(words).toMatch(
        /^Not done again: this is the outcome of the same call of \d+ seconds? ago\. To do it once more on purpose, pass a new idempotencyKey\. The job\b/,
      );
  }
  expect(stub.requests).toHaveLength(1);
});

test("a new key does it once more on purpose", async () => {
  const { stub, server } = await bench();
  stub.expect(made("job-1"), made("job-2"));
  await server.call("submit_job", createJob);
  const other = await server.call("submit_job", { ...createJob, idempotencyKey: "once-more-1" });
  expect(other.action).toMatchObject({ idempotencyKey: "once-more-1", replayed: false });
  expect(jobIn(other)).toBe("job-2");
});

test.each([
  ["names what was made", async (server: Talk) => await server.call("get_job", { jobId: "job-1" })],
  [
    "names it deep in other arguments",
    async (server: Talk) =>
      await server.call("submit_job", {
        ...createJob,
        parameterValues: { after: ["job-1"] },
        clientReference: "other",
      }),
  ],
])("an agent that %s has heard: the same call is a new action", async (_what, hear) => {
  const { stub, server } = await bench();
  stub.expect(made("job-1"), made("job-2"), made("job-3"));
  await server.call("submit_job", createJob);
  await hear(server);
  const again = await server.call("submit_job", createJob);
  expect(again.action?.replayed).toBe(false);
  expect(again.text).not.toContain("Not done again");
});

test("a view that names what was made is no sign of the agent: the same call is the same action", async () => {
  const { stub, env } = await benchForTest({ MIC_REPEAT_WINDOW_SECONDS: "600", MIC_APPS: "always" });
  const server = await insideServer(env);
  stub.expect(made("job-1"));
  await server.call("submit_job", createJob);
  stub.expect(answer(200, enveloped({ ...job, id: "job-1" })));
  expect((await server.call("show_job", { jobId: "job-1" })).error).toBeUndefined();
  const again = await server.call("submit_job", createJob);
  expect(again.action).toMatchObject({ replayed: true });
  expect(jobIn(again)).toBe("job-1");
});

test("an agent that names the key has heard: once that is answered, the same call is a new action", async () => {
  const { stub, server } = await bench();
  stub.expect(made("job-1"), made("job-2"));
  const first = await server.call("submit_job", createJob);
  const keyed = await server.call("submit_job", { ...createJob, idempotencyKey: first.action?.idempotencyKey });
  expect(keyed.action).toEqual({ ...first.action, replayed: true });
  expect(keyed.text, "it asked for this very one").not.toContain("Not done again");
  expect(jobIn(await server.call("submit_job", createJob))).toBe("job-2");
});

test("a key that was named before there was anything to hear says nothing", async () => {
  const { stub, server } = await bench();
  stub.expect(unknown, made("job-1"));
  const { error } = await server.call("submit_job", createJob);
  await server.call("submit_job", { ...createJob, idempotencyKey: error?.idempotencyKey });
  const again = await server.call("submit_job", createJob);
  expect(again.action?.replayed).toBe(true);
  expect(stub.requests).toHaveLength(2);
});

test("after a refusal that was sent, the same call is a new action", async () => {
  const { stub, server } = await bench();
  stub.expect(answer(422, {}), made("job-1"));
  expect((await server.call("submit_job", createJob)).error).toMatchObject({ sideEffect: "none" });
  expect((await server.call("submit_job", createJob)).action?.replayed).toBe(false);
  expect(keysOf(stub).size).toBe(2);
});

test("a client that cancels just behind the answer has not read it", async () => {
  const { stub, server } = await bench("0");
  stub.expect(made("job-1"), made("job-2"));
  server.send("submit_job", createJob, 1);
  await server.answerTo(1);
  server.cancel(1);
  // Whatever comes next comes behind the cancellation.
  const again = await server.call("submit_job", createJob);
  expect(again.action?.replayed, "cancelled: nobody has read it").toBe(true);
  expect(jobIn(await server.call("submit_job", createJob)), "sent by now").toBe("job-2");
});

test("a call that stands still before its action is written down is the same action as one that was made and heard of meanwhile", async () => {
  const { stub, server, env } = await bench();
  const other = await insideServer(env);
  const { opened, open } = gate();
  const aJob = answer(200, enveloped(job), { etag: '"7"' });
  stub.respond(({ method, target }) => {
    if (method === "POST") return answer(202, enveloped(operation));
    if (target.includes("operations")) return answer(200, enveloped(operation));
    return stub.requests.length === 1 ? holdUntil(opened, aJob) : aJob;
  });
  const cancel = { jobId: job.id, reason: "no longer wanted" };
  server.send("cancel_job", cancel, 7);
  await expect.poll(() => stub.requests.length).toBe(1);
  const told = await other.call("cancel_job", cancel);
  expect(told.action).toMatchObject({ replayed: false });
  expect((await other.call("get_operation", { operationId: operation.id })).error).toBeUndefined();
  open();
  const late = await server.answerTo(7);
  expect(late.action).toEqual({ ...told.action, replayed: true });
  expect(stub.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  expect(
    (await other.call("cancel_job", cancel)).action,
    "what comes after that is an action of its own",
  ).toMatchObject({
    replayed: false,
  });
});

test("the reason tells no actions apart", async () => {
  const { stub, server } = await bench();
  stub.expect(answer(202, enveloped(operation)));
  const cancel = (reason: string, key?: string) =>
    server.call("cancel_job", { jobId: "job-1", reason, resourceVersion: 7, ...(key && { idempotencyKey: key }) });
  const first = await cancel("no longer wanted");
  const second = await cancel("The person does not want it any more.");
  expect(second.action).toEqual({ ...first.action, replayed: true });
  const keyed = await cancel("in other words", first.action?.idempotencyKey);
  expect(keyed.action).toEqual({ ...first.action, replayed: true });
  expect(stub.requests).toHaveLength(1);
});

test.each([
  ["submit_job", createJob, "clientReference", made("job-1")],
  ["register_input", createInput, "alias", answer(201, micEnveloped(input))],
])(
  "%s: another note while the first is of unknown outcome is refused, and names the call that settles it",
  async (tool, args, note, success) => {
    const { stub, server } = await bench();
    stub.expect(unknown);
    const first = await server.call(tool, { ...args, [note]: "Normalize districts for Asha" });
    const second = await server.call(tool, { ...args, [note]: "normalise the districts file (Asha)" });
    expect(second.error).toMatchObject({
      kind: "conflict",
      sideEffect: "unknown",
      retryable: false,
      idempotencyKey: first.error?.idempotencyKey,
    });
    expect(second.text).toMatch(new RegExp(`differs only in ${note} has an unknown outcome; this call sent nothing`));
    const [, name = "", call = "{}"] =
      /cannot make it happen twice: (\w+) (\{.*?\}) If a second/.exec(second.text) ?? [];
    expect(JSON.parse(call)).toEqual({
      ...args,
      [note]: "Normalize districts for Asha",
      idempotencyKey: first.error?.idempotencyKey,
    });
    stub.expect(success, success);
    expect((await server.call(name, JSON.parse(call))).error).toBeUndefined();
    expect(keysOf(stub).size).toBe(1);
    const other = await server.call(tool, { ...args, [note]: "normalise the districts file (Asha)" });
    expect(other.action?.replayed, "once it is settled, another note is another action").toBe(false);
  },
);

test("an own new key is the way past", async () => {
  const { stub, server } = await bench();
  stub.expect(unknown, made("job-2"));
  await server.call("submit_job", { ...createJob, clientReference: "one" });
  const past = await server.call("submit_job", {
    ...createJob,
    clientReference: "two",
    idempotencyKey: "my-own-key-2",
  });
  expect(past.action).toMatchObject({ idempotencyKey: "my-own-key-2", replayed: false });
});

test("a key of the server's own form that the journal does not hold was mistyped: refused, nothing is sent", async () => {
  const { stub, server } = await bench();
  stub.expect(made("job-1"));
  const { action } = await server.call("submit_job", createJob);
  const key = action?.idempotencyKey ?? "";
  const wrong = key.slice(0, -1) + (key.endsWith("0") ? "1" : "0");
  for (const args of [{ ...createJob, idempotencyKey: wrong }, { idempotencyKey: wrong }]) {
    const { error, text } = await server.call("submit_job", args);
    expect(error).toMatchObject({ kind: "conflict", sideEffect: "none", idempotencyKey: wrong });
    expect(text).toMatch(/No action has the key .*; nothing was sent\..*list_actions has the keys/s);
  }
  expect(stub.requests).toHaveLength(1);
});

test("a call with nothing but the key takes the rest from the journal", async () => {
  const { stub, server, env } = await bench();
  stub.expect(unknown, made("job-1"));
  const { error } = await server.call("submit_job", createJob);
  const idempotencyKey = error?.idempotencyKey;
  await server.end();
  const next = await insideServer(env);
  expect((await next.call("register_input", { idempotencyKey })).error).toMatchObject({ kind: "invalid_arguments" });
  const told = await next.call("submit_job", { idempotencyKey });
  expect(told.action).toEqual({ idempotencyKey, replayed: false, attempts: 2 });
  expect(stub.requests[1]?.body).toEqual(stub.requests[0]?.body);
  const own = await next.call("submit_job", { idempotencyKey: "a-key-of-my-own" });
  expect(own.error).toMatchObject({ kind: "invalid_arguments" });
});

test("list_actions shows what was done, and the complete call that settles what is not", async () => {
  const { stub, server, env } = await bench();
  const secretive = { ...createJob, clientReference: credentials.clientSecret };
  const code = {
    type: "t",
    title: "No",
    status: 422,
    code: "TOO_LATE",
    requestId: "r",
    retryable: false,
    fieldErrors: [],
  };
  stub.expect(answer(422, code), unknown, unknown);
  await server.call("retry_job", { jobId: "job-9", retryMode: "RESTART", reason: "why not" });
  await server.call("submit_job", createJob);
  await server.call("register_input", { ...createInput, alias: secretive.clientReference });
  await server.end();
  const next = await insideServer(env);
  const { structured, text } = await next.call("list_actions", {});
  const [registered, submitted, retried] = Object(structured).actions;
  expect(retried).toMatchObject({
    tool: "retry_job",
    state: "rejected",
    about: "job-9",
    code: "TOO_LATE",
    arguments: { jobId: "job-9", retryMode: "RESTART", reason: "why not" },
  });
  expect(retried).not.toHaveProperty("nextStep");
  expect(submitted).toMatchObject({ state: "unknown", about: createJob.recipeVersionId, arguments: createJob });
  expect(submitted.nextStep).toEqual({
    tool: "submit_job",
    arguments: { ...createJob, idempotencyKey: submitted.idempotencyKey },
    why: expect.stringContaining("cannot make it happen twice"),
  });
  // What would be taken out of the arguments on their way is in the journal all the same.
  expect(JSON.stringify(structured) + text).not.toContain(secretive.clientReference);
  expect(registered.nextStep.arguments).toEqual({ idempotencyKey: registered.idempotencyKey });
  stub.expect(made("job-1"), answer(201, micEnveloped(input)));
  for (const { nextStep } of [submitted, registered])
    expect((await next.call(nextStep.tool, nextStep.arguments)).error).toBeUndefined();
  const bodies = stub.requests.slice(1).map(({ body }) => body.toString());
  expect(bodies.slice(2)).toEqual(bodies.slice(0, 2));
  expect(text).toContain(`Next: submit_job ${JSON.stringify(submitted.nextStep.arguments)}`);
});

test("two identical calls at once are one, and the second is told so", async () => {
  const { stub, server } = await bench();
  stub.expect(made("job-1"));
  const tolds = await Promise.all([server.call("submit_job", createJob), server.call("submit_job", createJob)]);
  expect(tolds.map(({ action }) => action?.replayed).sort()).toEqual([false, true]);
  const replayed = tolds.find(({ action }) => action?.replayed);
  expect(replayed?.text).toMatch(/^Not done again: this is the outcome of the same call of \d+ seconds? ago/);
  expect(stub.requests).toHaveLength(1);
});
