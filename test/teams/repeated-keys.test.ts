// Tests that the API recognizes a repeated key after its journal row was lost, whatever happened to the keys and the servers meanwhile.
import { expect, test } from "vitest";
import { rotateKeys } from "../../src/teams/commands/teams.ts";
import { createEncryption, readSecretKeys } from "../../src/teams/encryption.ts";
import { createSecrets } from "../../src/teams/tenancy/secrets.ts";
import { createTeams } from "../../src/teams/tenancy/teams.ts";
import { createUpstreamSecret } from "../../src/teams/tenancy/upstream-secret.ts";
import { Service } from "../emulator/service.ts";
import { FILE } from "../emulator/work.ts";
import { jobArguments } from "../mcp/tasks/fixtures.ts";
import { createManualClock, emulatorForTest } from "../support/emulator.ts";
import { openForFile } from "../support/for-file.ts";
import { postgresMissing } from "../support/postgres.ts";
import { startPostgresPair } from "../support/postgres-pair.ts";
import { runCount } from "../support/thorough.ts";
import { describeUnless, linuxMissing } from "../support/unless.ts";
import {
  connectCaller,
  createCaller,
  createKeyLine,
  environmentForTest,
  instanceForTest,
  type TestEnvironment,
} from "./deployment.ts";
import { databaseForTest } from "./services.ts";

describeUnless(postgresMissing ?? linuxMissing, "an action with a key of its caller", () => {
  const getPair = openForFile(
    () => startPostgresPair(1),
    (pair) => pair.stop(),
  );

  async function setUp() {
    const clock = createManualClock();
    const emulator = await emulatorForTest({ clients: 1, clock });
    const service = new Service(emulator, clock);
    const job = await jobArguments(service, FILE.succeeds);
    let place: TestEnvironment = await environmentForTest(getPair(), emulator);
    const openDatabase = () => databaseForTest(place.url, { failover: true });
    let rotations = 0;

    async function submit(idempotencyKey: string) {
      const client = await connectCaller(await instanceForTest(place), createCaller("ann", ["reds"]));
      return await client.callTool("submit_job", { ...job, idempotencyKey });
    }

    /** Restores the journal and the secrets as they were before the action. */
    async function backUp() {
      const { query } = await openDatabase();
      const [teams, secrets] = [await query("SELECT * FROM teams"), await query("SELECT * FROM deployment_secrets")];
      return async () => {
        const restored = await openDatabase();
        await restored.query("DELETE FROM actions");
        for (const { name, encrypted_secret } of teams)
          await restored.query("UPDATE teams SET encrypted_secret = $2 WHERE name = $1", [
            String(name),
            String(encrypted_secret),
          ]);
        for (const { name, encrypted } of secrets)
          await restored.query("UPDATE deployment_secrets SET encrypted = $2 WHERE name = $1", [
            String(name),
            String(encrypted),
          ]);
      };
    }

    async function rotate(): Promise<void> {
      const firstKey = `rotated-${++rotations}`;
      place = { ...place, keys: `${createKeyLine(firstKey)}\n${place.keys}` };
      const [database, keys] = [await openDatabase(), readSecretKeys(place.keys)];
      const encryption = createEncryption(keys);
      const code = await rotateKeys({
        teams: createTeams(database),
        secrets: createSecrets({ encryption, now: Date.now }),
        upstreamSecret: createUpstreamSecret(database, encryption, keys),
        firstKey,
        recordChange: () => undefined,
        print: () => undefined,
      });
      expect(code).toBe(0);
    }

    async function failOver(): Promise<void> {
      await getPair().killPrimary();
      await getPair().promote();
      await getPair().rejoinReplicas();
    }

    return { submit, backUp, rotate, failOver, countExecutions: () => service.countEffects("createMicJob") };
  }

  test("a repeated key runs once after restores, key rotations and failovers in any order", async () => {
    const { submit, backUp, rotate, failOver, countExecutions } = await setUp();
    // In the first three, each step is once the first, once the second and once the last.
    const orders = (
      [
        ["restore", "rotate", "fail over"],
        ["rotate", "fail over", "restore"],
        ["fail over", "restore", "rotate"],
        ["restore", "fail over", "rotate"],
        ["rotate", "restore", "fail over"],
        ["fail over", "rotate", "restore"],
      ] as const
    ).slice(0, runCount(3, 6));
    // The first action makes the secret.
    expect((await submit("the first key")).error).toBeUndefined();
    for (const [number, order] of orders.entries()) {
      const restore = await backUp();
      const key = `key of order ${number}`;
      const first = await submit(key);
      expect(first.error).toBeUndefined();
      for (const step of order) {
        await { restore, rotate, "fail over": failOver }[step]();
        const repeated = await submit(key);
        expect(repeated.error, `${order.join(", ")}: after ${step}`).toBeUndefined();
      }
      expect(await countExecutions(), order.join(", ")).toBe(number + 2);
    }
  });
});
