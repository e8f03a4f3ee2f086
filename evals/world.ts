// The world of one task: an emulator with a seed, its own clock and faults, and a second server that sets it up.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/v4";
import { type Emulator, startEmulator } from "../src/emulator/index.ts";
import { openSqlite } from "../src/store/sqlite.ts";
import type { ToolArguments } from "./agent.ts";
import { type ManagedAgentClient, openAgentClient, type Usage } from "./agent-client.ts";
import { type FailingRetries, startFailingRetries } from "./failing-retries.ts";

/** A fixed seed, so that ids have the same number of tokens in each run. */
const SEED = "golden";

/** Later than any run, so that a future time in the world is also in the future for a server on the machine's clock. */
const START_MS = Date.parse("2100-01-15T10:00:00.000Z");

const POLL_INTERVAL_MS = 20;

type Settings = Readonly<Record<string, string>>;

export interface WorldOptions {
  /** Seconds that pass in the world per real second; at 0, only `advanceClock` changes the time. */
  readonly clockRate: number;
  /** Whether the agent's server runs in a separate process, which can be killed (default false). */
  readonly isProcess?: boolean;
  /** Whether every retry of the agent fails at the same stage again (default false). */
  readonly hasFailingRetries?: boolean;
  /** Settings of the agent's server, as environment variables. `folder`: one that the task may use. */
  readonly settings?: Settings | ((folder: string) => Settings);
  /** Whether the server can ask the agent's user, who declines (default false: the client cannot ask). */
  readonly userDeclines?: boolean;
}

interface PeerOptions {
  /** Whether its server runs in a separate process, which can be killed (default false). */
  readonly isProcess?: boolean;
  /** Name of the folder with its journal (default: that of the agent). */
  readonly folder?: string;
}

/** The folder with the agent's journal and downloads. */
const AGENT_FOLDER = "agent";

const Executions = z.array(z.looseObject({ operationId: z.string(), executions: z.number() }));

interface WorldParts {
  readonly emulator: Emulator;
  readonly client: ManagedAgentClient;
  readonly setupClient: ManagedAgentClient;
  readonly folder: string;
  readonly failingRetries: FailingRetries | undefined;
  advanceClock(ms: number): void;
  openPeer(options: PeerOptions): Promise<ManagedAgentClient>;
}

export class World {
  readonly emulator: Emulator;
  /** The client of the agent. */
  readonly client: ManagedAgentClient;
  readonly #parts: WorldParts;
  readonly #peers: ManagedAgentClient[] = [];

  constructor(parts: WorldParts) {
    this.emulator = parts.emulator;
    this.client = parts.client;
    this.#parts = parts;
  }

  static async open(options: WorldOptions): Promise<World> {
    const { clockRate, isProcess = false, hasFailingRetries = false, settings = {}, userDeclines = false } = options;
    const openedAt = performance.now();
    let advancedMs = 0;
    const clock = { now: () => START_MS + Math.round((performance.now() - openedAt) * clockRate) + advancedMs };
    const emulator = await startEmulator({ clock, seed: SEED });
    const failingRetries = hasFailingRetries ? await startFailingRetries(emulator.baseUrl) : undefined;
    const root = await mkdtemp(join(tmpdir(), "mic-mcp-evals-"));
    const agentSettings = typeof settings === "function" ? settings(root) : settings;
    const agentApi = { ...emulator, baseUrl: failingRetries?.url ?? emulator.baseUrl };
    const openPeer = ({ isProcess = false, folder = AGENT_FOLDER }: PeerOptions) =>
      openAgentClient({
        ...{ emulator: agentApi, folder: join(root, folder), isProcess, settings: agentSettings, userDeclines },
      });
    const setup = { emulator, folder: join(root, "set-up"), isProcess: false, settings: {}, userDeclines: false };
    return new World({
      emulator,
      folder: root,
      failingRetries,
      advanceClock(ms) {
        advancedMs += ms;
      },
      openPeer,
      client: await openPeer({ isProcess }),
      setupClient: await openAgentClient(setup),
    });
  }

  /** Opens the client of another agent. */
  async openPeer(options: PeerOptions = {}): Promise<ManagedAgentClient> {
    const peer = await this.#parts.openPeer(options);
    this.#peers.push(peer);
    return peer;
  }

  /** Calls and tokens of the other agents so far. */
  get peerUsage(): Usage {
    const usages = this.#peers.map(({ usage }) => usage);
    const sum = (field: keyof Usage): number => usages.reduce((all, usage) => all + usage[field], 0);
    return { calls: sum("calls"), tokens: sum("tokens") };
  }

  /** Kills the server of a client after a job is submitted, before a response arrives. */
  async killOnceSubmitted(client: ManagedAgentClient): Promise<void> {
    while ((await this.countExecutions("createMicJob")) === 0) await sleep(POLL_INTERVAL_MS);
    client.kill();
  }

  /** Simulates that the clock of the agent's server advances by `ms`: its actions become older. */
  async ageActions(ms: number): Promise<void> {
    const columns = ["first_sent_at", "created_at", "updated_at", "resolved_at"];
    await this.#updateActions(columns.map((column) => `${column} = ${column} - $1`).join(), ms);
  }

  /** Simulates that the actions so far were those of another client. */
  async setClientOfActions(clientId: string): Promise<void> {
    await this.#updateActions("service = $1", JSON.stringify([this.emulator.baseUrl, clientId]));
  }

  async #updateActions(change: string, value: string | number): Promise<void> {
    const database = await openSqlite(join(this.#parts.folder, AGENT_FOLDER, "state"));
    await database.query(`UPDATE actions SET ${change}`, [value]);
    await database.close();
  }

  /** The modes of the retries that failed, if all retries fail. */
  get retryModes(): readonly string[] {
    return this.#parts.failingRetries?.modes ?? [];
  }

  /** Advances the world's clock by `ms` milliseconds. */
  advanceClock(ms: number): void {
    this.#parts.advanceClock(ms);
  }

  /** The id of the file with this name. */
  fileId(name: string): string {
    const found = this.emulator.files.find((file) => file.name === name);
    if (found === undefined) throw new Error(`the emulator has no file ${name}`);
    return found.id;
  }

  /** The result of a tool that the setup client calls; throws if the call fails. */
  async callTool(tool: string, args: ToolArguments): Promise<ToolArguments> {
    const result = await this.#parts.setupClient.call(tool, args);
    if (result.isError) throw new Error(`${tool}: ${result.text}`);
    return result.data;
  }

  async injectFault(fault: ToolArguments, operationId: string, times = 1): Promise<void> {
    await this.#callAdmin("faults", { operationId, times, fault });
  }

  /** Interrupts every request for this time, from now on. */
  async interrupt(ms: number): Promise<void> {
    const fault = { kind: "drop-before" };
    await this.#callAdmin("faults", { times: 1_000, fault });
    const timer = setTimeout(() => {
      this.clearFaults().catch(() => undefined);
    }, ms);
    timer.unref();
  }

  async clearFaults(): Promise<void> {
    await fetch(`${this.emulator.baseUrl}/__emulator/faults`, { method: "DELETE" });
  }

  /** Number of requests of an operation that took effect. */
  async countExecutions(operationId: string): Promise<number> {
    return Executions.parse(await this.#callAdmin("executions"))
      .filter((each) => each.operationId === operationId)
      .reduce((sum, { executions }) => sum + executions, 0);
  }

  async #callAdmin(path: string, body?: ToolArguments): Promise<unknown> {
    const requestOptions = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    };
    const answer = await fetch(`${this.emulator.baseUrl}/__emulator/${path}`, body && requestOptions);
    if (!answer.ok) throw new Error(`/__emulator/${path}: ${await answer.text()}`);
    return await answer.json();
  }

  async close(): Promise<void> {
    for (const client of [...this.#peers, this.client, this.#parts.setupClient]) await client.close();
    this.#parts.failingRetries?.close();
    await this.emulator.close();
    await rm(this.#parts.folder, { recursive: true, force: true });
  }
}
