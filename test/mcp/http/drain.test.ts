// Tests the shutdown over HTTP: calls in flight are answered, streams end, new requests are refused, unfinished actions stay.
import { describe, expect, test } from "vitest";
import { stubEnv } from "../../api-client/client.ts";
import { createJob, enveloped, job, micEnveloped } from "../../contract/samples.ts";
import { createLatch } from "../../support/latch.ts";
import { readResult } from "../../support/results.ts";
import { answer, holdUntil, stubForFile } from "../../support/stub.ts";
import { folderForTest } from "../../support/temporary-folder.ts";
import { posixMissing, testUnless } from "../../support/unless.ts";
import { serveForTest } from "./in-process-server.ts";
import {
  clientFactories,
  connectLegacyClient,
  createModernClient,
  get,
  initializeMessage,
  post,
  resultOf,
  send,
} from "./raw-client.ts";
import { startHttp } from "./server.ts";

const stubOf = stubForFile();

const envWithStateDir = async () => ({ ...stubEnv(stubOf()), MIC_STATE_DIR: await folderForTest() });

const accepted = (id: string) => answer(202, micEnveloped({ ...job, id }));
const keys = () =>
  stubOf().requests.flatMap(({ method, headers }) => (method === "POST" ? [headers["idempotency-key"]] : []));
const expectRequestCount = (count: number) => expect.poll(() => stubOf().requests.length).toBe(count);
const health = (url: string) => get(new URL("/healthz", url).href).answer;

describe.each(["legacy", "modern"] as const)("%s", (revision) => {
  /** Starts a call that the API answers when `released` resolves, then sends a signal, and waits until the server drains. */
  async function signalDuringCall(signal: NodeJS.Signals, released: Promise<unknown>) {
    const env = await envWithStateDir();
    const server = await startHttp({ env });
    const client = await clientFactories[revision](server.url);
    stubOf().expect(holdUntil(released, accepted("job-1")));
    const call = client.call(1, "submit_job", createJob);
    await expectRequestCount(1);
    server.process.kill(signal);
    await expect.poll(async () => (await health(server.url)).status).toBe(503);
    return { server, client, call, env };
  }

  async function callAgain(env: Readonly<Record<string, string>>) {
    stubOf().respond(() => answer(200, enveloped({ ...job, id: "job-1" })));
    const next = await clientFactories[revision]((await startHttp({ env })).url);
    return readResult(await resultOf(next.call(1, "submit_job", createJob), 1));
  }

  testUnless(
    posixMissing,
    "SIGTERM ends the process with 0 after the call in flight is answered; the next process replays the call",
    async () => {
      const { released, release } = createLatch();
      const { server, client, call, env } = await signalDuringCall("SIGTERM", released);
      expect((await health(server.url)).body).toContain("shutting_down");
      const late = await client.call(2, "submit_job", createJob).answer;
      expect(late).toMatchObject({ status: 503, headers: { connection: "close" } });
      expect(late.messages[0]).toMatchObject({ id: 2, error: { message: expect.stringContaining("shutting down") } });
      release();
      expect(readResult(await resultOf(call, 1)).structured).toMatchObject({ data: { id: "job-1" } });
      expect(await server.exit).toEqual({ code: 0, signal: null });
      const replay = await callAgain(env);
      expect(replay.structured).toMatchObject({ data: { id: "job-1" }, action: { replayed: true } });
      expect(keys()).toHaveLength(1);
    },
  );

  testUnless(
    posixMissing,
    "a second signal ends the process at once; an identical call to the next process reuses the key",
    async () => {
      const { server, call, env } = await signalDuringCall("SIGINT", new Promise(() => undefined));
      server.process.kill("SIGINT");
      expect(await server.exit).toEqual({ code: 0, signal: null });
      await expect(resultOf(call, 1)).rejects.toThrow();
      stubOf().expect(accepted("job-1"));
      expect((await callAgain(env)).structured).toMatchObject({ data: { id: "job-1" } });
      expect(new Set(keys()).size).toBe(1);
    },
  );
});

testUnless(posixMissing, "streams and subscriptions end when the server shuts down, and do not delay it", async () => {
  stubOf().respond(() => answer(200, enveloped(job)));
  const server = await startHttp({ env: await envWithStateDir() });
  const { headers } = await connectLegacyClient(server.url);
  const stream = get(server.url, headers);
  const uri = `mic://jobs/${job.id}`;
  const notifications = { resourceSubscriptions: [uri, "mic://actions"] };
  const listening = createModernClient(server.url).request(5, "subscriptions/listen", { notifications });
  const acknowledged = await listening.message(({ method }) => method === "notifications/subscriptions/acknowledged");
  expect(acknowledged.params?.["notifications"]).toEqual({ resourceSubscriptions: [uri] });
  server.process.kill("SIGTERM");
  expect((await stream.answer).status).toBe(200);
  expect(await resultOf(listening, 5)).toMatchObject({ resultType: "complete" });
  expect(await server.exit).toEqual({ code: 0, signal: null });
});

test("during the shutdown, calls in flight can be canceled and answered, and sessions can be ended", async () => {
  const { url, begunIds, drain, finished, release } = await serveForTest();
  const [one, other] = [await connectLegacyClient(url), await connectLegacyClient(url)];
  const cancelled = one.call(1, "wait", {});
  const kept = other.call(2, "wait", {});
  await expect.poll(() => begunIds.length).toBe(2);
  const drained = drain(5_000, new AbortController().signal);
  expect((await post(url, initializeMessage()).answer).status).toBe(503);
  expect((await get(url, one.headers).answer).status).toBe(503);
  expect((await one.notify("notifications/cancelled", { requestId: 1 })).status).toBe(202);
  expect((await send(url, { method: "DELETE", headers: one.headers }).answer).status).toBe(200);
  expect((await cancelled.answer).messages).toEqual([]);
  release();
  expect(await resultOf(kept, 2)).toMatchObject({ content: [] });
  await drained;
  expect(finished).toEqual([2]);
  await expect(health(url)).rejects.toThrow();
});

test("calls that exceed the shutdown's time limit are aborted", async () => {
  const { url, begunIds, drain, finished } = await serveForTest();
  const calls = [(await connectLegacyClient(url)).call(1, "wait", {}), createModernClient(url).call(2, "wait", {})];
  await expect.poll(() => begunIds.length).toBe(2);
  await drain(100, new AbortController().signal);
  for (const call of calls) await expect(resultOf(call, 1)).rejects.toThrow();
  expect(finished).toEqual([]);
});
