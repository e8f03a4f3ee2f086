// Two instances in processes of their own on one PostgreSQL, one of which is killed in the middle of a session's work: the session goes
// on at the other, and what was done is done once.
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod/v4";
import { createJob, enveloped, job, micEnveloped, operation } from "../contract/samples.ts";
import { legacySpeaker, post, resultOf } from "../mcp/http/raw.ts";
import { launch } from "../mcp/stdio/child.ts";
import { stubEnv } from "../service/client.ts";
import { connectHttp } from "../support/mcp.ts";
import { type PostgresServer, postgresMissing, startPostgres } from "../support/postgres.ts";
import { readResult } from "../support/results.ts";
import { answer, neverAnswer, stubForFile } from "../support/stub.ts";
import { startForwarder } from "./sessions/instances.ts";

const PROGRAM = fileURLToPath(new URL("sessions/program.ts", import.meta.url));
const TSX = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const Started = z.object({ url: z.url() });
const elicitation = { elicitation: { form: {} } };
const cancelJob = { jobId: "job-1", reason: "not needed" };

const stubOf = stubForFile();
const arrived = (count: number) => expect.poll(() => stubOf().requests.length).toBe(count);
const posts = () => stubOf().requests.filter(({ method }) => method === "POST");
const keys = () => new Set(posts().map(({ headers }) => headers["idempotency-key"]));

interface Killable {
  readonly url: string;
  kill(): Promise<void>;
}

async function startProgram(env: Readonly<Record<string, string>>): Promise<Killable> {
  const program = launch([], { env, entry: PROGRAM, node: ["--import", TSX] });
  async function kill(): Promise<void> {
    program.process.kill("SIGKILL");
    await program.exit;
  }
  onTestFinished(kill);
  return { url: Started.parse(await program.next()).url, kill };
}

describe.skipIf(postgresMissing !== undefined)(
  `an instance is killed${postgresMissing === undefined ? "" : ` (skipped: ${postgresMissing})`}`,
  () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server.stop());

    async function startBoth() {
      const env = { ...stubEnv(stubOf()), MIC_JOURNAL_URL: await server.database() };
      // One makes the tables.
      const one = await startProgram(env);
      return { one, other: await startProgram(env) };
    }

    test("while the service is asked: the same call in the same session is the same action", async () => {
      const { one, other } = await startBoth();
      const { call, headers } = await legacySpeaker(one.url);
      stubOf().expect(neverAnswer);
      const lost = call(1, "submit_job", createJob);
      await arrived(1);
      await one.kill();
      await expect(lost.answer).rejects.toThrow();
      stubOf().expect(answer(202, micEnveloped(job)));
      const params = { name: "submit_job", arguments: createJob };
      const again = post(other.url, { jsonrpc: "2.0", id: 1, method: "tools/call", params }, headers);
      const { structured, action } = readResult(await resultOf(again, 1));
      expect(structured).toMatchObject({ data: { id: job.id } });
      expect(keys()).toEqual(new Set([action?.idempotencyKey]));
      expect(posts()).toHaveLength(2);
    });

    test("while the person is asked: the answer is for nobody, and the same call asks again", async () => {
      const { one, other } = await startBoth();
      stubOf().respond(({ method }) =>
        method === "GET" ? answer(200, enveloped(job)) : answer(202, micEnveloped(operation)),
      );
      const { call, headers } = await legacySpeaker(one.url, elicitation);
      const lost = call(1, "cancel_job", cancelJob);
      const first = await lost.message(({ method }) => method === "elicitation/create");
      await one.kill();
      const reply = (id: unknown) => ({ jsonrpc: "2.0", id, result: { action: "accept", content: {} } });
      expect((await post(other.url, reply(first.id), headers).answer).status).toBe(202);
      expect(posts()).toEqual([]);
      const params = { name: "cancel_job", arguments: cancelJob };
      const again = post(other.url, { jsonrpc: "2.0", id: 2, method: "tools/call", params }, headers);
      const second = await again.message(({ method }) => method === "elicitation/create");
      expect(second.id).not.toBe(first.id);
      expect((await post(other.url, reply(second.id), headers).answer).status).toBe(202);
      expect(await resultOf(again, 2)).toMatchObject({ structuredContent: { action: { replayed: false } } });
      expect(posts()).toHaveLength(1);
    });

    test.each(["v1-client", "v2-legacy"] as const)(
      "while %s listens: it hears of what moves from then on, and calls as before",
      async (era) => {
        const { one, other } = await startBoth();
        let resourceVersion = 1;
        stubOf().respond(() => answer(200, enveloped({ ...job, resourceVersion })));
        const urls = [one.url];
        const forwarder = await startForwarder(urls);
        const client = await connectHttp(era, forwarder.url);
        onTestFinished(async () => {
          await client.close();
          forwarder.close();
        });
        const uri = `mic://jobs/${job.id}`;
        await client.listen(uri);
        // Looked at for the request, and for the stream.
        await expect.poll(() => stubOf().requests.length).toBeGreaterThanOrEqual(2);
        urls.splice(0, 1, other.url);
        await one.kill();
        resourceVersion = 2;
        await vi.waitFor(() => expect(client.updates).toContain(uri), { timeout: 30_000, interval: 100 });
        const { structured } = await client.callTool("get_job", { jobId: job.id });
        expect(structured).toMatchObject({ data: { id: job.id } });
      },
    );
  },
);
