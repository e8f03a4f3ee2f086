// Tasks with injected faults. An agent that follows the texts submits one job, once.
import { setTimeout as sleep } from "node:timers/promises";
import type { ToolArguments } from "../agent.ts";
import type { World } from "../world.ts";
import { findJobStates, findRecipeId, NORMALIZE, VINTAGE } from "./setup.ts";
import type { Task } from "./task.ts";

const CAPTIVE_PORTAL: ToolArguments = {
  kind: "body",
  status: 200,
  contentType: "text/html",
  body: "<html><h1>Sign in</h1></html>",
};
const POLL_INTERVAL_MS = 20;

interface FaultTaskOptions {
  readonly id: string;
  readonly title: string;
  readonly before?: Task["before"];
  readonly isProcess?: boolean;
  injectFaults(world: World): Promise<void>;
}

const createFaultTask = ({ id, title, before, isProcess = false, injectFaults }: FaultTaskOptions): Task => ({
  id,
  title,
  before,
  world: { clockRate: 30, isProcess },
  async prepare(world) {
    const recipe = await findRecipeId(world, NORMALIZE);
    await injectFaults(world);
    return {
      request: `Run recipe ${recipe} on file ${world.fileId("lgd-districts.csv")}. Its rows are districts, its facts are of ${VINTAGE}. One job, no second one.`,
      verdict: async (answer) => {
        const states = await findJobStates(world, answer);
        return [
          (await world.countExecutions("createMicJob")) !== 1 && "not one job was submitted",
          (await world.countExecutions("createMicPublicInput")) !== 1 && "not one input was registered",
          !states.includes("SUCCEEDED") && `no job that is named has succeeded: ${answer}`,
        ];
      },
    };
  },
});

/** Kills the agent's server after its job is submitted and before an answer arrives. */
async function killOnceSubmitted(world: World): Promise<void> {
  while ((await world.countExecutions("createMicJob")) === 0) await sleep(POLL_INTERVAL_MS);
  world.client.kill();
}

export const faults: readonly Task[] = [
  createFaultTask({
    id: "15a",
    title: "each response is lost once",
    before: { calls: 45, tokens: 14300 },
    async injectFaults(world) {
      await world.injectFault({ kind: "drop-before" }, "createMicPublicInput");
      await world.injectFault({ kind: "drop-after" }, "createMicJob");
      await world.injectFault({ kind: "truncate" }, "getMicJob");
    },
  }),
  createFaultTask({
    id: "15b",
    title: "rate limits, an expired token, an unavailable API",
    async injectFaults(world) {
      await world.injectFault({ kind: "status", status: 429, retryAfterSeconds: 1 }, "createMicPublicInput");
      await world.injectFault({ kind: "expire-token" }, "createMicJob");
      await world.injectFault({ kind: "status", status: 503 }, "getMicJob", 2);
    },
  }),
  createFaultTask({
    id: "15c",
    title: "a proxy answers instead of the API",
    injectFaults: (world) => world.injectFault(CAPTIVE_PORTAL, "createMicJob"),
  }),
  createFaultTask({
    id: "15d",
    title: "the outcome is unknown, and the agent repeats the call with other notes",
    injectFaults: (world) =>
      world.injectFault({ kind: "status", status: 503, retryAfterSeconds: 60, afterCommit: true }, "createMicJob"),
  }),
  createFaultTask({
    id: "15e",
    title: "the server is killed while it waits for the response",
    isProcess: true,
    async injectFaults(world) {
      await world.injectFault({ kind: "hang", afterCommit: true }, "createMicJob");
      killOnceSubmitted(world).catch(() => undefined);
    },
  }),
];
