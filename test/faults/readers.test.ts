// A client that dies with the answer unread, or cancels just behind it, and then makes the same call: one execution each time.
// FAULT_KILLS=100 for more rounds.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { openSqlite } from "../../src/actions/sqlite.ts";
import { type Emulator, startEmulator } from "../../src/emulator/index.ts";
import { legacySpeaker, modernSpeaker, resultOf } from "../mcp/http/raw.ts";
import { callMessage, initializedMessage, initializeMessage } from "../mcp/stdio/child.ts";
import { folderForTest } from "../support/home.ts";
import { serveHttpInside } from "../support/inside.ts";
import { bareEnvironment, emulatorEnv, entryArguments } from "../support/mcp.ts";
import { readResult } from "../support/results.ts";
import { insideServer } from "../support/server.ts";

const ROUNDS = Number(process.env["FAULT_KILLS"] ?? 1);
const patient = { timeout: 60_000 + ROUNDS * 5_000 };
const TOOL = "register_input";
const deafClient = fileURLToPath(new URL("deaf-client.mjs", import.meta.url));

let emulator: Emulator;
beforeAll(async () => {
  emulator = await startEmulator();
});
afterAll(() => emulator.close());

const Executions = z.array(z.looseObject({ idempotencyKey: z.string(), executions: z.int() }));

async function executions(): Promise<number> {
  const answer = await fetch(`${emulator.baseUrl}/__emulator/executions`);
  return Executions.parse(await answer.json()).reduce((sum, each) => sum + each.executions, 0);
}

/** A journal, looked at from outside. */
async function journal(window: string) {
  const stateDir = await folderForTest();
  const database = await openSqlite(stateDir);
  onTestFinished(() => database.close());
  return {
    env: { ...emulatorEnv(emulator), MIC_STATE_DIR: stateDir, MIC_REPEAT_WINDOW_SECONDS: window },
    /** Whether the outcome of this wish stands there as sent. */
    async isSent({ clientReference }: { readonly clientReference: string }): Promise<boolean> {
      const rows = await database
        .query("SELECT key FROM actions WHERE delivered_at IS NOT NULL AND arguments LIKE $1", [
          `%${JSON.stringify(clientReference)}%`,
        ])
        .catch(() => []);
      return rows.length > 0;
    },
  };
}

let wishes = 0;
const wish = () => ({
  workspaceId: emulator.workspaceId,
  inputKind: "M4_FILE",
  referenceId: emulator.fileIds[0],
  clientReference: `reader ${++wishes}`,
});

interface Task {
  readonly server?: readonly string[];
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly messages: readonly object[];
}

/** Runs a client that never reads, and kills it once `isOut`. */
async function dieUnread(task: Task, env: Readonly<Record<string, string>>, isOut: () => Promise<boolean>) {
  const client = spawn(process.execPath, [deafClient, JSON.stringify(task)], {
    env: { ...bareEnvironment("/nonexistent"), ...env },
    stdio: "ignore",
  });
  await expect.poll(isOut, { interval: 5, timeout: 20_000 }).toBe(true);
  const gone = once(client, "exit");
  client.kill("SIGKILL");
  await gone;
}

// Without a window, what the connection shows has to do.
describe.each(["600", "0"])("with a window of %s s", (window) => {
  test(`stdio: killed with the answer unread, ${ROUNDS} times`, patient, async () => {
    const { env, isSent } = await journal(window);
    for (let round = 0; round < ROUNDS; round++) {
      const [args, before] = [wish(), await executions()];
      const messages = [initializeMessage, initializedMessage, callMessage(2, TOOL, args)];
      const server = [...entryArguments(), "serve"];
      await dieUnread({ server, messages }, env, () => isSent(args));
      if (window === "0") await expect.poll(() => isSent(args), { interval: 20, timeout: 5_000 }).toBe(false);
      const next = await insideServer(env);
      const told = await next.call(TOOL, args);
      expect(told.action?.replayed, told.text).toBe(true);
      expect(await executions()).toBe(before + 1);
      await next.end();
    }
  });

  test.each(["legacy", "modern"] as const)(
    `HTTP, %s: killed with the answer unread, ${ROUNDS} times`,
    patient,
    async (era) => {
      const { env, isSent } = await journal(window);
      const url = await serveHttpInside(env);
      for (let round = 0; round < ROUNDS; round++) {
        const [args, before] = [wish(), await executions()];
        const accept = { accept: "application/json, text/event-stream", "content-type": "application/json" };
        const call = callMessage(2, TOOL, args);
        const task: Task =
          era === "legacy"
            ? { url, headers: { ...accept, ...(await legacySpeaker(url)).headers }, messages: [call] }
            : {
                url,
                headers: {
                  ...accept,
                  "mcp-protocol-version": "2026-07-28",
                  "mcp-method": "tools/call",
                  "mcp-name": TOOL,
                },
                messages: [
                  {
                    ...call,
                    params: {
                      ...call.params,
                      _meta: {
                        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                        "io.modelcontextprotocol/clientInfo": { name: "deaf", version: "1" },
                        "io.modelcontextprotocol/clientCapabilities": {},
                      },
                    },
                  },
                ],
              };
        await dieUnread(task, env, () => isSent(args));
        if (window === "0") await expect.poll(() => isSent(args), { interval: 20, timeout: 5_000 }).toBe(false);
        const speaker = era === "legacy" ? await legacySpeaker(url) : modernSpeaker(url);
        const told = readResult(await resultOf(speaker.call(2, TOOL, args), 2));
        expect(told.action?.replayed, told.text).toBe(true);
        expect(await executions()).toBe(before + 1);
      }
    },
  );

  test(`HTTP, a session: cancelled just behind the answer, ${ROUNDS} times`, patient, async () => {
    const { env } = await journal(window);
    const session = await legacySpeaker(await serveHttpInside(env));
    for (let round = 0; round < ROUNDS; round++) {
      const [args, before, id] = [wish(), await executions(), 10 + round];
      await session.call(id, TOOL, args).answer;
      await session.notify("notifications/cancelled", { requestId: id });
      const told = readResult(await resultOf(session.call(id + 1000, TOOL, args), id + 1000));
      expect(told.action?.replayed).toBe(true);
      expect(await executions()).toBe(before + 1);
    }
  });
});
