// This module defines the resources, in the order of the table in docs/use/resources.md.
import type { CallContext } from "../../api-client/attempts.ts";
import { getMicPublicOperation } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import { renderCatalogTsv } from "../../geography/catalog-tsv.ts";
import { TERMINAL_STATES } from "../describe/job.ts";
import { readJob } from "../jobs/batch.ts";
import { followRetries } from "../jobs/waiting.ts";
import type { ToolResult } from "../results.ts";
import {
  type ObservedVersion,
  type Resource,
  type ResourceSource,
  toolResource,
  type VersionPorts,
} from "./resource.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/** A resource that has ended rarely changes. In any other state, it may change at any time. */
const ttlByState = ({ hasEnded }: ToolResult): number => (hasEnded === true ? MINUTE_MS : SECOND_MS);

/** A job that failed or was canceled may be retried at any time. Its resource and its subscribers follow its latest known retry. */
const mayBeRetried = ({ state, failure }: Job): boolean =>
  state === "CANCELLED" || (state === "FAILED" && failure?.retryable === true);

function watchJob(jobId: string, ports: VersionPorts) {
  let before: Job | undefined;
  return async (context: CallContext): Promise<ObservedVersion> => {
    const ctx = { ...ports, ...context };
    // A job that has ended changes only by a retry, so the API need not be asked.
    const isOver = before !== undefined && TERMINAL_STATES.has(before.state);
    const job = before && isOver ? before : (await readJob(before?.id ?? jobId, ctx)).value.data;
    before = await followRetries(job, ctx);
    const hasEnded = TERMINAL_STATES.has(before.state) && !mayBeRetried(before);
    return { version: `${before.id} ${before.resourceVersion}`, hasEnded };
  };
}

/** `latestRetry`: the latest known retry of the job, which decides its outcome. */
async function retryFields(job: Job | undefined, { ports, context }: ResourceSource): Promise<object> {
  const latest = job && (await followRetries(job, { ...ports, ...context }));
  if (!latest || latest.id === job.id) return {};
  const { id, state, outputDatasetVersionId } = latest;
  return { latestRetry: { id, state, outputDatasetVersionId } };
}

export const resources: readonly Resource[] = [
  toolResource({
    uri: "mic://geography/states",
    name: "states",
    title: "States of India",
    description: "All states and union territories with their district and mandal counts.",
    tool: "list_states",
    cacheScope: "public",
    ttlMs: 10 * MINUTE_MS,
  }),
  toolResource({
    uri: "mic://geography/states/{code}/districts",
    name: "districts",
    title: "Districts of a state",
    description: "The districts of one state with their mandal counts; {code} is the state's two-letter code.",
    tool: "list_districts",
    cacheScope: "public",
    ttlMs: 10 * MINUTE_MS,
  }),
  toolResource({
    uri: "mic://workspaces/{workspaceId}/jobs",
    name: "jobs",
    title: "Newest jobs",
    description: "The newest page of a workspace's jobs: id, state, stage and failure.",
    tool: "list_jobs",
    part: "whole",
    ttlMs: SECOND_MS,
  }),
  toolResource({
    uri: "mic://workspaces/{workspaceId}/recipes",
    name: "recipes",
    title: "Recipe offers",
    description: "The recipe versions offered to a workspace: id, name and ports.",
    tool: "list_recipes",
    // The maximum of one page: usually this includes all offers.
    arguments: { limit: 100 },
    part: "whole",
    ttlMs: MINUTE_MS,
  }),
  toolResource({
    uri: "mic://jobs/{jobId}",
    name: "job",
    title: "Job",
    description: "One job with all fields, and its latest retry. Subscribe to get an update when either changes.",
    tool: "get_job",
    ttlMs: ({ job }) => (job && TERMINAL_STATES.has(job.state) && !mayBeRetried(job) ? MINUTE_MS : SECOND_MS),
    extend: ({ job }, source) => retryFields(job, source),
    watchVersion: ({ jobId = "" }, ports) => watchJob(jobId, ports),
  }),
  toolResource({
    uri: "mic://recipes/{versionId}",
    name: "recipe",
    title: "Recipe offer",
    description: "One recipe version with all fields: ports, parameter schema, permissions.",
    tool: "get_recipe",
    ttlMs: 5 * MINUTE_MS,
  }),
  toolResource({
    uri: "mic://inputs/{inputId}",
    name: "input",
    title: "Input",
    description: "One registered input: state, scan, sha256.",
    tool: "get_input",
    ttlMs: SECOND_MS,
  }),
  toolResource({
    uri: "mic://operations/{operationId}",
    name: "operation",
    title: "Operation",
    description: "One asynchronous operation. Subscribe to get an update when its resourceVersion changes.",
    tool: "get_operation",
    ttlMs: ttlByState,
    watchVersion:
      ({ operationId = "" }, { api }) =>
      async (context) => {
        const { data } = (await api.call(getMicPublicOperation, { path: { operationId } }, context)).value;
        return { version: data.resourceVersion, hasEnded: TERMINAL_STATES.has(data.state) };
      },
  }),
  toolResource({
    uri: "mic://processing-requests/{requestId}",
    name: "processing-request",
    title: "File-processing request",
    description: "One permission request for a shared file: its state and the reason.",
    tool: "get_file_processing_request",
    ttlMs: 10 * SECOND_MS,
  }),
  {
    uri: "mic://geography/catalogue.tsv",
    name: "catalogue",
    title: "The whole geography catalogue",
    description:
      "Every district of India with its state and mandal count; # lines at the top have coverage and vintage.",
    mimeType: "text/tab-separated-values",
    tool: "rank_divisions",
    cacheScope: "public",
    async read(_variables, { ports: { geography }, context }) {
      const { text, complete, drift } = await renderCatalogTsv(geography, context);
      return { text, drift, ttlMs: complete ? 10 * MINUTE_MS : SECOND_MS };
    },
  },
  toolResource({
    uri: "mic://actions",
    name: "actions",
    title: "The action journal",
    description: "Unresolved actions, then the latest: tool, key, state, times. The same as list_actions.",
    tool: "list_actions",
    part: "whole",
    ttlMs: 0,
  }),
];
