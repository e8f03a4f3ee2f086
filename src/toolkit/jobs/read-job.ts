// Reads one job from the API.
import { getMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Ports } from "../ports.ts";
import type { ToolCall } from "../tool-call.ts";

/** The API's answer, with the time it was given. Throws Failure. */
export const readJob = (jobId: string, { context }: Pick<ToolCall, "context">, { service }: Pick<Ports, "service">) =>
  service.call(getMicJob, { path: { jobId } }, context);
