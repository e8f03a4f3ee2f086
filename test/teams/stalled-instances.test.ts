// Row 5 in a small size. An instance is stopped during an action for longer than its lease, or disconnected from the database. It
// resumes after another instance has taken over the action, or with a call that it had not read before. Processes, PostgreSQL and
// the connections are real.
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { stubEnv } from "../api-client/client.ts";
import { createJob, enveloped, job } from "../contract/samples.ts";
import { createModernClient, resultOf } from "../mcp/http/raw-client.ts";
import { listeningUrl } from "../support/free-port.ts";
import { createLatch } from "../support/latch.ts";
import { countExecutions, LOAD_OPERATION_ID } from "../support/load.ts";
import { queryPostgres } from "../support/postgres.ts";
import { type CallResult, readResult } from "../support/results.ts";
import { type Server, startServer } from "../support/server.ts";
import { answer, holdUntil, stubForTest } from "../support/stub.ts";
import { linuxMissing, testUnless } from "../support/unless.ts";
import { describeWithDeployment, describeWithPostgres } from "./services.ts";

/** Starts a proxy to a server until the running test ends; while it is cut, it discards all bytes in both directions. */
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
      // The bytes sent meanwhile are lost, so those connections cannot be used again.
      if (!isCutNow) for (const socket of sockets) socket.destroy();
    },
  };
}

describeWithPostgres("a stalled instance", (postgres) => {
  /** Pauses the first instance during its request, and resumes it after the second one has returned a result. */
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
    await expect.poll(() => stub.requests.length).toBe(1);
    const resume = pause(first, journalProxy.cut);
    const callResult = await second.call("submit_job", createJob);
    const [owner] = await queryPostgres(url, "SELECT owner, state, attempts FROM actions");
    release();
    resume();
    return { stub, url, first, second, callResult, owner };
  }

  test("a stalled instance's action is taken over under the same key, and the instance changes nothing when it resumes", async () => {
    const stopped = takeOverFrom(({ pid }) => {
      process.kill(pid, "SIGSTOP");
      return () => void process.kill(pid, "SIGCONT");
    });
    const disconnected = takeOverFrom((_first, cut) => {
      cut(true);
      return () => undefined;
    });
    for (const { stub, url, first, second, callResult, owner } of await Promise.all([stopped, disconnected])) {
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
  });
});

const ANSWER_TIMEOUT_MS = 1_000;

describeWithDeployment("an instance that has not read a call yet", { instances: 2, teams: 1 }, (deployment) => {
  testUnless(
    linuxMissing,
    "an instance that resumes after a stall does not repeat a call that another instance has run",
    async () => {
      const { url, emulator, teams, fleet, issueToken } = deployment();
      const before = await countExecutions(emulator.baseUrl, LOAD_OPERATION_ID);
      const [stoppedInstance] = fleet.instances;
      const fileIds = [...(teams[0]?.client.fileIds ?? [])];
      const headers = { authorization: `Bearer ${await issueToken("ann", teams)}`, host: new URL(url).host };
      const balancerClient = createModernClient(url, {}, headers);
      const directClient = createModernClient(`${stoppedInstance?.url}/mcp`, {}, headers);
      let id = 0;
      let callResult = 0;
      let disconnectCount = 0;
      /** Calls as an agent does whose host waits at most ANSWER_TIMEOUT_MS: again until there is a response. */
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
        // The agent uses the created input's id, which shows that the response has arrived.
        const read = await callUntilAnswered("get_input", { inputId: Object(registered.structured).data.id });
        expect(read.error, read.text).toBeUndefined();
      }

      stoppedInstance?.signal("SIGSTOP");
      // The balancer sends one of two concurrent calls to the stopped instance.
      await Promise.all(fileIds.splice(0, 2).map(registerUntilAnswered));
      expect(disconnectCount).toBeGreaterThan(0);
      stoppedInstance?.signal("SIGCONT");
      // The instance reads the calls received while it was stopped before new ones, and any call it had begun ends soon.
      for (const referenceId of fileIds.slice(0, 3)) {
        id += 1;
        await resultOf(directClient.call(id, "register_input", { inputKind: "M4_FILE", referenceId }), id);
        callResult += 1;
      }
      await sleep(ANSWER_TIMEOUT_MS);
      expect(await countExecutions(emulator.baseUrl, LOAD_OPERATION_ID)).toBe(before + callResult);
    },
  );
});
