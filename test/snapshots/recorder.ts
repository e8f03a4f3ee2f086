// Where a tool is shown: an emulator of its own on a clock that stands still, and the real server behind a real client.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod/v4";
import { startEmulator } from "../../src/emulator/index.ts";
import { Service } from "../emulator/service.ts";
import { createManualClock } from "../support/emulator.ts";
import { connectInProcess, emulatorEnv, type TestClient } from "../support/mcp.ts";
import type { CallResult } from "../support/results.ts";
import { normalizer } from "./normalize.ts";
import type { RecordedResult } from "./page.ts";

export type Args = Readonly<Record<string, unknown>>;

const Result = z.object({
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional(), uri: z.string().optional() })),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().default(false),
  _meta: z.record(z.string(), z.unknown()).default({}),
});

/** A scene: brings about the tool's states one by one, and shows each. */
export type Scenario = (recorder: Recorder) => Promise<void>;

export class Recorder {
  /** The same emulator by plain HTTP. */
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

  /** The server's client. */
  get connection(): TestClient {
    const connection = this.#connections.at(-1);
    if (connection === undefined) throw new Error("the stage is empty");
    return connection;
  }

  /** A server that has read nothing yet and knows nothing, on from here. */
  async restart(env: Readonly<Record<string, string>> = {}): Promise<void> {
    this.#connections.push(await connectInProcess("v1-client", { env: { ...this.#env, ...env } }));
  }

  /** A call that no page shows. */
  call(tool: string, args: Args = {}): Promise<CallResult> {
    return this.connection.callTool(tool, args);
  }

  /** Shows what the tool answers in this state of things. */
  async record(state: string, args: Args = {}): Promise<CallResult> {
    const result = await this.connection.callTool(this.#tool, args);
    const { content, structuredContent, isError, _meta } = Result.parse(JSON.parse(this.#normalize(result.raw)));
    const [first, ...rest] = content;
    if (first?.text === undefined) throw new Error(`${this.#tool} gave no text: ${result.raw}`);
    if (this.results.some((earlier) => earlier.state === state)) throw new Error(`${state} is shown twice`);
    this.results.push({
      state,
      tool: this.#tool,
      arguments: JSON.parse(this.#normalize(JSON.stringify(args))),
      isError,
      text: first.text,
      structured: structuredContent,
      links: rest.map(({ type, uri = type }) => uri),
      meta: _meta,
    });
    return result;
  }

  /** What a server without any configuration answers. */
  async recordUnconfigured(args: Args): Promise<void> {
    this.#connections.push(await connectInProcess("v1-client"));
    await this.record("Not configured", args);
    this.#connections.unshift(...this.#connections.splice(-1));
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }
}

/** Plays the scene from an empty stage. */
export async function recordScenario(tool: string, scenario: Scenario): Promise<readonly RecordedResult[]> {
  const clock = createManualClock();
  const emulator = await startEmulator({ clock, seed: "golden" });
  const downloads = await mkdtemp(join(tmpdir(), "mic-mcp-golden-"));
  const env = {
    ...emulatorEnv(emulator),
    MIC_DOWNLOAD_DIR: downloads,
    MIC_GEOGRAPHY_RATE: "600",
  };
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
