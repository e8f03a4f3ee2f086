// An agent at work: each task in a world of its own, and what came of it.
import type { Agent } from "./agent.ts";
import type { Usage } from "./agent-client.ts";
import type { Task } from "./tasks/task.ts";
import { World } from "./world.ts";

export interface Outcome extends Usage {
  readonly task: Task;
  /** What is wrong with how it ended; nothing: it was done. */
  readonly problems: readonly string[];
}

export async function runTask(task: Task, agent: Agent): Promise<Outcome> {
  const world = await World.open(task.world);
  try {
    const { request, verdict } = await task.prepare(world);
    const answer = await agent.work({ task: task.id, request }, world.client).catch((error: unknown) => error);
    const usage = { ...world.client.usage };
    if (typeof answer !== "string") return { task, ...usage, problems: [`it gave up: ${answer}`] };
    return { task, ...usage, problems: (await verdict(answer)).filter((each) => each !== false) };
  } finally {
    await world.close();
  }
}
