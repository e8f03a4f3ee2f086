// Two instances in processes of their own, which hear each other through PostgreSQL. One is killed in the middle of a session's work: the
// session goes on at the other, and what was done is done once.
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { createJob, enveloped, job, micEnveloped, operation } from "../contract/samples.ts";
import { get, legacySpeaker, type Message, post, resultOf, send } from "../mcp/http/raw.ts";
import { launch } from "../mcp/stdio/child.ts";
import { stubEnv } from "../service/client.ts";
import { connectHttp } from "../support/mcp.ts";
import { readResult } from "../support/results.ts";
import { answer, neverAnswer, stubForFile } from "../support/stub.ts";
import { describeWithPostgres } from "./postgres.ts";
import { startForwarder } from "./sessions/instances.ts";

const PROGRAM = fileURLToPath(new URL("sessions/program.ts", import.meta.url));
const TSX = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const Started = z.object({ url: z.url() });
const elicitation = { elicitation: { form: {} } };
const cancelJob = { jobId: "job-1", reason: "not needed" };
const uri = `mic://jobs/${job.id}`;

const stubOf = stubForFile();
const arrived = (count: number) => expect.poll(() => stubOf().requests.length).toBe(count);
const postsTo = (end: string) =>
  stubOf().requests.filter(({ method, target }) => method === "POST" && target.endsWith(end));
const answerAll = () =>
  stubOf().respond(({ method }) =>
    method === "GET" ? answer(200, enveloped(job)) : answer(202, micEnveloped(operation)),
  );

const isQuestion = ({ method }: Message) => method === "elicitation/create";
const accept = (id: unknown) => ({ jsonrpc: "2.0", id, result: { action: "accept", content: {} } });
const toolCall = (id: number, name: string, args: object) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args },
});

interface Killable {
  readonly url: string;
  kill(): Promise<void>;
}

async function start(env: Readonly<Record<string, string>>): Promise<Killable> {
  const program = launch([], { env, entry: PROGRAM, node: ["--import", TSX] });
  return {
    url: Started.parse(await program.next()).url,
    async kill() {
      program.process.kill("SIGKILL");
      await program.exit;
    },
  };
}

async function startBoth(database: string) {
  const env = { ...stubEnv(stubOf()), MIC_JOURNAL_URL: database };
  const [one, other] = await Promise.all([start(env), start(env)]);
  return {
    one,
    other,
    async kill() {
      await Promise.all([one.kill(), other.kill()]);
    },
  };
}
type Both = Awaited<ReturnType<typeof startBoth>>;

describeWithPostgres("two processes", (postgres) => {
  describe("hear each other", () => {
    let both: Both;
    beforeAll(async () => {
      both = await startBoth(await postgres().database());
    });
    afterAll(() => both.kill());

    test("the person's answer comes to the one that did not ask", async () => {
      answerAll();
      const { call, headers } = await legacySpeaker(both.one.url, elicitation);
      for (const id of [1, 2]) {
        const calling = call(id, "cancel_job", { ...cancelJob, idempotencyKey: `asked-at-one-${id}` });
        const question = await calling.message(isQuestion);
        expect((await post(both.other.url, accept(question.id), headers).answer).status).toBe(202);
        expect(await resultOf(calling, id)).toMatchObject({ structuredContent: { action: { attempts: 1 } } });
      }
      expect(postsTo("/cancellations")).toHaveLength(2);
    });

    test("a cancellation and the session's end come to the one that does not know the call", async () => {
      stubOf().respond(() => neverAnswer);
      const { call, headers } = await legacySpeaker(both.one.url);
      const [cancelled, ended] = [call(1, "get_job", { jobId: "job-1" }), call(2, "get_job", { jobId: "job-1" })];
      await arrived(2);
      const message = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
      expect((await post(both.other.url, message, headers).answer).status).toBe(202);
      expect((await cancelled.answer).messages).toEqual([]);
      expect((await send(both.other.url, { method: "DELETE", headers }).answer).status).toBe(204);
      expect((await ended.answer).messages.filter(({ result }) => result !== undefined)).toEqual([]);
      const ping = { jsonrpc: "2.0", id: 3, method: "ping" };
      for (const { url } of [both.one, both.other])
        await expect.poll(async () => (await post(url, ping, headers).answer).status).toBe(404);
    });

    test("a subscription comes to the one that has no stream, and is watched by the one that has it", async () => {
      let resourceVersion = 1;
      stubOf().respond(() => answer(200, enveloped({ ...job, resourceVersion })));
      const { headers } = await legacySpeaker(both.one.url);
      const stream = get(both.one.url, headers);
      const subscribe = { jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri } };
      expect((await post(both.other.url, subscribe, headers).answer).messages[0]?.result).toEqual({});
      // Looked at for the request, and for the stream.
      await expect.poll(() => stubOf().requests.length).toBeGreaterThanOrEqual(2);
      resourceVersion = 2;
      const { params } = await stream.message(({ method }) => method === "notifications/resources/updated");
      expect(params).toEqual({ uri });
      await stream.cut();
    });

    test("connections to PostgreSQL that break lose no answer", async () => {
      answerAll();
      const { call, headers } = await legacySpeaker(both.one.url, elicitation);
      const calling = call(1, "cancel_job", { ...cancelJob, idempotencyKey: "asked-before-the-break" });
      const question = await calling.message(isQuestion);
      const ours = "application_name LIKE 'mic-mcp%'";
      await postgres().run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${ours}`);
      await expect.poll(async () => (await post(both.other.url, accept(question.id), headers).answer).status).toBe(202);
      expect(await resultOf(calling, 1)).toMatchObject({ structuredContent: { action: { attempts: 1 } } });
    });
  });

  describe("one of which is killed", () => {
    async function bothForTest(): Promise<Both> {
      const both = await startBoth(await postgres().database());
      onTestFinished(both.kill);
      return both;
    }

    test("while the service and the person are asked: the same calls in the same session are the same work, done once", async () => {
      const { one, other } = await bothForTest();
      const { call, headers } = await legacySpeaker(one.url, elicitation);
      answerAll();
      const asking = call(1, "cancel_job", cancelJob);
      const question = await asking.message(isQuestion);
      stubOf().expect(neverAnswer);
      const sending = call(2, "submit_job", createJob);
      await expect.poll(() => postsTo("/jobs").length).toBe(1);
      await one.kill();
      for (const lost of [asking, sending]) await expect(lost.answer).rejects.toThrow();

      // The person's answer is for nobody: who asked has gone.
      expect((await post(other.url, accept(question.id), headers).answer).status).toBe(202);
      const again = post(other.url, toolCall(1, "cancel_job", cancelJob), headers);
      const asked = await again.message(isQuestion);
      expect(asked.id).not.toBe(question.id);
      expect(postsTo("/cancellations")).toEqual([]);
      expect((await post(other.url, accept(asked.id), headers).answer).status).toBe(202);
      expect(await resultOf(again, 1)).toMatchObject({ structuredContent: { action: { replayed: false } } });
      expect(postsTo("/cancellations")).toHaveLength(1);

      stubOf().expect(answer(202, micEnveloped(job)));
      const resent = post(other.url, toolCall(2, "submit_job", createJob), headers);
      const { structured, action } = readResult(await resultOf(resent, 2));
      expect(structured).toMatchObject({ data: { id: job.id } });
      expect(postsTo("/jobs").map((request) => request.headers["idempotency-key"])).toEqual([
        action?.idempotencyKey,
        action?.idempotencyKey,
      ]);
    });

    test("while clients listen: they hear of what moves from then on, and call as before", async () => {
      const { one, other } = await bothForTest();
      let resourceVersion = 1;
      stubOf().respond(() => answer(200, enveloped({ ...job, resourceVersion })));
      const urls = [one.url];
      const forwarder = await startForwarder(urls);
      const clients = await Promise.all(
        (["v1-client", "v2-legacy"] as const).map((era) => connectHttp(era, forwarder.url)),
      );
      onTestFinished(async () => {
        for (const client of clients) await client.close();
        forwarder.close();
      });
      for (const client of clients) await client.listen(uri);
      // For each: looked at for the request, and for the stream, which are one where they fall together.
      await expect.poll(() => stubOf().requests.length).toBeGreaterThanOrEqual(2);
      urls.splice(0, 1, other.url);
      await one.kill();
      resourceVersion = 2;
      for (const client of clients) {
        await expect.poll(() => client.updates).toContain(uri);
        const { structured } = await client.callTool("get_job", { jobId: job.id });
        expect(structured).toMatchObject({ data: { id: job.id } });
      }
    });
  });
});
