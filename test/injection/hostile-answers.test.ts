// Tests that text of the API is treated as data: it adds no line, column or escape to the server's texts, and is never mixed with
// the server's own messages.
// Two servers read the same API, one with ordinary texts and one with hostile ones. Their outputs must have the same shape.
import fc from "fast-check";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod/v4";
import { endpoints } from "../../src/contract/endpoints/index.ts";
import { listMicJobs } from "../../src/contract/endpoints/job-processing.ts";
import { stubEnv } from "../api-client/client.ts";
import * as samples from "../contract/samples.ts";
import { sampleArguments } from "../fields.ts";
import { jobOperations, type OperationRow } from "../operations.ts";
import { runInProcess as run } from "../support/command.ts";
import { withEchoes } from "../support/echoes.ts";
import { openForFile } from "../support/for-file.ts";
import { connectInProcess, connectionForTest, inProcessClientForTest } from "../support/mcp.ts";
import type { CallResult } from "../support/results.ts";
import { answer, neverAnswer, type RecordedRequest, type Step, stubForFile } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { runCount } from "../support/thorough.ts";
import {
  attacks,
  CANARY,
  createFileAnswer,
  createRefusal,
  createSuccess,
  findEndpoint,
  forbidden,
  hostileTexts,
  plainTexts,
  REFUSALS,
  type Scenario,
  scenarios,
  type Texts,
  voiceTexts,
} from "./hostile.ts";

const SEED = 20261121;
const SIDES = ["plain", "hostile"] as const;
type Side = (typeof SIDES)[number];
type Both<T> = Readonly<Record<Side, T>>;

const stubOf = stubForFile();
const questions: Record<Side, string[]> = { plain: [], hostile: [] };

const environmentOf = (side: Side) => ({
  ...stubEnv({ baseUrl: `${stubOf().baseUrl}/${side}` }),
  MIC_GEOGRAPHY_RATE_LIMIT: "600",
});

const connectionOf = (side: Side) =>
  openForFile(
    () =>
      connectInProcess("v2-modern", {
        env: environmentOf(side),
        onElicitation(question) {
          questions[side].push(question);
          return { action: "accept", content: {} };
        },
      }),
    (client) => client.close(),
  );
const connections = { plain: connectionOf("plain"), hostile: connectionOf("hostile") };

let texts: Both<Texts> = { plain: plainTexts(0), hostile: plainTexts(0) };
let scenario: Scenario;
/** Answer of the API to a request instead of the usual one; undefined: the usual one. */
let refuse: ((side: Side, request: RecordedRequest) => Step | undefined) | undefined;
let tokens = 0;
let round = 0;

/** Complete texts of the API that look like the server's own lines. */
let serverLines = new Set<string>();

/** Starts a round with new ids and actions. Without a pool, each text of the API looks like a line of the server. */
function startRound(pool: readonly string[] | undefined, nextScenario: Scenario): void {
  round++;
  serverLines = new Set();
  const hostile = pool === undefined ? voiceTexts(round, serverLines) : hostileTexts(round, pool);
  texts = { plain: plainTexts(round), hostile };
  scenario = nextScenario;
}

const sideOf = (target: string): Side => (target.startsWith("/hostile/") ? "hostile" : "plain");

beforeEach(() => {
  // No wait between the attempts of a request.
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  onTestFinished(() => random.mockRestore());
  refuse = undefined;
  for (const side of SIDES) questions[side].length = 0;
  stubOf().respond((request) => {
    const side = sideOf(request.target);
    const endpoint = findEndpoint(request, `/${side}`);
    const refused = refuse?.(side, request);
    if (refused) return refused;
    if (endpoint === undefined) return answer(200, { access_token: `token-${++tokens}` });
    if (endpoint.success.body === "binary") return createFileAnswer(texts[side]);
    const { sent } = createSuccess(endpoint, scenario, texts[side]);
    return answer(endpoint.success.status, withEchoes(sent, request, true));
  });
});

const shapeOf = (text: string): readonly number[] => text.split("\n").map((line) => line.split("\t").length);

const unwanted = new Set(forbidden);
const findUnwanted = (text: string, allowed: string): readonly string[] =>
  [...text].filter((each) => (unwanted.has(each) && !allowed.includes(each)) || /\p{Surrogate}/u.test(each));

/** Removes texts in quotation marks, and words of a command that are quoted for a shell. */
const removeQuoted = (text: string): string =>
  text.replace(/"(?:[^"\\]|\\.)*"/g, '""').replace(/(?<= )'(?:[^']|'\\'')*'(?= |$)/g, "''");

function expectSentence(text: string): void {
  expect(findUnwanted(text, ""), JSON.stringify(text)).toEqual([]);
  expect(removeQuoted(text), text).not.toContain(CANARY);
}

/** Checks tab-separated lines: no cell is a raw text of the API, and no text of the API is outside quotes. */
function expectLines(text: string): void {
  for (const line of text.split("\n")) {
    for (const cell of line.split("\t")) {
      expectSentence(cell);
      expect(serverLines, text).not.toContain(cell);
    }
  }
}

function expectOneShape({ plain, hostile }: Both<string>): void {
  expectLines(hostile);
  expect(shapeOf(hostile), `${hostile}\n--- against ---\n${plain}`).toEqual(shapeOf(plain));
}

const Enveloped = z.looseObject({ meta: z.looseObject({ requestId: z.string() }) });
const Resolved = z.looseObject({ results: z.array(z.looseObject({ outcome: z.string(), finding: z.string() })) });

const StructuredTexts = z.looseObject({
  summary: z.string().optional(),
  nextStep: z.looseObject({ why: z.string() }).optional(),
  consistency: z.array(z.string()).optional(),
  coverage: z.looseObject({ missing: z.array(z.looseObject({ reason: z.string() })) }).optional(),
});

function expectSameShape({ plain, hostile }: Both<CallResult>): void {
  expect(hostile.isError, hostile.text).toBe(plain.isError);
  expectOneShape({ plain: plain.text, hostile: hostile.text });
  for (const path of z.array(z.string()).parse(hostile.meta["mic-mcp/drift"] ?? []))
    expect(findUnwanted(path, "")).toEqual([]);
  const { summary, nextStep, consistency = [], coverage } = StructuredTexts.parse(hostile.structured ?? {});
  const reasons = coverage?.missing.map(({ reason }) => reason) ?? [];
  for (const text of [summary, nextStep?.why, ...consistency, ...reasons]) expectSentence(text ?? "");
  if (!hostile.error) return;
  const { message, next = "" } = hostile.error;
  for (const sentence of [message, next, ...hostile.text.split("\n")]) expectSentence(sentence);
}

async function onBoth<T>(task: (side: Side) => Promise<T>): Promise<Both<T>> {
  const [plain, hostile] = await Promise.all(SIDES.map(task));
  if (plain === undefined || hostile === undefined) throw new Error("unreachable");
  return { plain, hostile };
}

type Args = Readonly<Record<string, unknown>>;

async function callBoth(tool: string, argsOf: (side: Side) => Args): Promise<Both<CallResult>> {
  const results = await onBoth((side) => connections[side]().callTool(tool, argsOf(side)));
  expectSameShape(results);
  return results;
}

const { workspaceId, recipeVersionId, inputBindings: inputs, parameterValues } = samples.createJob;
const order = { workspaceId, recipeVersionId, parameterValues, waitSeconds: 0 };

const required = (row: OperationRow): Args => ({
  ...sampleArguments(row, ({ isOptional }) => !isOptional),
  ...(row.idempotencyKey && { idempotencyKey: `a-sample-${round}` }),
});

let savedTables = 0;
/** Returns arguments of save_table with a new file name, because it overwrites no file. */
function saveTable(source: string, args: Args): Args {
  savedTables++;
  return { source, arguments: args, fileName: `table ${savedTables}.csv` };
}

const oneJob = (textFor: Texts) => ({ jobId: textFor("a job's id") });
const twoJobs = (textFor: Texts) => ({ jobIds: [textFor("a job's id"), textFor("another job's id")], waitSeconds: 0 });
const restart = (textFor: Texts) => ({ retryMode: "RESTART", reason: textFor("a reason") });
const keyed = (args: object, key: string): Args => ({ ...args, idempotencyKey: `${key} ${round}` });
/** Each round has jobs of its own, so that none is unresolved from another round. */
const ofRound = () => ({ parameterValues: { year: 2026 - round } });
const permission = { ...samples.createProcessingRequest, expiresAt: "2099-01-01T00:00:00Z" };
const noArguments = (): Args => ({});

const jobTools: Readonly<Record<string, (textFor: Texts) => Args>> = {
  ...Object.fromEntries(jobOperations.map((row) => [row.tool, () => required(row)])),
  register_input: () => ({ ...samples.createInput, idempotencyKey: `key-${round}` }),
  get_input: (textFor) => ({ inputId: textFor("an input's id") }),
  download_asset: (textFor) => ({ assetId: textFor("an asset's id") }),
  submit_job: () => keyed({ ...samples.createJob, ...ofRound() }, `"${CANARY}"`),
  get_job: oneJob,
  cancel_job: (textFor) => keyed({ ...oneJob(textFor), reason: textFor("a reason") }, "the key"),
  retry_job: (textFor) => keyed({ ...oneJob(textFor), ...restart(textFor) }, "another key"),
  get_operation: (textFor) => ({ operationId: textFor("an operation's id") }),
  request_file_processing: () => ({ ...permission, idempotencyKey: `request-${round}` }),
  list_actions: noArguments,
  resolve_actions: noArguments,
  run_job: () => keyed({ ...order, ...ofRound(), inputs }, `"${CANARY}" run`),
  run_jobs: () => keyed({ ...order, ...ofRound(), files: ["devfile_1"], port: inputs[0]?.port }, `"${CANARY}" runs`),
  retry_jobs: (textFor) => ({ ...twoJobs(textFor), ...restart(textFor) }),
  cancel_jobs: (textFor) => keyed({ ...twoJobs(textFor), reason: textFor("a reason") }, "a third key"),
  wait_for_jobs: twoJobs,
  save_table: () => saveTable("list_jobs", { workspaceId }),
};

/** These tools report the error of one job in its row. */
const batchTools: ReadonlySet<string> = new Set(["run_jobs", "retry_jobs", "cancel_jobs", "wait_for_jobs"]);

const geographyTools: Readonly<Record<string, (textFor: Texts) => Args>> = {
  get_geography_openapi: noArguments,
  list_states: noArguments,
  list_districts: () => ({ state: "TG" }),
  find_district: (textFor) => ({ name: textFor("listPlaygroundDistricts/districts/1/name"), limit: 3 }),
  rank_divisions: () => ({ level: "district", by: "mandalCount" }),
};

/** Calls of save_table with the tables of the geography tools. */
const geographyTables: readonly (readonly [source: string, args: Args])[] = [
  ["list_districts", { state: "TG" }],
  ["rank_divisions", { level: "district", by: "mandalCount" }],
];

/** The operations that read one resource, by their tools. */
const readsOne = new Map(
  jobOperations
    .filter(({ method, path, answer: schema }) => method === "GET" && path.includes("{") && schema !== undefined)
    .map(({ tool, id }) => [tool, id]),
);

/** Restricts texts to valid arguments: a reason has no control characters, and a path has no lone surrogates. */
const asArgument =
  (textFor: Texts): Texts =>
  (at, maxChars) =>
    textFor(at, maxChars)
      .replace(/\p{Surrogate}/gu, "")
      .replace(at.endsWith("reason") ? /\p{Cc}/gu : /$^/, "");

/** Calls of list_jobs and list_recipes with arguments other than the defaults. */
const otherLists: readonly (readonly [tool: string, args: Args])[] = [
  ["list_recipes", { workspaceId, view: "full" }],
  ["list_jobs", { workspaceId, view: "full" }],
  ["list_jobs", { workspaceId, createdSince: "2000-01-01T00:00:00Z" }],
];
const CATALOGUE = "mic://geography/catalogue.tsv";

function sampleOne<T>(arbitrary: fc.Arbitrary<T>): T {
  const [sample] = fc.sample(arbitrary, { seed: SEED, numRuns: 1 });
  if (sample === undefined) throw new Error("unreachable");
  return sample;
}
const sampleScenario = (): Scenario => sampleOne(scenarios);

const readError = (task: Promise<unknown>): Promise<string> =>
  task.then(
    () => "",
    (error: Error) => error.message,
  );

const argsFor = (args: (textFor: Texts) => Args) => (side: Side) => args(asArgument(texts[side]));

test("the test calls every tool", async () => {
  const tools = await connections.plain().listTools();
  const names = tools.map(({ name }) => name).sort();
  const called = [...Object.keys(jobTools), ...Object.keys(geographyTools)].sort();
  expect(called, "add the tool to jobTools or geographyTools").toEqual(names);
});

describe("hostile text of the API", () => {
  test("hostile text in job resources leaves the shape of tool results unchanged, and the data exact", async () => {
    const succeeded = new Set<string>();
    const property = fc.asyncProperty(attacks, scenarios, async (pool, nextScenario) => {
      startRound(pool, nextScenario);
      for (const [tool, args] of Object.entries(jobTools)) {
        const { hostile } = await callBoth(tool, argsFor(args));
        if (!hostile.isError) succeeded.add(tool);
        const endpoint = endpoints.find(({ id }) => id === readsOne.get(tool));
        if (!endpoint) continue;
        const full = await callBoth(tool, (side) => ({ ...argsFor(args)(side), view: "full" }));
        const { body } = createSuccess(endpoint, scenario, texts.hostile);
        const request = stubOf().requests.findLast((sent) => findEndpoint(sent, "/hostile") === endpoint);
        const { meta, ...rest } = Enveloped.parse(request && withEchoes(body, request, true));
        expect(full.hostile.structured).toMatchObject(rest);
        expect(full.hostile.meta["mic-mcp/requestId"]).toBe(meta.requestId);
      }
      for (const [tool, args] of otherLists) await callBoth(tool, () => args);
      const [plainly, hostilely] = SIDES.map((side) => questions[side].splice(0));
      expect(hostilely?.map(shapeOf)).toEqual(plainly?.map(shapeOf));
      for (const question of hostilely ?? []) expectSentence(question);
    });
    await fc.assert(property, { seed: SEED, numRuns: 8 });
    const failed = Object.keys(jobTools).filter((tool) => !succeeded.has(tool));
    expect(failed, "correct the `sample` in the row of test/operations.ts, or the arguments in jobTools").toEqual([]);
  });

  test("hostile text in geography answers, errors and catalogue.tsv leaves lines and columns unchanged", async () => {
    const pool = sampleOne(attacks);
    startRound(pool, sampleScenario());
    for (const form of REFUSALS) {
      refuse = (side) => createRefusal(form, texts[side], 422);
      for (const [tool, args] of Object.entries(geographyTools)) await callBoth(tool, argsFor(args));
    }
    refuse = undefined;
    for (const [tool, args] of Object.entries(geographyTools)) {
      const { hostile } = await callBoth(tool, argsFor(args));
      expect(hostile.isError, hostile.text).toBe(false);
      if (tool !== "get_geography_openapi") expectSentence(hostile.text.split("\n")[0] ?? "");
    }
    await callBoth("rank_divisions", () => ({ level: "state", by: "name" }));
    await callBoth("find_district", (side) => ({ name: "Adilabad", state: asArgument(texts[side])("a state") }));
    await callBoth("find_district", (side) => ({
      name: "Adilabad",
      state: asArgument(texts[side])("listPlaygroundStates/states/0/name"),
    }));
    const read = await onBoth(async (side) => (await connections[side]().readResource(CATALOGUE)).text);
    expectOneShape(read);
    const rows = read.hostile.split("\n").filter((line) => line !== "" && !line.startsWith("# "));
    expect(new Set(rows.map((row) => row.split("\t").length))).toEqual(new Set([5]));
    expect(rows).toHaveLength(10);
    for (const note of read.hostile.split("\n").filter((line) => line.startsWith("# "))) expectSentence(note);
  });

  test("no row of a job tool contains an unquoted text of the API that imitates a line of the server", async () => {
    for (const jobState of ["FAILED", "RUNNING", "SUCCEEDED", "WAITING_REVIEW"] as const) {
      startRound(undefined, { ...sampleScenario(), jobState });
      for (const [tool, args] of Object.entries(jobTools)) await callBoth(tool, argsFor(args));
      for (const [tool, args] of otherLists) await callBoth(tool, () => args);
    }
  });

  test("no geography row, line of catalogue.tsv or text of a view contains an unquoted imitation of a line of the server", async () => {
    const name = (at: number) => texts.hostile(`listPlaygroundDistricts/districts/${at}/name`);
    const env = { ...environmentOf("hostile"), MIC_WORKSPACE_ID: workspaceId };
    for (let times = 0; times < runCount(2, 5); times++) {
      startRound(undefined, { ...sampleScenario(), jobState: "FAILED" });
      const calls: readonly (readonly [tool: string, args: Args])[] = [
        ...Object.entries(geographyTools).map(([tool, args]) => [tool, argsFor(args)("hostile")] as const),
        ["find_district", { names: [name(0), name(1)] }],
        ["rank_divisions", { level: "state", by: "name" }],
        ...geographyTables.map(([source, args]) => ["save_table", saveTable(source, args)] as const),
        ["submit_job", samples.createJob],
        ["show_job", oneJob(asArgument(texts.hostile))],
        ["show_usage", { workspaceId, window: "DAY" }],
        ["show_actions", {}],
        ["show_divisions", { level: "state" }],
        ["show_divisions", { level: "district" }],
      ];
      // The caches of a new server are empty.
      const client = await inProcessClientForTest("v2-modern", env);
      for (const [tool, args] of calls) {
        const { isError, text } = await client.callTool(tool, args);
        expect(isError, text).toBe(false);
        expectLines(text);
      }
      expectLines((await client.readResource(CATALOGUE)).text);
    }
  });

  const journaled = ["register_input", "submit_job", "cancel_job", "retry_job", "request_file_processing"] as const;

  test("hostile text in the findings of resolve_actions is never outside quotes", async () => {
    const pool = sampleOne(attacks);
    const outcomes = new Set<string>();
    const actions = (form: (typeof REFUSALS)[number], status: number) => (side: Side, request: RecordedRequest) =>
      request.method === "POST" && findEndpoint(request, `/${side}`)
        ? createRefusal(form, texts[side], status)
        : undefined;
    const resolve = async (args: Args) => {
      const { hostile } = await callBoth("resolve_actions", () => args);
      expect(hostile.isError, hostile.text).toBe(false);
      const { results } = Resolved.parse(hostile.structured);
      for (const { outcome, finding } of results) {
        outcomes.add(outcome);
        expectSentence(finding);
      }
      return results.length;
    };
    for (const isRefused of [true, false]) {
      startRound(isRefused ? pool : undefined, { ...sampleScenario(), jobState: "PAUSED" });
      refuse = actions("no JSON", 200);
      const tried = journaled.map((tool) => callBoth(tool, argsFor(jobTools[tool] ?? noArguments)));
      for (const { hostile } of await Promise.all(tried))
        expect(hostile.error, hostile.text).toMatchObject({ sideEffect: "unknown" });
      // One action is resolved again without success: its row and the next step report it.
      expect(await resolve({ idempotencyKey: `request-${round}` })).toBe(1);
      refuse = isRefused ? actions("bare", 400) : undefined;
      expect(await resolve({})).toBe(journaled.length);
      refuse = undefined;
      await resolve({});
      expect(await resolve({})).toBe(0);
    }
    for (const question of questions.hostile) expectSentence(question);
    expect([...outcomes].sort()).toEqual(["rejected", "resolved", "still unknown"]);
  });

  test("hostile text in a refusal is never outside quotes", async () => {
    const refused = fc.asyncProperty(
      attacks,
      scenarios,
      fc.constantFrom(...REFUSALS),
      fc.constantFrom(400, 404, 409, 412, 422),
      async (pool, nextScenario, form, status) => {
        startRound(pool, nextScenario);
        refuse = (side) => createRefusal(form, texts[side], status);
        const { list_actions, resolve_actions, ...abroad } = jobTools;
        const tryTool = async (tool: string, args: (typeof abroad)[string] = noArguments) => {
          const { hostile } = await callBoth(tool, argsFor(args));
          const isFile = tool === "download_asset" && form.startsWith("no");
          if (!isFile && !batchTools.has(tool)) expect(hostile.isError, hostile.text).toBe(true);
        };
        const isBatch = ([tool]: readonly [string, unknown]): boolean => batchTools.has(tool);
        // Concurrently, because inconclusive answers are retried several times before they are reported. The tools for many jobs come
        // last, because their answers depend on outages that the other calls find.
        const all = Object.entries(abroad);
        await Promise.all(all.filter((entry) => !isBatch(entry)).map((entry) => tryTool(...entry)));
        await Promise.all(all.filter(isBatch).map((entry) => tryTool(...entry)));
        await callBoth("list_actions", argsFor(list_actions ?? noArguments));
      },
    );
    await fc.assert(refused, { seed: SEED, numRuns: runCount(2, 5), endOnFailure: true });
  });

  test("hostile text in a resource stays within one line of JSON, and hostile text in an error stays inside quotes", async () => {
    const paths = [
      ...["jobs/x", "inputs/x", "operations/x", "actions", `recipes/${recipeVersionId}`],
      ...["jobs", "recipes"].map((list) => `workspaces/${workspaceId}/${list}`),
      `processing-requests/${samples.processingRequest.id}`,
    ];
    const read = async (side: Side, path: string) => {
      const reading = connections[side]().readResource(`mic://${path}`);
      return { failed: await readError(reading), text: await reading.then(({ text }) => text).catch(() => "") };
    };
    const readable = fc.asyncProperty(attacks, scenarios, async (pool, nextScenario) => {
      startRound(pool, nextScenario);
      for (const form of [undefined, "bare", "no JSON"] as const) {
        refuse = form && ((side) => createRefusal(form, texts[side], 404));
        for (const path of paths) {
          const { plain, hostile } = await onBoth((side) => read(side, path));
          expectOneShape({ plain: plain.text, hostile: hostile.text });
          expectOneShape({ plain: plain.failed, hostile: hostile.failed });
          for (const line of hostile.failed.split("\n")) expectSentence(line);
          if (hostile.text !== "") expect(JSON.parse(hostile.text)).toBeTypeOf("object");
        }
      }
    });
    await fc.assert(readable, { seed: SEED, numRuns: runCount(2, 4) });
  });
});

describe("hostile text of a client", () => {
  test("hostile names of tools, prompts, arguments and URIs are quoted", async () => {
    const pool = sampleOne(attacks);
    for (const attack of pool.map((text) => `x ${text} ${CANARY}`)) {
      const client = connections.hostile();
      const errors = [
        await readError(client.callTool(attack)),
        await readError(client.getPrompt(attack)),
        await readError(client.getPrompt("diagnose_job", { jobId: "x", [attack]: "x" })),
        await readError(client.readResource(`mic://${attack}`)),
        await readError(client.complete({ type: "ref/resource", uri: attack }, "x", "x")),
        (await client.callTool("cancel_job", { jobId: "x", reason: "x", [attack]: 1 })).text,
      ];
      for (const error of errors) {
        expect(error).not.toBe("");
        for (const line of error.split("\n")) expectSentence(line);
      }
      // A read ignores the argument, and names it in its answer.
      const { isError, text } = await client.callTool("list_states", { [attack]: 1 });
      expect(isError, text).toBe(false);
      expectLines(text);
      expect(text).toContain("Ignored unknown argument");
      expect(shapeOf(text)).toEqual(shapeOf((await client.callTool("list_states", { x: 1 })).text));
      const prompt = await client.getPrompt("diagnose_job", { jobId: attack });
      expect(shapeOf(prompt)).toEqual(shapeOf(await client.getPrompt("diagnose_job", { jobId: "x" })));
      for (const line of prompt.split("\n")) expectSentence(line);
    }
  });
});

describe("terminal output", () => {
  test("the log and the output of doctor contain no terminal escapes", async () => {
    const pool = sampleOne(attacks);
    const textFor = hostileTexts(0, pool);
    for (const form of ["bare", "no token"] as const) {
      refuse = () => createRefusal(form, textFor, 422);
      const { stdout } = await run(["doctor"], { env: environmentOf("hostile") });
      expect(findUnwanted(stdout, "\n"), stdout).toEqual([]);
      for (const line of stdout.split("\n")) expectSentence(line);
    }
    const env = { ...environmentOf("hostile"), MIC_LOG_LEVEL: "debug" };
    const { callTool, stderr } = await connectionForTest("v2-modern", { env });
    for (const refusal of [refuse, undefined]) {
      startRound(pool, sampleScenario());
      refuse = refusal;
      for (const [tool, args] of Object.entries({ ...jobTools, ...geographyTools }))
        await callTool(tool, argsFor(args)("hostile"));
    }
    expect(stderr()).toContain("list_jobs");
    expect(findUnwanted(stderr(), "\n")).toEqual([]);
  });

  const toDoubleQuoted = (text: string): string => text.replace(/'[^'\n]*'/g, (quoted) => JSON.stringify(quoted));

  test.each([
    "call list_states",
    "call find_district name=Adilabad",
    "call rank_divisions level=district by=mandalCount",
    `call list_jobs workspaceId=${workspaceId}`,
    `call list_jobs workspaceId=${workspaceId} view=full`,
    "call get_job jobId=ID",
    'call wait_for_jobs jobIds=["x","y"] waitSeconds=0',
    "watch x",
  ])("%s prints no unquoted imitation of a line of the server and no invisible character", async (command) => {
    // `watch` runs for a failed job only, with each form of the texts.
    const isWatch = command.startsWith("watch");
    const states = ["FAILED", "SUCCEEDED"] as const;
    for (const jobState of isWatch ? Array.from({ length: 13 }, () => states[0]) : states) {
      startRound(undefined, { ...sampleScenario(), jobState });
      const args = command.split(" ").map((word) => word.replace("ID", () => texts.hostile("a job's id")));
      const { stdout, stderr } = await run(args, { env: environmentOf("hostile") });
      expect(stdout, stderr).toContain(isWatch ? "FAILED, at stage" : "\n");
      // The call of the next page is a shell command.
      expectLines(stdout.replace(/^Next page: .*$/m, toDoubleQuoted));
      expectLines(toDoubleQuoted(stderr));
    }
  });

  test("mic-mcp actions quotes ids that the API chose, and prints no invisible character in lines to copy", async () => {
    const env = { ...environmentOf("hostile"), MIC_STATE_DIR: await folderForTest() };
    const client = await connectInProcess("v2-modern", { env });
    for (let times = 0; times < 13; times++) {
      startRound(undefined, sampleScenario());
      await client.callTool("submit_job", { ...samples.createJob, idempotencyKey: `submitted-${times}` });
    }
    refuse = () => neverAnswer;
    const key = `Nothing was changed. ${CANARY}`;
    const unanswered = client
      .callTool("submit_job", { ...samples.createJob, idempotencyKey: key })
      .catch(() => undefined);
    const list = () => run(["actions"], { env });
    await expect.poll(async () => (await list()).stdout).toContain("\nmic-mcp resolve '");
    const { stdout } = await list();
    expect(stdout).toContain("submitted-12");
    expectLines(toDoubleQuoted(stdout));
    await client.close();
    await unanswered;
  });

  test("JSON output escapes invisible characters and keeps the value", async () => {
    startRound(undefined, sampleScenario());
    // JSON.stringify escapes the first 32 itself.
    const others = forbidden.slice(32);
    const pool = [0, 60, 120].map((at) => others.slice(at, at + 60).join(""));
    texts = { ...texts, hostile: hostileTexts(round, pool) };
    const env = environmentOf("hostile");
    const { stdout } = await run(["call", "list_jobs", `workspaceId=${workspaceId}`, "--json"], { env });
    expect(findUnwanted(stdout, "\n"), stdout).toEqual([]);
    const { body } = createSuccess(listMicJobs, scenario, texts.hostile);
    const data = Object(body).data.map(({ id }: { readonly id: string }) => ({ id }));
    expect(JSON.parse(stdout)).toMatchObject({ data });
    refuse = (side) => createRefusal("bare", texts[side], 422);
    const refused = await run(["call", "list_jobs", `workspaceId=${workspaceId}`, "--json"], { env });
    expect(findUnwanted(refused.stdout + refused.stderr, "\n")).toEqual([]);
    expect(JSON.parse(refused.stdout)).toMatchObject({ error: { status: 422 } });
    const downloadDir = "/x\u009b\u202e\u{e0041}";
    const doctor = await run(["doctor", "--offline", "--json"], { env: { ...env, MIC_DOWNLOAD_DIR: downloadDir } });
    expect(findUnwanted(doctor.stdout, "\n")).toEqual([]);
    expect(JSON.parse(doctor.stdout)).toMatchObject({ settings: { downloadDir } });
  });
});
