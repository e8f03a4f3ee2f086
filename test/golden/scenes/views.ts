// What a view is given to live on, and what the agent is told beside it.
import { retryableJob, submitJob } from "../../emulator/work.ts";
import type { Scene } from "../stage.ts";

const showJob: Scene = async (stage) => {
  const running = await submitJob(stage.service, 0);
  await stage.show("QUEUED", { jobId: running.id });
  const failed = await retryableJob(stage.service);
  await stage.show("FAILED, and a retry may help", { jobId: failed.id });
  await stage.show("No such job", { jobId: "micjob_00000000000000000000000000000000" });
};

const showDivisions: Scene = async (stage) => {
  await stage.show("States", { level: "state", states: ["GA", "Telangana", "LD"] });
  await stage.show("Districts of a state", { level: "district", states: ["Goa"] });
};

const showUsage: Scene = async (stage) => {
  await stage.show("By day", { workspaceId: stage.workspaceId, window: "DAY" });
};

const showActions: Scene = async (stage) => {
  await stage.show("Nothing was done");
  const failed = await retryableJob(stage.service);
  await stage.call("retry_job", { jobId: failed.id, retryMode: "SAFE_RESUME", reason: "Once more" });
  await stage.show("One action");
};

export const viewScenes = {
  show_job: showJob,
  show_divisions: showDivisions,
  show_usage: showUsage,
  show_actions: showActions,
};
