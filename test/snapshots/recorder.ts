// Records the results of one tool: with an emulator whose clock is stopped, and the real server with a real client.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmulator } from "../../src/emulator/index.ts";
import { Service } from "../emulator/service.ts";
import { createManualClock } from "../support/emulator.ts";
import { connectInProcess, emulatorEnv, type TestClient } from "../support/mcp.ts";
import { type CallResult, readResult } from "../support/results.ts";
import { normalizer } from "./normalize.ts";
import type { RecordedResult } from "./page.ts";

export type Args = Readonly<Record<string, unknown>>;

/** Creates the states of the tool one by one, and records the result in each. */
export type Scenario = (recorder: Recorder) => Promise<void>;

export class Recorder {
  readonly service: Service;
  readonly results: RecordedResult[] = [];
  readonly #tool: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #normalize: (text: string) => string;
  readonly #connections: TestClient[];

  constructor(tool: string, service: Service, env: Readonly<Record<string, string>>, connection: TestClient) {
    this.#tool = tool;
    this.service = service;
    this.#env = env;
    this.#connections = [connection];
    this.#normalize = normalizer({ baseUrl: service.emulator.baseUrl, downloads: env["MIC_DOWNLOAD_DIR"] ?? "" });
  }

  get workspaceId(): string {
    return this.service.emulator.workspaceId;
  }

  get connection(): TestClient {
    const connection = this.#connections.at(-1);
    if (connection === undefined) throw new Error("the stage is empty");
    return connection;
  }

  /** Starts another server, which has read nothing yet; later calls use it. */
  async restart(env: Readonly<Record<string, string>> = {}): Promise<void> {
    this.#connections.push(await connectInProcess("v1-client", { env: { ...this.#env, ...env } }));
  }

  call(tool: string, args: Args = {}): Promise<CallResult> {
    return this.connection.callTool(tool, args);
  }

  async record(state: string, args: Args = {}): Promise<CallResult> {
    const result = await this.connection.callTool(this.#tool, args);
    const { text, isError, structured, links, meta } = readResult(JSON.parse(this.#normalize(result.raw)));
    if (this.results.some((earlier) => earlier.state === state)) throw new Error(`${state} is shown twice`);
    this.results.push({
      state,
      tool: this.#tool,
      arguments: JSON.parse(this.#normalize(JSON.stringify(args))),
      isError,
      // A link has no text.
      text: text.replace(/\n$/, ""),
      structured,
      links,
      meta,
    });
    return result;
  }

  async recordUnconfigured(args: Args): Promise<void> {
    this.#connections.push(await connectInProcess("v1-client"));
    await this.record("Not configured", args);
    this.#connections.unshift(...this.#connections.splice(-1));
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }
}

/** Runs the scenario with a new emulator and a new server. */
export async function recordScenario(tool: string, scenario: Scenario): Promise<readonly RecordedResult[]> {
  const clock = createManualClock();
  const emulator = await startEmulator({ clock, seed: "golden" });
  const downloads = await mkdtemp(join(tmpdir(), "mic-mcp-golden-"));
  const env = { ...emulatorEnv(emulator), MIC_DOWNLOAD_DIR: downloads, MIC_GEOGRAPHY_RATE_LIMIT: "600" };
  try {
    const recorder = new Recorder(
      tool,
      new Service(emulator, clock),
      env,
      await connectInProcess("v1-client", { env }),
    );
    try {
      await scenario(recorder);
      return recorder.results;
    } finally {
      await recorder.close();
    }
  } finally {
    await emulator.close();
    await rm(downloads, { recursive: true, force: true });
  }
}
