// The built-in agent: it does each task by the task's script.
import type { Agent } from "../agent.ts";
import { tasks } from "../tasks/index.ts";

export const scriptedAgent: Agent = {
  name: "scripted",
  work({ task, request }, client) {
    const found = tasks.find(({ id }) => id === task);
    if (found === undefined) throw new Error(`there is no task ${task}`);
    return found.script(request, client);
  },
};
