// Runs one task with an agent in a new world, and returns the outcome. An answer without any work must not complete the task.
import type { Agent } from "./agent.ts";
import type { Usage } from "./agent-client.ts";
import type { Task } from "./tasks/task.ts";
import { World } from "./world.ts";

export interface Outcome extends Usage {
  readonly task: Task;
  /** Reasons why the task failed; empty if the task succeeded. */
  readonly problems: readonly string[];
}

export async function runTask(task: Task, agent: Agent): Promise<Outcome> {
  const world = await World.open(task.world);
  try {
    const { request, verdict, peerUsage = { calls: 0, tokens: 0 } } = await task.prepare(world);
    const isTrivial = (await verdict("It is done.")).every((each) => each === false);
    const answer = await agent.work({ task: task.id, request }, world.client).catch((error: unknown) => error);
    const { calls, tokens } = world.client.usage;
    const usage = { calls: calls + peerUsage.calls, tokens: tokens + peerUsage.tokens };
    if (isTrivial) return { task, ...usage, problems: ["an agent that does nothing completes it"] };
    if (typeof answer !== "string") return { task, ...usage, problems: [`it gave up: ${answer}`] };
    return { task, ...usage, problems: (await verdict(answer)).filter((each) => each !== false) };
  } finally {
    await world.close();
  }
}
