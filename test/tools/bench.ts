// The bench for tool tests: an emulator with direct access to it, and the real server with a real client, for all tests of a block.
import type { ValidateFunction } from "ajv/dist/2020.js";
import { expect, onTestFinished } from "vitest";
import * as z from "zod/v4";
import { createExampleData, type ExampleData } from "../emulator/example.ts";
import { createValue } from "../emulator/parameters.ts";
import type { Service } from "../emulator/service.ts";
import { FILE, fileId, findOneInputOffer } from "../emulator/work.ts";
import { type OperationId, operations, type PostId } from "../operations.ts";
import type { ManualClock } from "../support/emulator.ts";
import {
  type CallOptions,
  type ClientRevision,
  emulatorEnv,
  inProcessClientForTest,
  type Progress,
  type TestClient,
} from "../support/mcp.ts";
import type { CallResult, Facts } from "../support/results.ts";
import { validCall } from "./catalogue.ts";

export type Args = Readonly<Record<string, unknown>>;

const SentRequests = z.array(
  z.object({
    operationId: z.string().nullable(),
    method: z.string(),
    path: z.string(),
    headers: z.record(z.string(), z.string()),
    bodySha256: z.string(),
    idempotencyKey: z.string().optional(),
    status: z.number().nullable(),
  }),
);
export type SentRequest = z.infer<typeof SentRequests>[number];

type Schemas = Readonly<Record<"input" | "output", (tool: string) => ValidateFunction | undefined>>;

const NextStep = z.strictObject({ tool: z.string(), arguments: z.record(z.string(), z.unknown()), why: z.string() });

function expectValid(validate: ValidateFunction | undefined, value: unknown, what: string): void {
  expect(validate, what).toBeDefined();
  expect(validate?.(value), `${what}: ${JSON.stringify(validate?.errors)} in ${JSON.stringify(value)}`).toBe(true);
}

/** The facts in a JSON value: all its numbers and strings, as texts. */
export function factsIn(value: unknown): readonly string[] {
  if (typeof value === "number") return [String(value)];
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(factsIn) : [];
}

/** A refusal by the API that no later call can avoid. */
export const refusal = (status: number, code = "NO") => ({ kind: "status", status, code, retryable: false });

/** Asserts that the progress never decreases. */
export function expectIncreasing(ticks: readonly Progress[]): void {
  const values = ticks.map(({ progress }) => progress);
  expect(values).toEqual(values.toSorted((one, other) => one - other));
}

export async function createRunArguments(service: Service, file: number) {
  const { recipe } = await findOneInputOffer(service);
  return {
    workspaceId: service.emulator.workspaceId,
    recipeVersionId: recipe.versionId,
    inputs: [{ port: recipe.inputs[0]?.name, referenceId: fileId(service, file) }],
    parameterValues: createValue(recipe.parameters),
  };
}

/** Arguments of run_jobs on these files. */
export async function createBatchArguments(service: Service, files: readonly number[]) {
  const { inputs: _, ...common } = await createRunArguments(service, FILE.succeeds);
  return { ...common, files: files.map((file) => fileId(service, file)) };
}

export class Bench {
  readonly connection: TestClient;
  readonly downloadDir: string;
  readonly #schemas: Schemas;
  readonly #service: Service;
  #world: Promise<ExampleData> | undefined;
  #newActions = 0;

  constructor(service: Service, connection: TestClient, downloadDir: string, schemas: Schemas) {
    this.#service = service;
    this.connection = connection;
    this.downloadDir = downloadDir;
    this.#schemas = schemas;
  }

  /** The same bench with another connection. */
  withConnection(connection: TestClient): Bench {
    return new Bench(this.#service, connection, this.downloadDir, this.#schemas);
  }

  /** The same emulator over plain HTTP, to prepare data and to check effects. */
  get service(): Service {
    return this.#service;
  }

  get clock(): ManualClock {
    return this.#service.clock;
  }

  get workspaceId(): string {
    return this.#service.emulator.workspaceId;
  }

  /** Resources for example arguments; created at the first use. */
  world(): Promise<ExampleData> {
    this.#world ??= createExampleData(this.#service);
    return this.#world;
  }

  /** Arguments with which the operation's tool succeeds. */
  async argumentsFor(id: OperationId): Promise<Args> {
    return await validCall(operations[id].tool, await this.world());
  }

  /** Arguments of an action that this bench has not performed before: those of the example, with a new key. */
  async newAction(id: PostId): Promise<Args> {
    this.#newActions += 1;
    return { ...(await this.argumentsFor(id)), idempotencyKey: `new-action-${this.#newActions}` };
  }

  call(tool: string, args?: Args, options?: CallOptions): Promise<CallResult> {
    return this.connection.callTool(tool, args, options);
  }

  /**
   * Options that advance the emulator's clock by a minute at each progress notification, so that no test waits longer than
   * necessary.
   */
  withAdvancingClock(ticks: Progress[] = []): CallOptions {
    return {
      onprogress: (tick) => {
        ticks.push(tick);
        this.clock.advance(60_000);
      },
    };
  }

  /** Makes a call that must succeed, and checks the rules for every success. */
  async ok(tool: string, args?: Args, options?: CallOptions) {
    const result = await this.call(tool, args, options);
    expect(result.isError, result.text).toBe(false);
    expect(result.error).toBeUndefined();
    const { structured, text, links } = result;
    // At most one link, to the resource that the result describes, follows the text.
    expect(links.length).toBeLessThanOrEqual(1);
    for (const link of links) expect(link).toMatch(/^mic:\/\/[a-z]/);
    if (structured === undefined) throw new Error(`${tool} gave no structuredContent: ${result.raw}`);
    const schema = this.#schemas.output(tool);
    if (schema) expectValid(schema, structured, `${tool}'s structuredContent`);
    else expect(structured, tool).toMatchObject({ summary: expect.any(String) });
    this.#expectCompleteText(tool, structured, text);
    const step = NextStep.optional().parse(structured["nextStep"]);
    if (step) expectValid(this.#schemas.input(step.tool), step.arguments, `the next step ${step.tool}`);
    // requestId is the id of the API's response.
    const { "mic-mcp/drift": drift, "mic-mcp/requestId": requestId } = result.meta;
    return { structured, text, link: links[0], drift, requestId };
  }

  /** Makes a call that must succeed, and returns the id of the resource in its result. */
  async idFrom(tool: string, args: Args, options?: CallOptions): Promise<string> {
    return z.looseObject({ id: z.string() }).parse((await this.ok(tool, args, options)).structured["data"]).id;
  }

  /** Checks that the text contains all facts and is not much longer than the JSON. */
  #expectCompleteText(tool: string, structured: Readonly<Record<string, unknown>>, text: string): void {
    const json = JSON.stringify(structured);
    // A sentence about a few bytes of JSON, or the name of a source, is many times longer, but still short.
    expect(text.length, `${tool}'s text beside its JSON`).toBeLessThanOrEqual(Math.max(350, 1.2 * json.length));
    // The request id is for support, and the contract's constant is for programs: neither is a fact of the answer.
    const { meta: _meta, contract: _contract, page, ...facts } = structured;
    const expectedFacts = {
      ...facts,
      nextCursor: z.object({ nextCursor: z.string() }).safeParse(page).data?.nextCursor,
    };
    // A table for humans separates thousands.
    const plain = text.replace(/(?<=\d),(?=\d{3})/g, "");
    const isMentioned = (fact: string) =>
      plain.includes(fact) || text.includes(fact) || text.includes(JSON.stringify(fact).slice(1, -1));
    const missing = factsIn(expectedFacts).filter((fact) => !isMentioned(fact));
    expect(missing, `facts of ${tool} that its text leaves out`).toEqual([]);
  }

  /** Makes a call that must fail with this kind of error, and checks the rules for every failure. */
  async fails(tool: string, args: Args, kind: Facts["kind"]) {
    return this.expectFailure(await this.call(tool, args), kind);
  }

  expectFailure(result: CallResult, kind: Facts["kind"]) {
    expect(result.isError, result.raw).toBe(true);
    expect(result.structured).toBeUndefined();
    expect(result.blocks).toBe(1);
    const { error, text } = result;
    if (error === undefined) throw new Error(`no _meta["mic-mcp/error"]: ${result.raw}`);
    expect(error.kind, text).toBe(kind);
    const { message, code, next, idempotencyKey, requestId, retryAfterSeconds, fieldErrors = [] } = error;
    const fields = fieldErrors.slice(0, 20).map(({ pointer, message }) => [pointer, message]);
    // Texts of the API are quoted.
    const missing = factsIn([message, kind, code, next, idempotencyKey, requestId, retryAfterSeconds, fields]).filter(
      (fact) => !text.includes(fact) && !text.includes(JSON.stringify(fact).slice(1, -1)),
    );
    expect(missing, text).toEqual([]);
    return { ...error, text };
  }

  /** Makes a call whose arguments must be refused, with all these pointers. `expectNothingSent` checks that nothing was sent. */
  async refuses(tool: string, args: Args, ...pointers: readonly string[]) {
    // A call that lacks only the workspace is refused because of the setup.
    const lacksWorkspace = pointers.join() === "/workspaceId" && args["workspaceId"] === undefined;
    const failed = await this.fails(tool, args, lacksWorkspace ? "not_configured" : "invalid_arguments");
    expect(failed).toMatchObject({ sideEffect: "none", retryable: false });
    if (lacksWorkspace) return { ...failed, fieldErrors: [{ pointer: "/workspaceId", message: failed.message }] };
    // Only errors of the API have a status.
    expect(failed.status, failed.text).toBeUndefined();
    const named = (failed.fieldErrors ?? []).map(({ pointer }) => pointer);
    for (const pointer of pointers) expect(named, failed.text).toContain(pointer);
    return failed;
  }

  /** Asserts that `run` sends no request to the API, not even for a token. */
  async expectNothingSent<T>(run: () => Promise<T>): Promise<T> {
    const before = (await this.#readLog()).length;
    const result = await run();
    expect(await this.#readLog()).toHaveLength(before);
    return result;
  }

  async requests(operationId: string): Promise<readonly SentRequest[]> {
    return SentRequests.parse((await this.#readLog()).filter((entry) => Object(entry).operationId === operationId));
  }

  /** The result of `run`, and the requests that the server sends during it, without token requests. */
  async capture<T>(run: () => Promise<T>) {
    const before = (await this.#readLog()).length;
    const result = await run();
    const sent = SentRequests.parse((await this.#readLog()).slice(before));
    return { result, sent: sent.filter(({ operationId }) => operationId !== "token") };
  }

  /** The requests that the server sends during `run`, without token requests. */
  captureRequests = async (run: () => Promise<unknown>): Promise<readonly SentRequest[]> =>
    (await this.capture(run)).sent;

  /** The emulator's log. It keeps the last 1,000 requests, so a full log would show no difference. */
  async #readLog(): Promise<readonly unknown[]> {
    const response = await fetch(`${this.#service.emulator.baseUrl}/__emulator/requests`);
    const entries: unknown = await response.json();
    if (!Array.isArray(entries) || entries.length >= 1000) throw new Error("the emulator's log is full, or none");
    return entries;
  }
}

/**
 * Connects the same emulator with a server that has empty caches, because geography is cached after a read. The bench is for the running
 * test only; changes to the emulator's geography are undone when it ends.
 */
export async function createFreshBench(
  bench: Bench,
  revision: ClientRevision,
  env: Readonly<Record<string, string>> = {},
): Promise<Bench> {
  onTestFinished(async () => {
    await bench.service.admin("DELETE", "geography");
  });
  const settings = { MIC_DOWNLOAD_DIR: bench.downloadDir, MIC_GEOGRAPHY_RATE_LIMIT: "600", ...env };
  return bench.withConnection(
    await inProcessClientForTest(revision, { ...emulatorEnv(bench.service.emulator), ...settings }),
  );
}

export const isPlayground = ({ path }: { readonly path: string }): boolean => path.startsWith("/api/");
