// Kills clients and servers at random moments: each action runs once, and each repeated call reports a replay (FAULT_KILLS).
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import type { Database } from "../../src/store/database.ts";
import { openPostgres } from "../../src/store/postgres.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { createExampleData, createRequest } from "../emulator/example.ts";
import { serviceForFile } from "../emulator/service.ts";
import { FILE, registerInput } from "../emulator/work.ts";
import { ACCEPT, connectLegacyClient, createModernClient } from "../mcp/http/raw-client.ts";
import { modernEnvelope } from "../mcp/modern-envelope.ts";
import { callMessage, initializedMessage, initializeMessage, start } from "../mcp/stdio/child.ts";
import { serveHttpInProcess } from "../support/in-process.ts";
import { bareEnvironment, emulatorEnv, entryArguments } from "../support/mcp.ts";
import { createSeededRandom } from "../support/random.ts";
import { inProcessServerForTest, startServer } from "../support/server.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { runCount } from "../support/thorough.ts";
import { describeWithPostgres } from "../teams/services.ts";

const SEED = Number(process.env["FAULT_SEED"] ?? 20_261_122);
const KILLS = Number(process.env["FAULT_KILLS"] ?? 2);

const TOOL = "request_file_processing";
const OPERATION = "requestMicSharedFileProcessing";
const nonReadingClient = fileURLToPath(new URL("non-reading-client.mjs", import.meta.url));

type Environment = Readonly<Record<string, string>>;

const service = serviceForFile();
let body: object;
beforeAll(async () => {
  body = Object((await createRequest(await createExampleData(service()), OPERATION)).body);
});

interface TransportCase {
  /** The call of a client that never reads the answer: the arguments of non-reading-client.mjs. */
  createTask(env: Environment, args: object): Promise<object>;
  sendToProcess(env: Environment, args: object): Promise<() => Promise<unknown>>;
}

const createSpeaker = { legacy: connectLegacyClient, modern: async (url: string) => createModernClient(url) };
const createHttpCase = (revision: "legacy" | "modern"): TransportCase => ({
  async createTask(env, args) {
    const url = await serveHttpInProcess(env);
    const headers = { accept: ACCEPT, "content-type": "application/json" };
    const call = callMessage(2, TOOL, args);
    if (revision === "legacy")
      return { url, headers: { ...headers, ...(await connectLegacyClient(url)).headers }, messages: [call] };
    return {
      url,
      headers: { ...headers, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": TOOL },
      messages: [{ ...call, params: { ...call.params, _meta: modernEnvelope() } }],
    };
  },
  async sendToProcess(env, args) {
    const program = start(["serve", "--http", "--no-token"], { env });
    const { url } = z.looseObject({ url: z.url() }).parse(await program.next());
    (await createSpeaker[revision](url)).call(2, TOOL, args);
    return () => {
      program.process.kill("SIGKILL");
      return program.exit;
    };
  },
});

const stdioCase: TransportCase = {
  createTask: async (_env, args) => ({
    server: [...entryArguments(), "serve"],
    messages: [initializeMessage, initializedMessage, callMessage(2, TOOL, args)],
  }),
  async sendToProcess(env, args) {
    const server = await startServer({ env });
    server.send(TOOL, args, 2);
    return server.kill;
  },
};

const transports = [
  ["stdio", stdioCase],
  ["HTTP, 2025-06-18", createHttpCase("legacy")],
  ["HTTP, 2026-07-28", createHttpCase("modern")],
] as const;

function testKills(
  journalName: string,
  tested: readonly (typeof transports)[number][],
  openJournal: () => Promise<{ readonly env: Environment; readonly database: Database }>,
): void {
  test.each(tested)(
    `${journalName}, %s: each action runs once although ${KILLS} clients and ${KILLS} servers are killed`,
    { timeout: 60_000 + KILLS * 10_000 },
    async (transportName, { createTask, sendToProcess }) => {
      const { env: journalEnv, database } = await openJournal();
      onTestFinished(() => database.close());
      const env = { ...emulatorEnv(service().emulator), ...journalEnv };
      // A server that survives all kills.
      const { call } = await inProcessServerForTest(env);
      const random = createSeededRandom(SEED);
      const before = await service().countEffects(OPERATION);
      const counts = { actions: 0, replays: 0 };

      /** An input of its own: a second request for the same input is not sent. */
      const newAction = async () => {
        counts.actions += 1;
        const { id: inputId } = await registerInput(service(), FILE.succeeds);
        return { ...body, inputId, purpose: `${journalName}, ${transportName}: ${counts.actions}` };
      };
      async function expectReplay(args: object, key?: string): Promise<void> {
        const replay = await call(TOOL, args);
        expect(replay.action, replay.text).toMatchObject({ replayed: true, ...(key && { idempotencyKey: key }) });
        expect(replay.text).toMatch(/^Not run again: an identical call ran /);
        counts.replays += 1;
      }
      /** The keys of the recorded action; none while the server has not created the table. */
      const succeededKeys = ({ purpose }: { purpose: string }) =>
        database
          .query("SELECT key FROM actions WHERE state = 'succeeded' AND arguments LIKE $1", [`%"${purpose}"%`])
          .catch(() => []);

      for (let n = 0; n < KILLS; n++) {
        const args = await newAction();
        const client = spawn(process.execPath, [nonReadingClient, JSON.stringify(await createTask(env, args))], {
          env: { ...bareEnvironment("/nonexistent"), ...env },
          stdio: "ignore",
        });
        await expect.poll(() => succeededKeys(args), { interval: 5 }).toHaveLength(1);
        client.kill("SIGKILL");
        await once(client, "exit");
        await expectReplay(args);
      }
      for (let n = 0; n < KILLS; n++) {
        const args = await newAction();
        await service().injectFault({ kind: "delay", delayMs: random.nextInteger(30) }, { operationId: OPERATION });
        const kill = await sendToProcess(env, args);
        await sleep(random.nextInteger(80));
        await kill();
        const first = await call(TOOL, args);
        expect(first.error, first.text).toBeUndefined();
        await expectReplay(args, first.action?.idempotencyKey);
      }

      const executions = (await service().countEffects(OPERATION)) - before;
      const [row] = await database.query("SELECT COUNT(*) AS count FROM actions");
      console.info(
        `${journalName}, ${transportName}: ${KILLS} clients and ${KILLS} servers killed: ` +
          `${counts.actions} actions, ${executions} executions, ${counts.replays} replays, ${executions - counts.actions} duplicates`,
      );
      expect([executions, Number(row?.["count"])]).toEqual([counts.actions, counts.actions]);
    },
  );
}

testKills("SQLite", transports, async () => {
  const stateDir = await folderForTest();
  return { env: { MIC_STATE_DIR: stateDir }, database: await openSqlite(stateDir) };
});

describeWithPostgres("PostgreSQL", (postgres) => {
  // The transports do not depend on the database.
  testKills("PostgreSQL", transports.slice(0, runCount(1, 3)), async () => {
    const url = await postgres().createDatabase();
    const env = { MIC_STATE_DIR: await folderForTest(), MIC_JOURNAL_URL: url };
    return { env, database: await openPostgres(url, { connections: 1 }) };
  });
});
