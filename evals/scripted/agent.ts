// The built-in agent: a script for each task.
import type { Agent } from "../agent.ts";
import { faults } from "./faults.ts";
import { geography } from "./geography.ts";
import { manyJobs } from "./many-jobs.ts";
import { oneJob } from "./one-job.ts";
import { review } from "./review.ts";
import type { Script } from "./script.ts";
import { secondReview } from "./second-review.ts";
import { workspace } from "./workspace.ts";

const scripts: Readonly<Record<string, Script>> = {
  ...oneJob,
  ...manyJobs,
  ...faults,
  ...geography,
  ...workspace,
  ...review,
  ...secondReview,
};

export const scriptedAgent: Agent = {
  name: "scripted",
  work({ task, request }, client) {
    const script = scripts[task];
    if (script === undefined) throw new Error(`no script does task ${task}`);
    return script(request, client);
  },
};
