// Measures the tokens of single answers and of the list of tools, in worlds whose clock is stopped.
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/v4";
import type { ToolArguments } from "./agent.ts";
import { countModelTokens } from "./count-tokens.ts";
import { findIds } from "./scripted/results.ts";
import { createJobArguments, findRecipeId, NORMALIZE, VINTAGE } from "./tasks/setup.ts";
import { World, type WorldOptions } from "./world.ts";

export interface Measurement {
  readonly label: string;
  readonly tokens: number;
  readonly budget: number;
  /** Limit that applies as long as the budget is exceeded. */
  readonly currentLimit?: number;
}

const STOPPED_CLOCK: WorldOptions = { clockRate: 0 };
const PAGE = 100;
const POLL_INTERVAL_MS = 20;
const Page = z.looseObject({ data: z.array(z.looseObject({ createdAt: z.string() })) });

/** Returns the result that the agent is shown; throws if the call fails. */
async function callTool(world: World, tool: string, args: ToolArguments = {}): Promise<ToolArguments> {
  const result = await world.client.call(tool, args);
  if (result.isError) throw new Error(`${tool}: ${result.text}`);
  return result.data;
}

async function callForId(
  world: World,
  prefix: string,
  tool: string,
  args: ToolArguments,
): Promise<[id: string, tokens: number]> {
  const data = await callTool(world, tool, args);
  const [id] = findIds(JSON.stringify(data["data"]), prefix);
  if (id === undefined) throw new Error(`${tool} names no ${prefix}`);
  return [id, countModelTokens(data)];
}

/** Measures a call of run_job that returns a succeeded job: the clock advances when the job has been submitted. */
async function measureRunJob(world: World): Promise<number> {
  const run = callTool(world, "run_job", await createJobArguments(world, "lgd-states.csv"));
  const submitted = await world.countExecutions("createMicJob");
  while ((await world.countExecutions("createMicJob")) === submitted) await sleep(POLL_INTERVAL_MS);
  world.advanceClock(60_000);
  const result = await run;
  if (!JSON.stringify(result).includes('"SUCCEEDED"'))
    throw new Error(`the job did not succeed: ${JSON.stringify(result)}`);
  return countModelTokens(result);
}

/** Measures the results for an agent that registers inputs, submits jobs and follows them. */
async function measureJobs(world: World): Promise<readonly Measurement[]> {
  const recipeVersionId = await findRecipeId(world, NORMALIZE);
  const submit = async (fileName: string): Promise<{ job: string; registered: number; submitted: number }> => {
    const file = { inputKind: "M4_FILE", referenceId: world.fileId(fileName) };
    const [inputId, registered] = await callForId(world, "micinput", "register_input", file);
    const [job, submitted] = await callForId(world, "micjob", "submit_job", {
      recipeVersionId,
      inputBindings: [{ port: "divisions", inputId }],
      parameterValues: { level: "DISTRICT", vintage: VINTAGE },
    });
    return { job, registered, submitted };
  };
  const measureGetJob = async (jobId: string, args: ToolArguments = {}): Promise<number> =>
    countModelTokens(await callTool(world, "get_job", { jobId, ...args }));

  const { job, registered, submitted } = await submit("lgd-districts.csv");
  world.advanceClock(2_000);
  const running = await measureGetJob(job);
  const emptyPoll = await measureGetJob(job, { waitSeconds: 1 });
  const failing = await submit("survey-overloaded.csv");
  world.advanceClock(60_000);
  return [
    { label: "register_input, READY", tokens: registered, budget: 160 },
    { label: "submit_job", tokens: submitted, budget: 270 },
    { label: "get_job, RUNNING", tokens: running, budget: 220 },
    { label: "get_job, a poll that found nothing new", tokens: emptyPoll, budget: 110 },
    { label: "get_job, FAILED", tokens: await measureGetJob(failing.job), budget: 270 },
    { label: "get_job, SUCCEEDED", tokens: await measureGetJob(job), budget: 250 },
    {
      label: "run_job, SUCCEEDED",
      tokens: await measureRunJob(world),
      budget: 160,
    },
  ];
}

async function measureWorkspace(world: World): Promise<readonly Measurement[]> {
  const page = await callTool(world, "list_jobs", { limit: PAGE });
  const createdSince = Page.parse(page).data.at(-1)?.createdAt;
  const failed = { limit: PAGE, createdSince };
  const measureCall = async (tool: string, args?: ToolArguments): Promise<number> =>
    countModelTokens(await callTool(world, tool, args));
  return [
    { label: "list_jobs, 100 rows", tokens: countModelTokens(page), budget: 4_600, currentLimit: 5_500 },
    {
      label: "list_jobs, the failed ones of 100",
      tokens: await measureCall("list_jobs", { ...failed, states: ["FAILED"] }),
      budget: 900,
    },
    { label: "get_usage", tokens: await measureCall("get_usage", { window: "DAY" }), budget: 450 },
    { label: "get_capabilities", tokens: await measureCall("get_capabilities"), budget: 420 },
  ];
}

async function measureTools({ client }: World): Promise<readonly Measurement[]> {
  return [
    { label: "tools/list: names, descriptions, inputs", tokens: countModelTokens(client.tools), budget: 4_100 },
    { label: "tools/list: everything", tokens: countModelTokens(client.toolList), budget: 6_400 },
  ];
}

const measureMissingLists = async (world: World): Promise<readonly Measurement[]> => {
  const answer = await callTool(world, "find_district", { name: "Nizamabad", waitSeconds: 0 });
  return [{ label: "find_district, lists missing", tokens: countModelTokens(answer), budget: 180 }];
};

/** The server's default rate, which is too low to read all lists at once. */
const DEFAULT_RATE: WorldOptions = { clockRate: 0, settings: { MIC_GEOGRAPHY_RATE_LIMIT: "28" } };

export async function measureAnswers(): Promise<readonly Measurement[]> {
  const all: Measurement[] = [];
  for (const [options, measureGroup] of [
    [STOPPED_CLOCK, measureJobs],
    [STOPPED_CLOCK, measureWorkspace],
    [DEFAULT_RATE, measureMissingLists],
    [STOPPED_CLOCK, measureTools],
  ] as const) {
    const world = await World.open(options);
    try {
      all.push(...(await measureGroup(world)));
    } finally {
      await world.close();
    }
  }
  return all;
}
