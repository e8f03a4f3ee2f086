// Two instances in processes of their own, which share a journal in PostgreSQL. One is killed in the middle of a call of an older
// client: the same call at the other one is the same action.
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { createJob, enveloped, job, micEnveloped } from "../contract/samples.ts";
import { legacySpeaker, resultOf } from "../mcp/http/raw.ts";
import { launch } from "../mcp/stdio/child.ts";
import { stubEnv } from "../service/client.ts";
import { startForwarder } from "../support/forwarder.ts";
import { readResult } from "../support/results.ts";
import { answer, neverAnswer, stubForFile } from "../support/stub.ts";
import { describeWithPostgres } from "./postgres.ts";

const PROGRAM = fileURLToPath(new URL("older-instance.ts", import.meta.url));
const TSX = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const Started = z.object({ url: z.url() });

const stubOf = stubForFile();

async function startForTest(env: Readonly<Record<string, string>>) {
  const program = launch([], { env, entry: PROGRAM, node: ["--import", TSX] });
  async function kill(): Promise<void> {
    program.process.kill("SIGKILL");
    await program.exit;
  }
  onTestFinished(kill);
  return { url: Started.parse(await program.next()).url, kill };
}

describeWithPostgres("two processes", (postgres) => {
  test("send a call once more under its key when the first of them was killed, without a new initialize", async () => {
    const env = { ...stubEnv(stubOf()), MIC_JOURNAL_URL: await postgres().database() };
    const [one, other] = await Promise.all([startForTest(env), startForTest(env)]);
    const urls = [one.url];
    const forwarder = await startForwarder(urls);
    onTestFinished(forwarder.close);
    const client = await legacySpeaker(forwarder.url);
    stubOf().expect(neverAnswer);
    const lost = client.call(1, "submit_job", createJob);
    await expect.poll(() => stubOf().requests.length).toBe(1);
    urls.splice(0, 1, other.url);
    await one.kill();
    await expect(lost.answer).rejects.toThrow();
    stubOf().respond(({ method }) => (method === "GET" ? answer(200, enveloped(job)) : answer(202, micEnveloped(job))));
    const { structured, action } = readResult(await resultOf(client.call(2, "submit_job", createJob), 2));
    expect(structured).toMatchObject({ data: { id: job.id } });
    const posts = stubOf().requests.filter(({ method }) => method === "POST");
    expect(posts.map(({ headers }) => headers["idempotency-key"])).toEqual([
      action?.idempotencyKey,
      action?.idempotencyKey,
    ]);
  });
});
