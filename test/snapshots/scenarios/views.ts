// Scenarios of the tools with a view: the data for the view, and the text for the agent.
import { createRetryableJob, submitJob } from "../../emulator/work.ts";
import type { Scenario } from "../recorder.ts";

const recordShowJob: Scenario = async (recorder) => {
  const running = await submitJob(recorder.service, 0);
  await recorder.record("PREPARING", { jobId: running.id });
  const failed = await createRetryableJob(recorder.service);
  await recorder.record("FAILED, and a retry may help", { jobId: failed.id });
  await recorder.record("No such job", { jobId: "micjob_00000000000000000000000000000000" }, "not_found NOT_FOUND");
};

const recordShowDivisions: Scenario = async (recorder) => {
  await recorder.record("States", { level: "state", states: ["GA", "Telangana", "LD"] });
  await recorder.record("Districts of a state", { level: "district", states: ["Goa"] });
};

const recordShowUsage: Scenario = async (recorder) => {
  await recorder.record("By day", { workspaceId: recorder.workspaceId, window: "DAY" });
};

const recordShowActions: Scenario = async (recorder) => {
  await recorder.record("Nothing was done");
  const failed = await createRetryableJob(recorder.service);
  await recorder.call("retry_job", { jobId: failed.id, retryMode: "SAFE_RESUME", reason: "Once more" });
  await recorder.record("One action");
};

export const viewScenarios = {
  show_job: recordShowJob,
  show_divisions: recordShowDivisions,
  show_usage: recordShowUsage,
  show_actions: recordShowActions,
};
