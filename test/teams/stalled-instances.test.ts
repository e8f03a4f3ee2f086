// Trial 5 in small: an instance is stopped in the middle of an action for longer than its lease, or cut off from the database, and goes on
// when another one has taken the action up; or with a call that it has not even read. Processes, PostgreSQL and the way between them are
// real.

import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { stubEnv } from "../api-client/client.ts";
import { createJob, enveloped, job } from "../contract/samples.ts";
import { connectLegacyClient, createModernClient, post, resultOf, type Sent } from "../mcp/http/raw-client.ts";
import { deploymentMissing, startDeployment } from "../support/deployment.ts";
import { listeningUrl } from "../support/free-port.ts";
import { createLatch } from "../support/latch.ts";
import { countExecutions, LOAD_OPERATION_ID } from "../support/load.ts";
import { queryPostgres } from "../support/postgres.ts";
import { type CallResult, readResult } from "../support/results.ts";
import { type Server, startServer } from "../support/server.ts";
import { answer, holdUntil, stubForTest } from "../support/stub.ts";
import { describeWithPostgres } from "./services.ts";

const isLinux = process.platform === "linux";

/** The way to a server, which can swallow everything and give nothing back; for the running test alone. */
async function startProxy(url: string) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let isCut = false;
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes) => isCut || to.write(bytes));
      from.on("error", () => undefined);
      from.on("close", () => isCut || to.destroy());
    }
  });
  const proxyUrl = new URL(url);
  proxyUrl.port = new URL(await listeningUrl(proxy)).port;
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  return {
    url: proxyUrl.href,
    cut(isCutNow: boolean): void {
      isCut = isCutNow;
      // What was said meanwhile is lost: those connections are of no use.
      if (!isCutNow) for (const socket of sockets) socket.destroy();
    },
  };
}

describeWithPostgres("an instance that stands still", (postgres) => {
  /** The first instance is made to stand still with its request on the way, and goes on once the second has been told. */
  async function takeOverFrom(pause: (first: Server, cut: (isCutNow: boolean) => void) => () => void) {
    const stub = await stubForTest();
    const url = await postgres().createDatabase();
    const journalProxy = await startProxy(url);
    const start = (journal: string) => startServer({ env: { ...stubEnv(stub), MIC_JOURNAL_URL: journal } });
    const [first, second] = [await start(journalProxy.url), await start(url)];
    const { released, release } = createLatch();
    const accepted = answer(202, enveloped(job));
    stub.respond(() => (stub.requests.length === 1 ? holdUntil(released, accepted) : accepted));
    first.send("submit_job", createJob, 7);
    await expect.poll(() => stub.requests.length, { timeout: 20_000 }).toBe(1);
    const resume = pause(first, journalProxy.cut);
    const callResult = await second.call("submit_job", createJob);
    const [owner] = await queryPostgres(url, "SELECT owner, state, attempts FROM actions");
    release();
    resume();
    return { stub, url, first, second, callResult, owner };
  }

  const takeOverFromStopped = () =>
    takeOverFrom((first) => {
      process.kill(first.pid, "SIGSTOP");
      return () => void process.kill(first.pid, "SIGCONT");
    });
  const takeOverFromDisconnected = () =>
    takeOverFrom((_first, cut) => {
      cut(true);
      return () => undefined;
    });

  test("is followed when its lease has stood still, under the same key, and changes nothing when it goes on", async () => {
    const [one, other] = await Promise.all([takeOverFromStopped(), takeOverFromDisconnected()]);
    for (const { stub, url, first, second, callResult, owner } of [one, other]) {
      expect(callResult.error, callResult.text).toBeUndefined();
      const { idempotencyKey } = callResult.action ?? {};
      expect(callResult.action).toMatchObject({ replayed: false });
      const lateAnswer = await first.waitForResult(7);
      expect(lateAnswer.error, lateAnswer.text).toBeUndefined();
      expect(lateAnswer.action).toMatchObject({ idempotencyKey });
      const again = await second.call("submit_job", createJob);
      expect(again.action).toMatchObject({ idempotencyKey, replayed: true });
      const posts = stub.requests.filter(({ method }) => method === "POST");
      expect(new Set(posts.map(({ headers }) => headers["idempotency-key"]))).toEqual(new Set([idempotencyKey]));
      expect(await queryPostgres(url, "SELECT owner, state, attempts FROM actions")).toEqual([owner]);
      expect(owner).toMatchObject({ state: "succeeded" });
    }
  }, 180_000);
});

/** Longer than any answer takes. */
const ANSWER_TIMEOUT_MS = 1_000;

/** Of one client: through the balancer, and past it. */
async function createClients(revision: "legacy" | "modern", url: string, instanceUrl: string, headers: Headers) {
  if (revision === "modern")
    return {
      balancerClient: createModernClient(url, {}, headers),
      directClient: createModernClient(instanceUrl, {}, headers),
    };
  const balancerClient = await connectLegacyClient(url, {}, headers);
  return { balancerClient, directClient: { call: callIn(instanceUrl, balancerClient.headers) } };
}
type Headers = Readonly<Record<string, string>>;

const callIn =
  (url: string, headers: Headers) =>
  (id: number, name: string, args: object): Sent =>
    post(url, { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } }, headers);

describe.skipIf(deploymentMissing !== undefined || !isLinux)(
  `an instance that has not read a call yet${deploymentMissing === undefined ? "" : ` (skipped: ${deploymentMissing})`}`,
  { timeout: 120_000 },
  () => {
    test.each(["legacy", "modern"] as const)(
      "runs nothing a second time that another instance has run meanwhile, and that the agent has used (%s)",
      async (revision) => {
        const deployment = await startDeployment({ instances: 2, teams: 1 });
        onTestFinished(deployment.stop);
        const { url, emulator, teams, fleet } = deployment;
        const [stoppedInstance] = fleet.instances;
        const fileIds = [...(teams[0]?.client.fileIds ?? [])];
        const headers = {
          authorization: `Bearer ${await deployment.issueToken("ann", teams)}`,
          host: new URL(url).host,
        };
        const { balancerClient, directClient } = await createClients(
          revision,
          url,
          `${stoppedInstance?.url}/mcp`,
          headers,
        );
        let id = 0;
        let callResult = 0;
        let disconnectCount = 0;
        /** As an agent does it whose host waits no longer than that: called until there is an answer. */
        async function callUntilAnswered(name: string, args: object, onDisconnect = () => {}): Promise<CallResult> {
          for (;;) {
            id += 1;
            const sent = balancerClient.call(id, name, args);
            const answer = await Promise.race([resultOf(sent, id), sleep(ANSWER_TIMEOUT_MS)]);
            if (answer !== undefined) return readResult(answer);
            onDisconnect();
            await sent.cut();
          }
        }
        async function registerUntilAnswered(referenceId: string): Promise<void> {
          const registered = await callUntilAnswered("register_input", { inputKind: "M4_FILE", referenceId }, () => {
            disconnectCount += 1;
          });
          expect(registered.error, registered.text).toBeUndefined();
          callResult += 1;
          // The agent names what was made: it has heard of it.
          const read = await callUntilAnswered("get_input", { inputId: Object(registered.structured).data.id });
          expect(read.error, read.text).toBeUndefined();
        }

        stoppedInstance?.signal("SIGSTOP");
        // Two at once: the balancer gives one of them to the instance that stands still.
        await Promise.all(fileIds.splice(0, 2).map(registerUntilAnswered));
        expect(disconnectCount).toBeGreaterThan(0);
        stoppedInstance?.signal("SIGCONT");
        // What it had not read comes before whatever comes now, and what was begun of it is done soon.
        for (const referenceId of fileIds.slice(0, 3)) {
          id += 1;
          await resultOf(directClient.call(id, "register_input", { inputKind: "M4_FILE", referenceId }), id);
          callResult += 1;
        }
        await sleep(ANSWER_TIMEOUT_MS);
        expect(await countExecutions(emulator.baseUrl, LOAD_OPERATION_ID)).toBe(callResult);
      },
    );
  },
);
