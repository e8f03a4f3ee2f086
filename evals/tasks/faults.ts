// Tasks with injected faults. An agent that follows the texts submits one job, once.
import type { ToolArguments } from "../agent.ts";
import { followAdvice, recoverAfterCrash, repeatWithOtherNote } from "../scripted/faults.ts";
import type { World } from "../world.ts";
import { checkSuccess, findRecipeId, NORMALIZE, VINTAGE } from "./setup.ts";
import type { Task } from "./task.ts";

const CAPTIVE_PORTAL: ToolArguments = {
  kind: "body",
  status: 200,
  contentType: "text/html",
  body: "<html><h1>Sign in</h1></html>",
};

interface FaultTaskOptions extends Pick<Task, "id" | "script" | "title" | "before" | "budget"> {
  readonly isProcess?: boolean;
  /** Returns the request, before the faults begin. */
  request?(world: World): Promise<string>;
  injectFaults(world: World): Promise<void>;
}

const requestDistricts = async (world: World): Promise<string> =>
  `Run recipe ${await findRecipeId(world, NORMALIZE)} on file ${world.fileId("lgd-districts.csv")}. Its rows are districts, its facts are of ${VINTAGE}. One job, no second one.`;

/** The agent must submit one job. The year of the world is 2100, so the API's clock and the server's are always skewed. */
export const createFaultTask = ({
  isProcess = false,
  request: describe = requestDistricts,
  injectFaults,
  ...task
}: FaultTaskOptions): Task => ({
  ...task,
  world: { clockRate: 30, isProcess },
  async prepare(world) {
    const request = await describe(world);
    await injectFaults(world);
    return {
      request,
      verdict: (answer) => checkSuccess(world, answer),
    };
  },
});

export const faults: readonly Task[] = [
  createFaultTask({
    id: "15a",
    script: followAdvice,
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
    script: followAdvice,
    title: "rate limits, an expired token, an unavailable API",
    async injectFaults(world) {
      await world.injectFault({ kind: "status", status: 429, retryAfterSeconds: 1 }, "createMicPublicInput");
      await world.injectFault({ kind: "expire-token" }, "createMicJob");
      await world.injectFault({ kind: "status", status: 503 }, "getMicJob", 2);
    },
  }),
  createFaultTask({
    id: "15c",
    script: followAdvice,
    title: "a proxy answers instead of the API",
    injectFaults: (world) => world.injectFault(CAPTIVE_PORTAL, "createMicJob"),
  }),
  createFaultTask({
    id: "15d",
    script: repeatWithOtherNote,
    title: "the outcome is unknown, and the agent repeats the call with other notes",
    injectFaults: (world) =>
      world.injectFault({ kind: "status", status: 503, retryAfterSeconds: 60, afterCommit: true }, "createMicJob"),
  }),
  createFaultTask({
    id: "15e",
    script: recoverAfterCrash,
    title: "the server is killed while it waits for the response",
    isProcess: true,
    async injectFaults(world) {
      await world.injectFault({ kind: "hang", afterCommit: true }, "createMicJob");
      world.killOnceSubmitted(world.client).catch(() => undefined);
    },
  }),
];
