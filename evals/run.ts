// try
import { scriptedAgent } from "./scripted/agent.ts";
import { tasks } from "./tasks/index.ts";
import { workOn } from "./work.ts";

for (const task of tasks) {
  if (process.argv.length > 2 && !process.argv.includes(task.id)) continue;
  const t = performance.now();
  const o = await workOn(task, scriptedAgent);
  console.log(task.id, o.calls, o.tokens, Math.round(performance.now() - t), o.wrong.join(" | ").slice(0, 1500));
}
