// The world of one task: an emulator with a seed, its own clock and faults, and a second server that sets it up.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod/v4";
import { type Emulator, startEmulator } from "../src/emulator/index.ts";
import type { ToolArguments } from "./agent.ts";
import { type ManagedAgentClient, openAgentClient } from "./agent-client.ts";
import { type FailingRetries, startFailingRetries } from "./failing-retries.ts";

/** A fixed seed, so that ids have the same number of tokens in each run. */
const SEED = "golden";

/** Later than any run, so that a future time in the world is also in the future for a server on the machine's clock. */
const START_MS = Date.parse("2100-01-15T10:00:00.000Z");

export interface WorldOptions {
  /** Seconds that pass in the world per real second; at 0, only `advanceClock` changes the time. */
  readonly clockRate: number;
  /** Maximum playground requests per minute of the server (default 600). */
  readonly geographyRate?: number;
  /** Whether the agent's server runs in a separate process, which can be killed (default false). */
  readonly isProcess?: boolean;
  /** Whether every retry of the agent fails at the same stage again (default false). */
  readonly hasFailingRetries?: boolean;
}

const Executions = z.array(z.looseObject({ operationId: z.string(), executions: z.number() }));

export class World {
  readonly emulator: Emulator;
  /** The client of the agent. */
  readonly client: ManagedAgentClient;
  readonly #advanceClock: (ms: number) => void;
  readonly #setupClient: ManagedAgentClient;
  readonly #folder: string;
  readonly #failingRetries: FailingRetries | undefined;
  readonly #openPeer: (isProcess: boolean) => Promise<ManagedAgentClient>;
  readonly #peers: ManagedAgentClient[] = [];

  constructor(parts: {
    emulator: Emulator;
    client: ManagedAgentClient;
    setupClient: ManagedAgentClient;
    advanceClock: (ms: number) => void;
    folder: string;
    failingRetries: FailingRetries | undefined;
    openPeer: (isProcess: boolean) => Promise<ManagedAgentClient>;
  }) {
    this.emulator = parts.emulator;
    this.client = parts.client;
    this.#setupClient = parts.setupClient;
    this.#advanceClock = parts.advanceClock;
    this.#folder = parts.folder;
    this.#failingRetries = parts.failingRetries;
    this.#openPeer = parts.openPeer;
  }

  static async open(options: WorldOptions): Promise<World> {
    const { clockRate, geographyRate = 600, isProcess = false, hasFailingRetries = false } = options;
    const openedAt = performance.now();
    let advancedMs = 0;
    const clock = { now: () => START_MS + Math.round((performance.now() - openedAt) * clockRate) + advancedMs };
    const emulator = await startEmulator({ clock, seed: SEED });
    const failingRetries = hasFailingRetries ? await startFailingRetries(emulator.baseUrl) : undefined;
    const folder = await mkdtemp(join(tmpdir(), "mic-mcp-evals-"));
    const openClient = (name: string, isSeparateProcess: boolean, baseUrl = emulator.baseUrl) =>
      openAgentClient({
        emulator: { ...emulator, baseUrl },
        folder: join(folder, name),
        geographyRate,
        isProcess: isSeparateProcess,
      });
    return new World({
      emulator,
      folder,
      failingRetries,
      advanceClock: (ms) => {
        advancedMs += ms;
      },
      openPeer: (isSeparateProcess) => openClient("agent", isSeparateProcess),
      client: await openClient("agent", isProcess, failingRetries?.url),
      setupClient: await openClient("set-up", false),
    });
  }

  /** Opens the client of another agent, whose server has the same journal as that of the agent. */
  async openPeer(isProcess = false): Promise<ManagedAgentClient> {
    const peer = await this.#openPeer(isProcess);
    this.#peers.push(peer);
    return peer;
  }

  /** The modes of the retries that failed, if all retries fail. */
  get retryModes(): readonly string[] {
    return this.#failingRetries?.modes ?? [];
  }

  /** Advances the world's clock by `ms` milliseconds. */
  advanceClock(ms: number): void {
    this.#advanceClock(ms);
  }

  /** The id of the file with this name. */
  fileId(name: string): string {
    const found = this.emulator.files.find((file) => file.name === name);
    if (found === undefined) throw new Error(`the emulator has no file ${name}`);
    return found.id;
  }

  /** The result of a tool that the setup client calls; throws if the call fails. */
  async callTool(tool: string, args: ToolArguments): Promise<ToolArguments> {
    const result = await this.#setupClient.call(tool, args);
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
      fetch(`${this.emulator.baseUrl}/__emulator/faults`, { method: "DELETE" }).catch(() => undefined);
    }, ms);
    timer.unref();
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
    for (const client of [...this.#peers, this.client, this.#setupClient]) await client.close();
    this.#failingRetries?.close();
    await this.emulator.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
