// All tasks, sorted by id.
import { faults } from "./faults.ts";
import { geography } from "./geography.ts";
import { manyJobs } from "./many-jobs.ts";
import { oneJob } from "./one-job.ts";
import { review } from "./review.ts";
import { secondReview } from "./second-review.ts";
import type { Task } from "./task.ts";
import { unprepared } from "./unprepared.ts";
import { workspace } from "./workspace.ts";

/** Task A2 comes before A10, and both after task 18. */
const compareIds = new Intl.Collator("en", { numeric: true }).compare;

export const tasks: readonly Task[] = [
  ...oneJob,
  ...manyJobs,
  ...faults,
  ...geography,
  ...workspace,
  ...review,
  ...secondReview,
  ...unprepared,
].sort((a, b) => compareIds(a.id, b.id));
