// The world of one task: an emulator with a seed, on a clock of its own, with faults at hand, and a second server to set it up by.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod/v4";
import { type Emulator, startEmulator } from "../src/emulator/index.ts";
import type { Args } from "./agent.ts";
import { type OpenDesk, openDesk } from "./desk.ts";

/** That of the golden pages: what ids weigh is no matter of luck. */
const SEED = "golden";

/** Later than any run, so that what is in the future here is so for a server on the machine's clock, too. */
const START_MS = Date.parse("2100-01-15T10:00:00.000Z");

export interface WorldOptions {
  /** How many of its seconds pass in one of ours; 0: it stands still but for `pass`. */
  readonly pace: number;
  /** Playground requests a minute that the server allows itself. */
  readonly geographyRate?: number;
  /** The agent's server is a process of its own, which can be killed. */
  readonly isProcess?: boolean;
}

const Executions = z.array(z.looseObject({ operationId: z.string(), executions: z.number() }));

export class World {
  readonly emulator: Emulator;
  /** The agent's. */
  readonly desk: OpenDesk;
  readonly #pass: (ms: number) => void;
  readonly #setUp: OpenDesk;
  readonly #folder: string;

  constructor(parts: {
    emulator: Emulator;
    desk: OpenDesk;
    setUp: OpenDesk;
    pass: (ms: number) => void;
    folder: string;
  }) {
    this.emulator = parts.emulator;
    this.desk = parts.desk;
    this.#setUp = parts.setUp;
    this.#pass = parts.pass;
    this.#folder = parts.folder;
  }

  static async open({ pace, geographyRate = 600, isProcess = false }: WorldOptions): Promise<World> {
    const openedAt = performance.now();
    let passedMs = 0;
    const clock = { now: () => START_MS + Math.round((performance.now() - openedAt) * pace) + passedMs };
    const emulator = await startEmulator({ clock, seed: SEED });
    const folder = await mkdtemp(join(tmpdir(), "mic-mcp-evals-"));
    const desk = (name: string, ofProcess: boolean) =>
      openDesk({ emulator, folder: join(folder, name), geographyRate, isProcess: ofProcess });
    return new World({
      emulator,
      folder,
      pass: (ms) => {
        passedMs += ms;
      },
      desk: await desk("agent", isProcess),
      setUp: await desk("set-up", false),
    });
  }

  /** Lets so many of the world's milliseconds pass at once. */
  pass(ms: number): void {
    this.#pass(ms);
  }

  /** The id of a file, by its name. */
  file(name: string): string {
    const found = this.emulator.files.find((file) => file.name === name);
    if (found === undefined) throw new Error(`the emulator has no file ${name}`);
    return found.id;
  }

  /** What a tool answers when somebody else calls it. */
  async callTool(tool: string, args: Args): Promise<Args> {
    const shown = await this.#setUp.call(tool, args);
    if (shown.isError) throw new Error(`${tool}: ${shown.text}`);
    return shown.data;
  }

  async fault(fault: Args, operationId: string, times = 1): Promise<void> {
    await this.#admin("faults", { operationId, times, fault });
  }

  /** How many commands of an operation have taken effect. */
  async executions(operationId: string): Promise<number> {
    return Executions.parse(await this.#admin("executions"))
      .filter((each) => each.operationId === operationId)
      .reduce((sum, { executions }) => sum + executions, 0);
  }

  async #admin(path: string, body?: Args): Promise<unknown> {
    const posted = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const answer = await fetch(`${this.emulator.baseUrl}/__emulator/${path}`, body && posted);
    if (!answer.ok) throw new Error(`/__emulator/${path}: ${await answer.text()}`);
    return await answer.json();
  }

  async close(): Promise<void> {
    await this.desk.close();
    await this.#setUp.close();
    await this.emulator.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
