// Records the results of one tool: with an emulator and the real server, whose clocks are stopped, and a real client.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod/v4";
import { startEmulator } from "../../src/emulator/index.ts";
import { Service } from "../emulator/service.ts";
import { createManualClock } from "../support/emulator.ts";
import { connectInProcess, emulatorEnv, type TestClient } from "../support/mcp.ts";
import { type CallResult, readResult } from "../support/results.ts";
import { stopClock } from "../support/stopped-clock.ts";
import { normalizer } from "./normalize.ts";
import type { RecordedResult } from "./page.ts";

export type Args = Readonly<Record<string, unknown>>;

/** Creates the states of the tool one by one, and records the result in each. */
export type Scenario = (recorder: Recorder) => Promise<void>;

/** The state that the name of a state begins with: "FAILED for good", "Done: WAITING_SCAN". */
const STATE_IN_NAME = /^(?:Done: )?([A-Z]{2,}(?:_[A-Z]+)*)\b/;
const WithState = z.looseObject({ data: z.looseObject({ state: z.string() }) });

function findDifference(
  name: string,
  { error, structured, view = structured }: CallResult,
  expected: string | undefined,
) {
  const fieldCodes = error?.fieldErrors?.map(({ code }) => code) ?? [];
  const failure =
    error && [error.kind, ...new Set(error.code === undefined ? fieldCodes.sort() : [error.code])].join(" ");
  if (failure !== expected) return `should be ${expected ?? "a success"}, and is ${failure ?? "a success"}`;
  const [, wanted] = STATE_IN_NAME.exec(name) ?? [];
  const state = WithState.safeParse(view).data?.data.state;
  return wanted === undefined || error || state === wanted ? undefined : `should be ${wanted}, and is ${state}`;
}

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

  /**
   * Records the result of a call. `failure`: the expected kind of error, and the codes (`invalid_arguments REQUIRED UNKNOWN_ARGUMENT`);
   * undefined if the call succeeds. Throws if the result is not what the state is about, so that no page shows another one.
   */
  async record(state: string, args: Args = {}, failure?: string): Promise<CallResult> {
    const result = await this.connection.callTool(this.#tool, args);
    const wrong = findDifference(state, result, failure);
    if (wrong !== undefined)
      throw new Error(
        `test/snapshots/scenarios: "${state}" of ${this.#tool} ${wrong}. Correct the scenario.\n${result.text}`,
      );
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

  /** `succeeds`: the tool only reads the journal. */
  async recordUnconfigured(args: Args, { succeeds = false } = {}): Promise<void> {
    this.#connections.push(await connectInProcess("v1-client"));
    await this.record("Not configured", args, succeeds ? undefined : "not_configured");
    this.#connections.unshift(...this.#connections.splice(-1));
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }
}

/** Runs the scenario with a new emulator and a new server. One at a time: the process has one clock. */
export async function recordScenario(tool: string, scenario: Scenario): Promise<readonly RecordedResult[]> {
  const startClock = stopClock("2026-03-02T10:00:00.000Z");
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
    startClock();
  }
}
