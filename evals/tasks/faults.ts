// Work that faults disturb. Whatever an agent does that obeys the words: one job, once.
import { setTimeout as sleep } from "node:timers/promises";
import type { Args } from "../agent.ts";
import type { World } from "../world.ts";
import { idsIn, NORMALIZE, recipeId, stateOf, VINTAGE } from "./setting.ts";
import type { Task } from "./task.ts";

const PORTAL: Args = { kind: "body", status: 200, contentType: "text/html", body: "<html><h1>Sign in</h1></html>" };
const LOOK_MS = 20;

interface Disturbed {
  readonly id: string;
  readonly title: string;
  readonly before?: Task["before"];
  readonly isProcess?: boolean;
  disturb(world: World): Promise<void>;
}

const disturbed = ({ id, title, before, isProcess = false, disturb }: Disturbed): Task => ({
  id,
  title,
  ...(before && { before }),
  world: { pace: 30, isProcess },
  async prepare(world) {
    const recipe = await recipeId(world, NORMALIZE);
    await disturb(world);
    return {
      request: `Run recipe ${recipe} on file ${world.file("lgd-districts.csv")}. Its rows are districts, its facts are of ${VINTAGE}. One job, no second one.`,
      verdict: async (answer) => {
        const states = await Promise.all(idsIn(answer, "micjob").map((job) => stateOf(world, job)));
        return [
          (await world.executions("createMicJob")) !== 1 && "not one job was submitted",
          (await world.executions("createMicPublicInput")) !== 1 && "not one input was registered",
          !states.includes("SUCCEEDED") && `no job that is named has succeeded: ${answer}`,
        ];
      },
    };
  },
});

/** Kills the agent's server when its job has been submitted and nobody has heard of it. */
async function killOnceSubmitted(world: World): Promise<void> {
  while ((await world.executions("createMicJob")) === 0) await sleep(LOOK_MS);
  world.desk.kill();
}

export const faults: readonly Task[] = [
  disturbed({
    id: "15a",
    title: "answers are lost on their way, each once",
    before: { calls: 45, tokens: 14300 },
    async disturb(world) {
      await world.fault({ kind: "drop-before" }, "createMicPublicInput");
      await world.fault({ kind: "drop-after" }, "createMicJob");
      await world.fault({ kind: "truncate" }, "getMicJob");
    },
  }),
  disturbed({
    id: "15b",
    title: "limits, an expired token, a service that is away",
    async disturb(world) {
      await world.fault({ kind: "status", status: 429, retryAfterSeconds: 1 }, "createMicPublicInput");
      await world.fault({ kind: "expire-token" }, "createMicJob");
      await world.fault({ kind: "status", status: 503 }, "getMicJob", 2);
    },
  }),
  disturbed({
    id: "15c",
    title: "a page from something in between instead of the answer",
    disturb: (world) => world.fault(PORTAL, "createMicJob"),
  }),
  disturbed({
    id: "15d",
    title: "the outcome is unknown, and the agent calls again in other words",
    disturb: (world) =>
      world.fault({ kind: "status", status: 503, retryAfterSeconds: 60, afterCommit: true }, "createMicJob"),
  }),
  disturbed({
    id: "15e",
    title: "the server is killed with the answer under way",
    isProcess: true,
    async disturb(world) {
      await world.fault({ kind: "hang", afterCommit: true }, "createMicJob");
      killOnceSubmitted(world).catch(() => undefined);
    },
  }),
];
