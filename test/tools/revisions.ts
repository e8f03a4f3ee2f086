// Defines tests of the tools with a client, an emulator and a server in this process: with one client, or with both.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { afterEach, beforeAll, describe } from "vitest";
import { type EmulatorOptions, startEmulator } from "../../src/emulator/index.ts";
import { Service } from "../emulator/service.ts";
import { createManualClock } from "../support/emulator.ts";
import { type ClientRevision, type ConnectOptions, connectInProcess, emulatorEnv } from "../support/mcp.ts";
import { Bench } from "./bench.ts";

/** The revisions in which the tools are tested; test/mcp tests that the third one behaves the same. */
const testedRevisions = ["v1-client", "v2-modern"] as const satisfies readonly ClientRevision[];

/** The server reads the whole catalog without waiting. */
export const FAST_GEOGRAPHY = { env: { MIC_GEOGRAPHY_RATE_LIMIT: "600" } };

export interface BenchOptions {
  readonly emulator?: EmulatorOptions;
  readonly env?: Readonly<Record<string, string>>;
  readonly onElicitation?: NonNullable<ConnectOptions["onElicitation"]>;
}

/** Compiling a schema takes longer than most tests, so each schema is compiled once, at its first use by any server. */
const compiled = new Map<string, ValidateFunction>();
const ajv = new Ajv2020({ strictTypes: true, validateFormats: false });

function compileValidator(schema: object | undefined): ValidateFunction | undefined {
  if (schema === undefined) return undefined;
  const text = JSON.stringify(schema);
  const validator = compiled.get(text) ?? ajv.compile(schema);
  compiled.set(text, validator);
  return validator;
}

type Tests = (bench: () => Bench, revision: ClientRevision) => void;

function defineTests(
  revision: ClientRevision,
  tests: Tests,
  { emulator: emulatorOptions, env, ...user }: BenchOptions,
): void {
  let running: Bench | undefined;
  beforeAll(async () => {
    const clock = createManualClock();
    const emulator = await startEmulator({ clock, ...emulatorOptions });
    const downloadDir = await mkdtemp(join(tmpdir(), "mic-mcp-downloads-"));
    const settings = { ...emulatorEnv(emulator), MIC_DOWNLOAD_DIR: downloadDir, ...env };
    const connection = await connectInProcess(revision, { env: settings, ...user });
    const tools = new Map((await connection.listTools()).map((tool) => [tool.name, tool]));
    running = new Bench(new Service(emulator, clock), connection, downloadDir, {
      input: (tool) => compileValidator(tools.get(tool)?.inputSchema),
      output: (tool) => compileValidator(tools.get(tool)?.outputSchema),
    });
    return async () => {
      await connection.close();
      await emulator.close();
      await rm(downloadDir, { recursive: true, force: true });
    };
  });
  // A fault that a test injected and did not use must not affect the next test.
  afterEach(() => running?.service.admin("DELETE", "faults"));
  tests(() => {
    if (running === undefined) throw new Error("the bench is there only while tests run");
    return running;
  }, revision);
}

/** Defines the tests for each revision: for resources, prompts and questions, which differ by revision. */
export function describeEachRevisionInProcess(tests: Tests, options: BenchOptions = {}): void {
  describe.each(testedRevisions)("%s", (revision) => defineTests(revision, tests, options));
}

/**
 * Defines the tests for one revision, because tools do not depend on it. success.test.ts tests results, and confirmation.test.ts
 * (test/mcp/tools) errors, in each revision.
 */
export function describeLatestRevision(tests: Tests, options: BenchOptions = {}): void {
  describe("v2-modern", () => defineTests("v2-modern", tests, options));
}
