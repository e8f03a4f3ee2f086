// Tests of the tools behind a client, with an emulator and a server of its own: through one client, where they are about what a
// tool does, and through both, where they are about how it is said.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { afterAll, afterEach, beforeAll, describe } from "vitest";
import { type EmulatorOptions, startEmulator } from "../../src/emulator/index.ts";
import { Service } from "../emulator/service.ts";
import { createManualClock } from "../support/emulator.ts";
import {
  type ClientRevision,
  type ConnectOptions,
  connect,
  connectInProcess,
  emulatorEnv,
  type TestClient,
} from "../support/mcp.ts";
import { Bench, type Schemas } from "./bench.ts";

/** The eras that every tool is tested in; the third is held to them in test/mcp. */
const testedRevisions = ["v1-client", "v2-modern"] as const satisfies readonly ClientRevision[];

export interface BenchOptions {
  readonly emulator?: EmulatorOptions;
  readonly env?: Readonly<Record<string, string>>;
  /** The person at the client. */
  readonly onElicitation?: NonNullable<ConnectOptions["onElicitation"]>;
}

/** To compile a schema takes longer than most tests: each once, when first asked for, whatever server it is of. */
const compiled = new Map<string, ValidateFunction>();

function compileValidator(schema: object | undefined): ValidateFunction | undefined {
  if (schema === undefined) return undefined;
  const text = JSON.stringify(schema);
  const validator = compiled.get(text) ?? new Ajv2020({ strictTypes: true, validateFormats: false }).compile(schema);
  compiled.set(text, validator);
  return validator;
}

type Connect = (revision: ClientRevision, options: ConnectOptions) => Promise<TestClient>;

async function setUp(
  revision: ClientRevision,
  options: BenchOptions,
  connectBy: Connect,
): Promise<{ bench: Bench; tearDown(): Promise<void> }> {
  const clock = createManualClock();
  const emulator = await startEmulator({ clock, ...options.emulator });
  const downloadDir = await mkdtemp(join(tmpdir(), "mic-mcp-downloads-"));
  const env = { ...emulatorEnv(emulator), MIC_DOWNLOAD_DIR: downloadDir, ...options.env };
  const connection = await connectBy(revision, {
    env,
    ...(options.onElicitation && { onElicitation: options.onElicitation }),
  });
  const tools = new Map((await connection.listTools()).map((tool) => [tool.name, tool]));
  const schemas: Schemas = {
    input: (tool) => compileValidator(tools.get(tool)?.inputSchema),
    output: (tool) => compileValidator(tools.get(tool)?.outputSchema),
  };
  return {
    bench: new Bench(new Service(emulator, clock), connection, downloadDir, schemas),
    async tearDown() {
      await connection.close();
      await emulator.close();
      await rm(downloadDir, { recursive: true, force: true });
    },
  };
}

type Tests = (bench: () => Bench, revision: ClientRevision) => void;

function defineTests(revision: ClientRevision, tests: Tests, options: BenchOptions, connectBy: Connect): void {
  let running: Awaited<ReturnType<typeof setUp>> | undefined;
  beforeAll(async () => {
    running = await setUp(revision, options, connectBy);
  });
  // A fault that a test queued and did not use up is not the next one's.
  afterEach(() => running?.bench.service.admin("DELETE", "faults"));
  afterAll(() => running?.tearDown());
  tests(() => {
    if (running === undefined) throw new Error("the bench is there only while tests run");
    return running.bench;
  }, revision);
}

/** A process of its own for each. */
export function describeEachRevision(tests: Tests, options: BenchOptions = {}): void {
  describe.each(testedRevisions)("%s", (revision) => defineTests(revision, tests, options, connect));
}

/** What no tool knows of: how the protocol of an era has resources, prompts, questions. Without a process. */
export function describeEachRevisionInProcess(tests: Tests, options: BenchOptions = {}): void {
  describe.each(testedRevisions)("%s", (revision) => defineTests(revision, tests, options, connectInProcessByDefault));
}

/** In this process, unless MIC_TEST_OVER or MIC_TEST_ENTRY say otherwise. */
export const connectInProcessByDefault: Connect = (revision, options) =>
  process.env["MIC_TEST_OVER"] || process.env["MIC_TEST_ENTRY"]
    ? connect(revision, options)
    : connectInProcess(revision, options);

/** A tool knows nothing of eras: how a result and a failure come through each, success.test.ts and failures.test.ts show. */
export function describeLatestRevision(tests: Tests, options: BenchOptions = {}): void {
  describe("v2-modern", () => defineTests("v2-modern", tests, options, connectInProcessByDefault));
}
