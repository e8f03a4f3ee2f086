// An agent at work: each task in a world of its own, and what came of it.
import type { Agent } from "./agent.ts";
import type { Count } from "./desk.ts";
import type { Task } from "./tasks/task.ts";
import { World } from "./world.ts";

export interface Outcome extends Count {
  readonly task: Task;
  /** What is wrong with how it ended; nothing: it was done. */
  readonly wrong: readonly string[];
}

export async function workOn(task: Task, agent: Agent): Promise<Outcome> {
  const world = await World.open(task.world);
  try {
    const { request, verdict } = await task.prepare(world);
    const answer = await agent.work({ task: task.id, request }, world.desk).catch((error: unknown) => error);
    const count = { ...world.desk.count };
    if (typeof answer !== "string") return { task, ...count, wrong: [`it gave up: ${answer}`] };
    return { task, ...count, wrong: (await verdict(answer)).filter((each) => each !== false) };
  } finally {
    await world.close();
  }
}
