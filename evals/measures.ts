// What single answers and the list of tools weigh, each in a state that is brought about on a clock that stands still.
import * as z from "zod/v4";
import type { Args } from "./agent.ts";
import { idsIn, NORMALIZE, recipeId, VINTAGE } from "./tasks/setting.ts";
import { weigh } from "./weigh.ts";
import { World, type WorldOptions } from "./world.ts";

export interface Measured {
  readonly what: string;
  readonly tokens: number;
  readonly budget: number;
  /** Where the budget is not reached yet: what must not be exceeded until it is. */
  readonly reached?: number;
}

const STILL: WorldOptions = { pace: 0 };
const PAGE = 100;
const Page = z.looseObject({ data: z.array(z.looseObject({ createdAt: z.string() })) });

/** What the agent is shown of a call that succeeds. */
async function shown(world: World, tool: string, args: Args = {}): Promise<Args> {
  const result = await world.desk.call(tool, args);
  if (result.isError) throw new Error(`${tool}: ${result.text}`);
  return result.data;
}

async function idFrom(world: World, prefix: string, tool: string, args: Args): Promise<[id: string, tokens: number]> {
  const data = await shown(world, tool, args);
  const [id] = idsIn(JSON.stringify(data["data"]), prefix);
  if (id === undefined) throw new Error(`${tool} names no ${prefix}`);
  return [id, weigh(data)];
}

/** One agent registers, submits and follows jobs. */
async function jobs(world: World): Promise<readonly Measured[]> {
  const recipeVersionId = await recipeId(world, NORMALIZE);
  const submit = async (fileName: string): Promise<{ job: string; registered: number; submitted: number }> => {
    const file = { inputKind: "M4_FILE", referenceId: world.file(fileName) };
    const [inputId, registered] = await idFrom(world, "micinput", "register_input", file);
    const [job, submitted] = await idFrom(world, "micjob", "submit_job", {
      recipeVersionId,
      inputBindings: [{ port: "divisions", inputId }],
      parameterValues: { level: "DISTRICT", vintage: VINTAGE },
    });
    return { job, registered, submitted };
  };
  const look = async (jobId: string, args: Args = {}): Promise<number> =>
    weigh(await shown(world, "get_job", { jobId, ...args }));

  const { job, registered, submitted } = await submit("lgd-districts.csv");
  world.pass(2_000);
  const running = await look(job);
  const nothingNew = await look(job, { waitSeconds: 1 });
  const broken = await submit("survey-overloaded.csv");
  world.pass(60_000);
  return [
    { what: "register_input, READY", tokens: registered, budget: 150 },
    { what: "submit_job", tokens: submitted, budget: 270 },
    { what: "get_job, RUNNING", tokens: running, budget: 220 },
    { what: "get_job, a poll that found nothing new", tokens: nothingNew, budget: 110 },
    { what: "get_job, FAILED", tokens: await look(broken.job), budget: 270 },
    { what: "get_job, SUCCEEDED", tokens: await look(job), budget: 250 },
  ];
}

async function workspace(world: World): Promise<readonly Measured[]> {
  const page = await shown(world, "list_jobs", { limit: PAGE });
  const createdSince = Page.parse(page).data.at(-1)?.createdAt;
  const failed = { limit: PAGE, createdSince };
  const weight = async (tool: string, args?: Args): Promise<number> => weigh(await shown(world, tool, args));
  return [
    { what: "list_jobs, 100 rows", tokens: weigh(page), budget: 4_600, reached: 5_450 },
    {
      what: "list_jobs, the failed ones of 100",
      tokens: await weight("list_jobs", { ...failed, states: ["FAILED"] }),
      budget: 900,
      reached: 1_780,
    },
    { what: "get_usage", tokens: await weight("get_usage", { window: "DAY" }), budget: 450 },
    { what: "get_capabilities", tokens: await weight("get_capabilities"), budget: 420 },
  ];
}

async function tools({ desk }: World): Promise<readonly Measured[]> {
  return [
    { what: "tools/list: names, descriptions, inputs", tokens: weigh(desk.tools), budget: 3_400 },
    { what: "tools/list: everything", tokens: weigh(desk.listing), budget: 5_300 },
  ];
}

const measureMissingLists = async (world: World): Promise<readonly Measured[]> => {
  const answer = await shown(world, "find_district", { name: "Nizamabad", waitSeconds: 0 });
  return [{ what: "find_district, lists missing", tokens: weigh(answer), budget: 180 }];
};

/** The rate that a server allows itself unless told otherwise: it cannot read all lists at once. */
const SLOW: WorldOptions = { pace: 0, geographyRate: 28 };

export async function measure(): Promise<readonly Measured[]> {
  const all: Measured[] = [];
  for (const [options, look] of [
    [STILL, jobs],
    [STILL, workspace],
    [SLOW, measureMissingLists],
    [STILL, tools],
  ] as const) {
    const world = await World.open(options);
    try {
      all.push(...(await look(world)));
    } finally {
      await world.close();
    }
  }
  return all;
}
