// All tasks, sorted by number.
import { faults } from "./faults.ts";
import { geography } from "./geography.ts";
import { manyJobs } from "./many-jobs.ts";
import { oneJob } from "./one-job.ts";
import type { Task } from "./task.ts";
import { workspace } from "./workspace.ts";

export const tasks: readonly Task[] = [...oneJob, ...manyJobs, ...faults, ...geography, ...workspace].sort(
  (a, b) => Number.parseInt(a.id, 10) - Number.parseInt(b.id, 10),
);
