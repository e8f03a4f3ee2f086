// Successful answers in the contract's envelopes (docs/contract.md, 2.2).
import { type Job, jobETag } from "../../contract/jobs.ts";
import { type Answer, jsonAnswer } from "../http/answer.ts";
import { refuseField } from "../problems.ts";
import type { Context } from "./operation.ts";

export const enveloped = (
  status: 200 | 201 | 202,
  data: unknown,
  { requestId }: Context,
  headers: Readonly<Record<string, string>> = {},
): Answer => jsonAnswer(status, { data, meta: { requestId } }, headers);

/** A single job carries its ETag (doubts.md 3). */
export const jobAnswer = (
  status: 200 | 202,
  job: Job,
  context: Context,
  headers: Readonly<Record<string, string>> = {},
): Answer => enveloped(status, job, context, { ETag: jobETag(job.resourceVersion), ...headers });

export const location = (path: string): Readonly<Record<string, string>> => ({ Location: `/sandbox/v1/mic${path}` });

/** The application has one workspace. */
export function checkWorkspace(workspaceId: string, { world }: Context, pointer: string): void {
  if (workspaceId !== world.workspaceId)
    throw refuseField("WORKSPACE_FORBIDDEN", pointer, "This application has no access to this workspace.");
}

/** The resource, or a refusal that names the path parameter. */
export function found<T>(resource: T | undefined, name: string, what: string): T {
  if (resource === undefined) throw refuseField("NOT_FOUND", `/path/${name}`, `There is no such ${what}.`);
  return resource;
}
