// Submits a job.
import type { ActionTraits } from "../../actions/fingerprint.ts";
import type { InputBinding } from "../../contract/endpoints/bodies.ts";
import { createMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import type { JsonObject } from "../../contract/json.ts";
import { invalidArguments } from "../../failure.ts";
import { jobSubject } from "../advice/job.ts";
import type { JobPorts } from "../ports.ts";
import type { ActionResult } from "../results.ts";
import { runAction } from "../run-action.ts";
import type { ToolCall } from "../tool-call.ts";
import { offerErrors } from "./offers.ts";
import { readJob } from "./read-job.ts";

export const submitTraits: ActionTraits = {
  about: "recipeVersionId",
  identifiedBy: ["workspaceId", "recipeVersionId", "inputBindings", "parameterValues"],
};

export interface SubmitArguments {
  readonly workspaceId: string;
  readonly recipeVersionId: string;
  readonly inputBindings: readonly InputBinding[];
  readonly parameterValues: JsonObject;
  readonly clientReference?: string | null | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** `readsReplay`: whether a replay reads the job as it is now (default: yes). */
export const submitOnce = (
  args: SubmitArguments,
  call: ToolCall,
  ports: JobPorts,
  { readsReplay } = { readsReplay: true },
): Promise<ActionResult<Job>> =>
  runAction({ ...args }, call, ports, {
    endpoint: createMicJob,
    traits: submitTraits,
    subject: jobSubject(ports),
    ...(readsReplay && { readNow: (jobId: string) => readJob(jobId, call, ports) }),
    findOut: "Look with list_jobs for a job created at that time with this recipe version.",
    async check() {
      const offer = ports.offers.get(args.recipeVersionId);
      const errors = offer ? await offerErrors(offer, args) : [];
      if (errors.length === 0) return;
      throw invalidArguments(
        "submit_job was not sent: the job does not fit the recipe offer read before.",
        errors,
        "Correct the fields named above and call again; get_recipe shows the schema.",
      );
    },
  });
