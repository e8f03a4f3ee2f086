// Real clients of the older revisions before two instances, which get each message of a session in turn: all that clients can do
// before one server they can do here.
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type Emulator, startEmulator } from "../../src/emulator/index.ts";
import { httpServiceOf } from "../../src/mcp/http/serve.ts";
import { Service } from "../emulator/service.ts";
import { FILE, submitJob } from "../emulator/work.ts";
import { legacySpeaker, post, resultOf } from "../mcp/http/raw.ts";
import { composed } from "../support/composed.ts";
import { manualClock } from "../support/emulator.ts";
import { expectTrueInstructions } from "../support/instructions.ts";
import { connectHttp, type Era, emulatorEnv, type Progress, type Reply } from "../support/mcp.ts";
import { CALLER, deploymentForTest, type Instance, noticesForTest, type TestNotices } from "./sessions/instances.ts";
import { rowsForTest } from "./sessions/rows.ts";

const STAGE_MS = 500;
const OLDER = ["v1-client", "v2-legacy"] as const satisfies readonly Era[];
const soon = { timeout: 15_000, interval: 50 };

interface Bench {
  readonly emulator: Emulator;
  readonly service: Service;
  readonly url: string;
  readonly one: Instance;
  readonly other: Instance;
  readonly notices: TestNotices;
  /** What the service got of one operation about this id. */
  requestsAbout(operationId: string, id: string): Promise<number>;
}
const clock = manualClock();
let bench: Bench;

/** An instance's runtime; all callers of a test are one there. */
function runtimeForTest(env: Readonly<Record<string, string>>) {
  const { runtime, close } = composed(env);
  onTestFinished(close);
  const service = httpServiceOf(runtime);
  return () => service;
}

beforeEach(async () => {
  const emulator = await startEmulator({ clock });
  onTestFinished(() => emulator.close());
  const env = { ...emulatorEnv(emulator), MIC_GEOGRAPHY_RATE: "600" };
  const notices = noticesForTest();
  const shared = { rows: await rowsForTest(), notices };
  const parts = [env, env].map((each) => ({ ...shared, serviceOf: runtimeForTest(each) }));
  const { url, instances } = await deploymentForTest(parts);
  const [one, other] = instances;
  if (!one || !other) throw new Error("two instances");
  bench = {
    emulator,
    service: new Service(emulator, clock),
    url,
    one,
    other,
    notices,
    async requestsAbout(operationId, id) {
      const entries: unknown = await (await fetch(`${emulator.baseUrl}/__emulator/requests`)).json();
      if (!Array.isArray(entries)) throw new Error("the emulator keeps no log");
      return entries.filter((entry) => entry.operationId === operationId && entry.path.includes(id)).length;
    },
  };
});

async function clientForTest(era: Era, person?: (question: string) => Reply | Promise<Reply>) {
  const client = await connectHttp(era, bench.url, { ...(person && { person }) });
  onTestFinished(() => client.close());
  return client;
}

describe.each(OLDER)("%s", (era) => {
  test("tools, resources, prompts and completions are those of one server", async () => {
    const client = await clientForTest(era);
    expect(client.sessionId()?.length).toBeGreaterThan(100);
    expect((await client.listTools()).length).toBeGreaterThan(20);
    expect(client.instructions()).toMatch(/find_district/);
    await expectTrueInstructions(client, "a deployment");
    expect((await client.listResources()).map(({ uri }) => uri)).toContain("mic://geography/states");
    expect(await client.getPrompt("diagnose_job", { jobId: "job-1" })).toContain("job-1");
    const ref = { type: "ref/resource", uri: "mic://geography/states/{code}/districts" } as const;
    expect(await client.complete(ref, "code", "K")).toContain("KL");
    const read = await Promise.all([1, 2, 3, 4].map(() => client.callTool("list_districts", { state: "KL" })));
    for (const { structured } of read) expect(structured).toMatchObject({ state: "Kerala" });
    const unknown = client.readResource("mic://jobs/no-such-job");
    await expect(unknown).rejects.toMatchObject({ code: era === "v1-client" ? -32002 : -32602 });
    const failed = await client.callTool("get_job", { jobId: "no-such-job" });
    expect(failed.error).toMatchObject({ kind: "not_found", sideEffect: "none" });
  });

  test.each([
    ["agrees", { action: "accept", content: {} }],
    ["declines", { action: "decline" }],
  ] as const)("the person is asked at one instance, and %s at another", async (_what, said) => {
    const questions: string[] = [];
    const client = await clientForTest(era, (question) => {
      questions.push(question);
      return said;
    });
    // An even number and an odd one of messages before it: the answer comes to the other instance each time.
    for (const time of [1, 2]) {
      const { id } = await submitJob(bench.service, FILE.succeeds);
      const { isError, error } = await client.callTool("cancel_job", { jobId: id, reason: "not needed" });
      expect(questions).toHaveLength(time);
      expect(questions.at(-1)).toContain(id);
      const accepted = said.action === "accept";
      expect({ isError, kind: error?.kind }).toEqual({ isError: !accepted, kind: accepted ? undefined : "cancelled" });
      expect(await bench.requestsAbout("cancelMicJob", id)).toBe(accepted ? 1 : 0);
      await client.listTools();
    }
  });

  test("several questions at once, of several sessions, get each their own answer", async () => {
    const asked = await Promise.all(
      [1, 2, 3].flatMap((at) =>
        [true, false].map(async (agrees) => {
          const { id } = await submitJob(bench.service, FILE.succeeds);
          const client = await clientForTest(era, async (question) => {
            expect(question).toContain(id);
            await new Promise((resolve) => setTimeout(resolve, 20 * at));
            return { action: agrees ? "accept" : "decline", ...(agrees && { content: {} }) };
          });
          const { isError } = await client.callTool("cancel_job", { jobId: id, reason: "not needed" });
          return { agrees, done: !isError, cancels: await bench.requestsAbout("cancelMicJob", id) };
        }),
      ),
    );
    for (const { agrees, done, cancels } of asked)
      expect({ done, cancels }).toEqual({ done: agrees, cancels: agrees ? 1 : 0 });
  });

  test("progress is told while a call waits, and the call then ends", async () => {
    const client = await clientForTest(era);
    const { id } = await submitJob(bench.service, FILE.succeeds);
    const onprogress = (_tick: Progress) => clock.advance(20 * STAGE_MS);
    const { structured } = await client.callTool("get_job", { jobId: id, waitSeconds: 20 }, { onprogress });
    expect(structured).toMatchObject({ data: { id, state: "SUCCEEDED" } });
  });

  test("cancelling ends the wait and the reading, not the job", async () => {
    const client = await clientForTest(era);
    const { id: left } = await submitJob(bench.service, FILE.succeeds);
    const { id: next } = await submitJob(bench.service, FILE.succeeds);
    const abort = new AbortController();
    const options = { signal: abort.signal, onprogress: () => abort.abort() };
    await expect(client.callTool("get_job", { jobId: left, waitSeconds: 40 }, options)).rejects.toThrow();
    await client.callTool("get_job", { jobId: next, waitSeconds: 1 });
    const before = await bench.requestsAbout("getMicJob", left);
    await client.callTool("get_job", { jobId: next, waitSeconds: 1 });
    expect(await bench.requestsAbout("getMicJob", left)).toBe(before);
    expect(await bench.requestsAbout("cancelMicJob", left)).toBe(0);
  });

  test("a job's moves are told until nobody listens any more, whichever instance was asked", async () => {
    const client = await clientForTest(era);
    const { id } = await submitJob(bench.service, FILE.succeeds);
    const uri = `mic://jobs/${id}`;
    await client.listen(uri);
    const heard = () => client.updates.filter((each) => each === uri).length;
    await vi.waitFor(async () => expect(await bench.requestsAbout("getMicJob", id)).toBeGreaterThanOrEqual(2), soon);
    expect(heard()).toBe(0);
    clock.advance(2 * STAGE_MS);
    await vi.waitFor(() => expect(heard()).toBe(1), soon);
    await client.stopListening(uri);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const before = await bench.requestsAbout("getMicJob", id);
    clock.advance(4 * STAGE_MS);
    await new Promise((resolve) => setTimeout(resolve, 2_200));
    expect(await bench.requestsAbout("getMicJob", id)).toBe(before);
    expect(heard()).toBe(1);
  });

  test("what moved while there was no stream is told when there is one again", async () => {
    const client = await clientForTest(era);
    const { id } = await submitJob(bench.service, FILE.succeeds);
    const uri = `mic://jobs/${id}`;
    await client.listen(uri);
    await vi.waitFor(async () => expect(await bench.requestsAbout("getMicJob", id)).toBeGreaterThanOrEqual(2), soon);
    // The client comes again for a stream, and gets it at either.
    for (const instance of [bench.one, bench.other]) instance.endStreams();
    clock.advance(2 * STAGE_MS);
    await vi.waitFor(() => expect(client.updates).toEqual([uri]), soon);
    // Nobody knows whether a stream that ends so soon has brought it.
    for (const instance of [bench.one, bench.other]) instance.endStreams();
    await vi.waitFor(() => expect(client.updates).toEqual([uri, uri]), soon);
  });

  test("what it subscribes to while instances do not hear each other is watched once they do", async () => {
    const client = await clientForTest(era);
    const { id } = await submitJob(bench.service, FILE.succeeds);
    const uri = `mic://jobs/${id}`;
    bench.notices.lose();
    // Each instance is asked, and the one that has the stream hears of it.
    const { id: before } = await submitJob(bench.service, FILE.succeeds);
    await client.listen(uri, `mic://jobs/${before}`);
    bench.notices.find();
    for (const each of [id, before])
      await vi.waitFor(
        async () => expect(await bench.requestsAbout("getMicJob", each)).toBeGreaterThanOrEqual(2),
        soon,
      );
    clock.advance(2 * STAGE_MS);
    await vi.waitFor(() => expect(client.updates).toContain(uri), soon);
  });

  test("what is not there is not listened to", async () => {
    const client = await clientForTest(era);
    for (const uri of ["mic://jobs/00000000-0000-4000-8000-000000000000", "mic://geography/states"])
      await expect(client.listen(uri)).rejects.toThrow();
  });
});

const elicitation = { elicitation: { form: {} } };
const isQuestion = ({ method }: { method?: string | undefined }) => method === "elicitation/create";

async function askedForTest() {
  const { id: jobId } = await submitJob(bench.service, FILE.succeeds);
  const session = await legacySpeaker(bench.one.url, elicitation);
  const calling = session.call(1, "cancel_job", { jobId, reason: "not needed" });
  const question = await calling.message(isQuestion);
  const reply = { jsonrpc: "2.0", id: question.id, result: { action: "accept", content: {} } };
  return { jobId, session, calling, question, reply };
}

describe("an answer of the person", () => {
  test("may come to either instance, once", async () => {
    for (const at of [bench.one, bench.other]) {
      const { jobId, session, calling, question, reply } = await askedForTest();
      expect(question.id).toMatch(/^q-/);
      expect((await post(at.url, reply, session.headers).answer).status).toBe(202);
      expect(await resultOf(calling, 1)).toMatchObject({ structuredContent: { action: { replayed: false } } });
      expect((await post(at.url, reply, session.headers).answer).status).toBe(202);
      expect(await bench.requestsAbout("cancelMicJob", jobId)).toBe(1);
    }
  });

  test("of another session, of another caller, or to another question, is nobody's", async () => {
    const { jobId, session, calling, reply } = await askedForTest();
    const stranger = await legacySpeaker(bench.url, elicitation);
    for (const at of [bench.one, bench.other]) {
      expect((await post(at.url, reply, stranger.headers).answer).status).toBe(202);
      expect((await post(at.url, reply, { ...session.headers, [CALLER]: "two" }).answer).status).toBe(404);
      for (const id of [0, 1, "q-1", "__proto__"])
        expect((await post(at.url, { ...reply, id }, session.headers).answer).status).toBe(202);
    }
    expect(await bench.requestsAbout("cancelMicJob", jobId)).toBe(0);
    const decline = { ...reply, result: { action: "decline" } };
    expect((await post(bench.other.url, decline, session.headers).answer).status).toBe(202);
    expect(await resultOf(calling, 1)).toMatchObject({ isError: true });
    expect(await bench.requestsAbout("cancelMicJob", jobId)).toBe(0);
  });

  test("that says more than a notice holds arrives all the same", async () => {
    const { session, calling, reply } = await askedForTest();
    const long = { ...reply, result: { action: "accept", content: { note: "x".repeat(20_000) } } };
    expect((await post(bench.other.url, long, session.headers).answer).status).toBe(202);
    expect(await resultOf(calling, 1)).toMatchObject({ structuredContent: { action: { replayed: false } } });
  });

  test("is found even where the notice of it is lost", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { session, calling, reply } = await askedForTest();
    bench.notices.lose();
    expect((await post(bench.other.url, reply, session.headers).answer).status).toBe(202);
    vi.advanceTimersByTime(10_000);
    expect(await resultOf(calling, 1)).toMatchObject({ structuredContent: { action: { replayed: false } } });
  });

  test("may come with other messages in one batch", async () => {
    const { session, calling, reply } = await askedForTest();
    const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
    const { messages } = await post(bench.other.url, [reply, ping], session.headers).answer;
    expect(messages).toEqual([{ jsonrpc: "2.0", id: 2, result: {} }]);
    expect(await resultOf(calling, 1)).toMatchObject({ structuredContent: { action: { replayed: false } } });
  });
});

test("a call that is cancelled while the person is asked takes its question back", async () => {
  const { jobId, session, calling, question } = await askedForTest();
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
  expect((await post(bench.other.url, cancelled, session.headers).answer).status).toBe(202);
  const { messages } = await calling.answer;
  expect(messages).toContainEqual(
    expect.objectContaining({
      method: "notifications/cancelled",
      params: expect.objectContaining({ requestId: question.id }),
    }),
  );
  expect(messages.filter(({ id }) => id === 1)).toEqual([]);
  expect(await bench.requestsAbout("cancelMicJob", jobId)).toBe(0);
});
