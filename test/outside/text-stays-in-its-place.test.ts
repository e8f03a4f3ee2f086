// Text of the service is data: no answer of it adds a line, a column or an escape to ours, and none speaks in our voice.
// Two servers read the same service, once with ordinary texts and once with hostile ones: what they say has one shape.
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod/v4";
import type { Endpoint } from "../../src/contract/endpoints/endpoint.ts";
import {
  getMicExecutableRecipe,
  getMicJob,
  getMicPublicInput,
  getMicPublicOperation,
  retryMicJob,
} from "../../src/contract/endpoints/job-processing.ts";
import * as samples from "../contract/samples.ts";
import { run } from "../mcp/stdio/child.ts";
import { connectionForFile } from "../support/mcp.ts";
import type { CallResult } from "../support/results.ts";
import { answer, type Step, stubForFile } from "../support/stub.ts";
import { runs } from "../support/thorough.ts";
import {
  attacks,
  CANARY,
  endpointOf,
  file,
  forbidden,
  hostileTexts,
  plainTexts,
  REFUSALS,
  refusal,
  success,
  type Texts,
  type Turn,
  turns,
} from "./hostile.ts";

const SEED = 20261121;
const SIDES = ["plain", "hostile"] as const;
type Side = (typeof SIDES)[number];
type Both<T> = Readonly<Record<Side, T>>;

const stubOf = stubForFile();
const questions: Record<Side, string[]> = { plain: [], hostile: [] };

const connectionOf = (side: Side) =>
  connectionForFile("v2-modern", () => ({
    env: {
      MIC_BASE_URL: `${stubOf().baseUrl}/${side}`,
      MIC_CLIENT_ID: "stub-client",
      MIC_CLIENT_SECRET: "stub-secret-0123456789",
      MIC_GEOGRAPHY_RATE: "600",
      MIC_LOG_LEVEL: "debug",
    },
    person(question) {
      questions[side].push(question);
      return { action: "accept", content: {} };
    },
  }));
const connections = { plain: connectionOf("plain"), hostile: connectionOf("hostile") };

let texts: Both<Texts> = { plain: plainTexts(0), hostile: plainTexts(0) };
let turn: Turn;
/** What the service answers instead. */
let refuse: ((side: Side) => Step) | undefined;
let tokens = 0;
let meetings = 0;

/** No id comes again, and no action. */
function meet(pool: readonly string[], now: Turn): void {
  meetings++;
  texts = { plain: plainTexts(meetings), hostile: hostileTexts(meetings, pool) };
  turn = now;
}

/** A retry names the job that it retries. */
function asRetryOf(target: string, sent: unknown): unknown {
  const [, jobId = ""] = /\/jobs\/([^/]+)\/retries$/.exec(target) ?? [];
  const { data, ...rest } = Object(sent);
  return { ...rest, data: { ...data, retryOfBatchId: decodeURIComponent(jobId) } };
}

const sideOf = (target: string): Side => (target.startsWith("/hostile/") ? "hostile" : "plain");

beforeEach(() => {
  refuse = undefined;
  for (const side of SIDES) questions[side].length = 0;
  stubOf().respond((request) => {
    const side = sideOf(request.target);
    const endpoint = endpointOf(request, `/${side}`);
    if (endpoint === undefined && refuse === undefined) return answer(200, { access_token: `token-${++tokens}` });
    if (refuse) return refuse(side);
    if (endpoint === undefined) throw new Error("unreachable");
    if (endpoint.success.body === "binary") return file(texts[side]);
    const { sent } = success(endpoint, turn, texts[side]);
    return answer(endpoint.success.status, endpoint === retryMicJob ? asRetryOf(request.target, sent) : sent);
  });
});

/** Lines and the cells of each. */
const shapeOf = (text: string): readonly number[] => text.split("\n").map((line) => line.split("\t").length);

const unwanted = (text: string, allowed: string): readonly string[] => [
  ...forbidden.filter((character) => !allowed.includes(character) && text.includes(character)),
  ...(/\p{Surrogate}/u.test(text) ? ["a lone surrogate"] : []),
];

/** What is left when all that is quoted is taken out. */
const ownWords = (text: string): string => text.replace(/"(?:[^"\\]|\\.)*"/g, '""');

function expectSentence(text: string): void {
  expect(unwanted(text, ""), JSON.stringify(text)).toEqual([]);
  expect(ownWords(text), text).not.toContain(CANARY);
}

function expectOneShape({ plain, hostile }: Both<string>): void {
  expect(unwanted(hostile, "\n\t"), JSON.stringify(hostile)).toEqual([]);
  expect(shapeOf(hostile), `${hostile}\n--- against ---\n${plain}`).toEqual(shapeOf(plain));
}

const Told = z.looseObject({
  summary: z.string().optional(),
  nextStep: z.looseObject({ why: z.string() }).optional(),
  consistency: z.array(z.string()).optional(),
  coverage: z.looseObject({ unread: z.array(z.looseObject({ reason: z.string() })) }).optional(),
});

function expectKept({ plain, hostile }: Both<CallResult>): void {
  expect(hostile.isError, hostile.text).toBe(plain.isError);
  expectOneShape({ plain: plain.text, hostile: hostile.text });
  for (const path of z.array(z.string()).parse(hostile.meta["mic-mcp/drift"] ?? []))
    expect(unwanted(path, "")).toEqual([]);
  const { summary, nextStep, consistency = [], coverage } = Told.parse(hostile.structured ?? {});
  const reasons = coverage?.unread.map(({ reason }) => reason) ?? [];
  for (const text of [summary, nextStep?.why, ...consistency, ...reasons]) expectSentence(text ?? "");
  if (!hostile.error) return;
  const { message, next = "" } = hostile.error;
  for (const sentence of [message, next, ...hostile.text.split("\n")]) expectSentence(sentence);
}

async function onBoth<T>(work: (side: Side) => Promise<T>): Promise<Both<T>> {
  const [plain, hostile] = await Promise.all(SIDES.map(work));
  if (plain === undefined || hostile === undefined) throw new Error("unreachable");
  return { plain, hostile };
}

type Args = Readonly<Record<string, unknown>>;

async function callBoth(tool: string, argsOf: (side: Side) => Args): Promise<Both<CallResult>> {
  const results = await onBoth((side) => connections[side]().callTool(tool, argsOf(side)));
  expectKept(results);
  return results;
}

const { recipeVersionId: versionId, inputBindings: inputs, parameterValues } = samples.createJob;
const { workspaceId } = samples.createJob;

/** Arguments for each tool; what an agent writes is text from outside, too. */
const jobTools: Readonly<Record<string, (say: Texts) => Args>> = {
  get_capabilities: () => ({ workspaceId }),
  register_input: () => ({ ...samples.createInput, idempotencyKey: `key-${meetings}` }),
  get_input: (say) => ({ inputId: say("an input's id") }),
  download_asset: (say) => ({ assetId: say("an asset's id") }),
  list_recipes: () => ({ workspaceId }),
  get_recipe: () => ({ versionId }),
  submit_job: () => ({ ...samples.createJob, idempotencyKey: `"${CANARY}" ${meetings}` }),
  list_jobs: () => ({ workspaceId }),
  get_job: (say) => ({ jobId: say("a job's id") }),
  cancel_job: (say) => ({ jobId: say("a job's id"), reason: say("a reason"), idempotencyKey: `the key ${meetings}` }),
  retry_job: (say) => ({
    jobId: say("a job's id"),
    retryMode: "RESTART",
    reason: say("a reason"),
    idempotencyKey: `another key ${meetings}`,
  }),
  get_operation: (say) => ({ operationId: say("an operation's id") }),
  get_usage: () => ({ workspaceId, window: "DAY" }),
  request_file_processing: () => ({
    ...samples.createProcessingRequest,
    expiresAt: "2099-01-01T00:00:00Z",
    idempotencyKey: `request-${meetings}`,
  }),
  get_file_processing_request: () => ({ requestId: samples.processingRequest.id }),
  list_actions: () => ({}),
  run_job: () => ({
    workspaceId,
    recipeVersionId: versionId,
    inputs,
    parameterValues,
    waitSeconds: 0,
    idempotencyKey: `"${CANARY}" run ${meetings}`,
  }),
  retry_jobs: (say) => ({
    jobIds: [say("a job's id"), say("another job's id")],
    retryMode: "RESTART",
    reason: say("a reason"),
    waitSeconds: 0,
  }),
  wait_for_jobs: (say) => ({ jobIds: [say("a job's id"), say("another job's id")], waitSeconds: 0 }),
};

/** What one job meets is told in its row. */
const ofMany: ReadonlySet<string> = new Set(["retry_jobs", "wait_for_jobs"]);

const geographyTools: Readonly<Record<string, (say: Texts) => Args>> = {
  get_geography_openapi: () => ({}),
  list_states: () => ({}),
  list_districts: () => ({ state: "TG" }),
  find_district: (say) => ({ name: say("listPlaygroundDistricts/districts/1/name"), limit: 3 }),
  rank_divisions: () => ({ level: "district", by: "mandalCount" }),
};

const readsOne: ReadonlyMap<string, Endpoint> = new Map<string, Endpoint>([
  ["get_job", getMicJob],
  ["get_input", getMicPublicInput],
  ["get_operation", getMicPublicOperation],
  ["get_recipe", getMicExecutableRecipe],
]);

/** What an agent may write: a reason holds no control characters, and a path no lone surrogates. */
const asArgument =
  (say: Texts): Texts =>
  (at, maxChars) =>
    say(at, maxChars)
      .replace(/\p{Surrogate}/gu, "")
      .replace(at.endsWith("reason") ? /\p{Cc}/gu : /$^/, "");

const argsFor = (args: (say: Texts) => Args) => (side: Side) => args(asArgument(texts[side]));

test("every tool is tried", async () => {
  const tools = await connections.plain().listTools();
  const names = tools.map(({ name }) => name).sort();
  expect([...Object.keys(jobTools), ...Object.keys(geographyTools)].sort()).toEqual(names);
});

describe("whatever the service says", () => {
  test("in the resources of jobs, the tools' answers keep their shape, and the data is exact", async () => {
    const succeeded = new Set<string>();
    const told = fc.asyncProperty(attacks, turns, async (pool, now) => {
      meet(pool, now);
      for (const [tool, args] of Object.entries(jobTools)) {
        const { hostile } = await callBoth(tool, argsFor(args));
        if (!hostile.isError) succeeded.add(tool);
        const endpoint = readsOne.get(tool);
        if (!endpoint) continue;
        const whole = await callBoth(tool, (side) => ({ ...argsFor(args)(side), view: "full" }));
        expect(whole.hostile.structured).toMatchObject(Object(success(endpoint, turn, texts.hostile).body));
      }
      for (const tool of ["list_recipes", "list_jobs"]) await callBoth(tool, () => ({ workspaceId, view: "full" }));
      const [plainly, hostilely] = SIDES.map((side) => questions[side].splice(0));
      expect(hostilely?.map(shapeOf)).toEqual(plainly?.map(shapeOf));
      for (const question of hostilely ?? []) expectSentence(question);
    });
    await fc.assert(told, { seed: SEED, numRuns: 8 });
    expect([...succeeded].sort()).toEqual(Object.keys(jobTools).sort());
  }, 60_000);

  test("in geography, refused and answered, and in catalogue.tsv, lines and columns stay as they are", async () => {
    const [pool = []] = fc.sample(attacks, { seed: SEED, numRuns: 1 });
    const [now] = fc.sample(turns, { seed: SEED, numRuns: 1 });
    if (!now) throw new Error("unreachable");
    meet(pool, now);
    for (const form of REFUSALS) {
      refuse = (side) => refusal(form, texts[side], 422);
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
    const uri = "mic://geography/catalogue.tsv";
    const read = await onBoth(async (side) => (await connections[side]().readResource(uri)).text);
    expectOneShape(read);
    const rows = read.hostile.split("\n").filter((line) => line !== "" && !line.startsWith("# "));
    expect(new Set(rows.map((row) => row.split("\t").length))).toEqual(new Set([5]));
    expect(rows).toHaveLength(10);
    for (const note of read.hostile.split("\n").filter((line) => line.startsWith("# "))) expectSentence(note);
  }, 30_000);

  test("in a refusal, nothing is said in our voice", async () => {
    const refused = fc.asyncProperty(
      attacks,
      turns,
      fc.constantFrom(...REFUSALS),
      fc.constantFrom(400, 404, 409, 412, 422),
      async (pool, now, form, status) => {
        meet(pool, now);
        refuse = (side) => refusal(form, texts[side], status);
        // At once: what proves nothing is asked for again and again before it is told.
        const { list_actions, ...abroad } = jobTools;
        const tried = Object.entries(abroad).map(async ([tool, args]) => {
          const { hostile } = await callBoth(tool, argsFor(args));
          const isFile = tool === "download_asset" && form.startsWith("no");
          if (!isFile && !ofMany.has(tool)) expect(hostile.isError, hostile.text).toBe(true);
        });
        await Promise.all(tried);
        await callBoth("list_actions", argsFor(list_actions ?? (() => ({}))));
      },
    );
    await fc.assert(refused, { seed: SEED, numRuns: runs(2, 5), endOnFailure: true });
  }, 180_000);

  test("in a resource, its JSON is one line, and what fails says so in one voice", async () => {
    const uris = [
      "jobs/x",
      "recipes/x",
      "inputs/x",
      "operations/x",
      `processing-requests/${samples.processingRequest.id}`,
    ];
    const paths = [...uris, `workspaces/${workspaceId}/jobs`, `workspaces/${workspaceId}/recipes`, "actions"];
    const read = (side: Side, path: string) =>
      connections[side]()
        .readResource(`mic://${path.replace("recipes/x", `recipes/${versionId}`)}`)
        .then(
          ({ text }) => ({ text, failed: "" }),
          (error: unknown) => ({ text: "", failed: error instanceof Error ? error.message : String(error) }),
        );
    const readable = fc.asyncProperty(attacks, turns, async (pool, now) => {
      meet(pool, now);
      for (const form of [undefined, "bare", "no JSON"] as const) {
        refuse = form && ((side) => refusal(form, texts[side], 404));
        for (const path of paths) {
          const { plain, hostile } = await onBoth((side) => read(side, path));
          expectOneShape({ plain: plain.text, hostile: hostile.text });
          expectOneShape({ plain: plain.failed, hostile: hostile.failed });
          for (const line of hostile.failed.split("\n")) expectSentence(line);
          if (hostile.text !== "") expect(JSON.parse(hostile.text)).toBeTypeOf("object");
        }
      }
    });
    await fc.assert(readable, { seed: SEED, numRuns: runs(2, 4) });
  }, 60_000);
});

describe("whatever a client says", () => {
  const failing = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => "",
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );

  test("names of tools, prompts, arguments and URIs are told within quotes", async () => {
    const [pool = []] = fc.sample(attacks, { seed: SEED, numRuns: 1 });
    for (const attack of pool.map((text) => `x ${text} ${CANARY}`)) {
      const client = connections.hostile();
      const errors = [
        await failing(client.callTool(attack)),
        await failing(client.getPrompt(attack)),
        await failing(client.getPrompt("diagnose_job", { jobId: "x", [attack]: "x" })),
        await failing(client.readResource(`mic://${attack}`)),
        await failing(client.complete({ type: "ref/resource", uri: attack }, "x", "x")),
        (await client.callTool("list_states", { [attack]: 1 })).text,
      ];
      for (const error of errors) {
        expect(error).not.toBe("");
        for (const line of error.split("\n")) expectSentence(line);
      }
      const prompt = await client.getPrompt("diagnose_job", { jobId: attack });
      expect(shapeOf(prompt)).toEqual(shapeOf(await client.getPrompt("diagnose_job", { jobId: "x" })));
      for (const line of prompt.split("\n")) expectSentence(line);
    }
  });
});

describe("what a person sees at a terminal", () => {
  test("the log and doctor hold no escapes", async () => {
    const [pool = []] = fc.sample(attacks, { seed: SEED, numRuns: 1 });
    const say = hostileTexts(0, pool);
    for (const form of ["bare", "no token"] as const) {
      refuse = () => refusal(form, say, 422);
      const env = {
        MIC_BASE_URL: `${stubOf().baseUrl}/hostile`,
        MIC_CLIENT_ID: "stub-client",
        MIC_CLIENT_SECRET: "stub-secret-0123456789",
      };
      const { stdout } = await run(["doctor"], { env });
      expect(unwanted(stdout, "\n"), stdout).toEqual([]);
      for (const line of stdout.split("\n")) expectSentence(line);
    }
    expect(unwanted(connections.hostile().stderr(), "\n")).toEqual([]);
  });
});
