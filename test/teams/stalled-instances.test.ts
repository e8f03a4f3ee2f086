// Row 5 in a small size. An instance is stopped during an action for longer than its lease, or disconnected from the database. It
// resumes after another instance has taken over the action, or with a call that it had not read before. Processes and PostgreSQL are
// real.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { stubEnv } from "../api-client/client.ts";
import { createJob, enveloped, job } from "../contract/samples.ts";
import { createModernClient, resultOf } from "../mcp/http/raw-client.ts";
import { createLatch } from "../support/latch.ts";
import { countExecutions, LOAD_OPERATION_ID } from "../support/load.ts";
import { queryPostgres } from "../support/postgres.ts";
import { type CallResult, readResult } from "../support/results.ts";
import { startServer } from "../support/server.ts";
import { answer, holdUntil, stubForTest } from "../support/stub.ts";
import { linuxMissing, testUnless } from "../support/unless.ts";
import { describeWithDeployment, describeWithPostgres } from "./services.ts";

describeWithPostgres("a stalled instance", (postgres) => {
  /** Pauses the first instance, which uses the database as `role`, during its request until the second one has a result. */
  async function expectTakeOver(role: string, pause: (pid: number) => unknown, resume: (pid: number) => unknown) {
    const stub = await stubForTest();
    const url = await postgres().createDatabase();
    const start = (journal: string) => startServer({ env: { ...stubEnv(stub), MIC_JOURNAL_URL: journal } });
    const [first, second] = [await start(url.replace("mic@", `${role}@`)), await start(url)];
    const { released, release } = createLatch();
    const accepted = answer(202, enveloped(job));
    stub.respond(() => (stub.requests.length === 1 ? holdUntil(released, accepted) : accepted));
    first.send("submit_job", createJob, 7);
    await expect.poll(() => stub.requests.length, { timeout: 20_000 }).toBe(1);
    await pause(first.pid);
    const callResult = await second.call("submit_job", createJob);
    const readActions = () => queryPostgres(url, "SELECT owner, state, attempts FROM actions");
    const actions = await readActions();
    release();
    await resume(first.pid);
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
    expect(await readActions()).toEqual(actions);
    expect(actions).toMatchObject([{ state: "succeeded" }]);
  }

  test("a stalled instance's action is taken over under the same key, and the instance changes nothing when it resumes", async () => {
    const { run } = postgres();
    await run("CREATE ROLE stalled SUPERUSER LOGIN");
    async function disconnect() {
      await run("ALTER ROLE stalled NOLOGIN");
      await run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'stalled'");
    }
    await Promise.all([
      expectTakeOver(
        "mic",
        (pid) => process.kill(pid, "SIGSTOP"),
        (pid) => process.kill(pid, "SIGCONT"),
      ),
      expectTakeOver("stalled", disconnect, () => run("ALTER ROLE stalled LOGIN")),
    ]);
  }, 180_000);
});

/** In milliseconds: longer than any response takes. */
const ANSWER_TIMEOUT_MS = 1_000;

describeWithDeployment("an instance that has not read a call yet", { instances: 2, teams: 1 }, (deployment) => {
  testUnless(
    linuxMissing,
    "an instance that resumes repeats no call that another instance has run meanwhile and the agent has used",
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
    120_000,
  );
});
