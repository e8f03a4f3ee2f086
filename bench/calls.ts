// What is asked: the same questions, as the tools of each subject take them.
import { API_PREFIX } from "../src/contract/endpoints/endpoint.ts";
import { listMicJobs } from "../src/contract/endpoints/job-processing.ts";
import { listPlaygroundStates } from "../src/contract/endpoints/playground.ts";
import { JOB_ID, WORKSPACE_ID } from "./answers.ts";

export interface Call {
  readonly name: string;
  readonly arguments: object;
}

export interface Calls {
  readonly states: Call;
  readonly input: Call;
  readonly job: Call;
  jobs(limit: number): Call;
  /** A POST: another one for each number. Absent where the subject has no tool for it. */
  register?(number: number): Call;
}

const INPUT_ID = "micinput_1";
const MIC = `${API_PREFIX["job-processing"]}/v1/mic`;

/** Asks the stub directly, in the bench's own process: no MCP at all. */
export const paths = {
  states: API_PREFIX.playground + listPlaygroundStates.path,
  input: `${MIC}/inputs/${INPUT_ID}`,
  job: `${MIC}/jobs/${JOB_ID}`,
  jobs: (limit: number) =>
    `${API_PREFIX["job-processing"]}${listMicJobs.path}?workspaceId=${WORKSPACE_ID}&limit=${limit}`,
  inputs: `${MIC}/inputs`,
};

export const registration = (number: number) => ({
  workspaceId: WORKSPACE_ID,
  inputKind: "ACQUISITION",
  referenceId: `acquisition-${number}`,
});

const call = (name: string, args: object): Call => ({ name, arguments: args });

export const rawCalls = (more: object = {}): Calls => ({
  states: call("call", { path: paths.states, ...more }),
  input: call("call", { path: paths.input, ...more }),
  job: call("call", { path: paths.job, ...more }),
  jobs: (limit) => call("call", { path: paths.jobs(limit), ...more }),
});

export const register = (number: number): Call => call("register_input", registration(number));

/** Of the hand-written server with 18 tools, which has our names; and with a view of a page, of ours. */
export const toolCalls = (page: object = {}): Calls => ({
  states: call("list_states", {}),
  input: call("get_input", { inputId: INPUT_ID }),
  job: call("get_job", { jobId: JOB_ID }),
  jobs: (limit) => call("list_jobs", { workspaceId: WORKSPACE_ID, limit, ...page }),
  register,
});

export const ivotobyCalls: Calls = {
  states: call("lst-playground-states", {}),
  input: call("get-mic-public-input", { inputId: INPUT_ID }),
  job: call("get-mic-job", { jobId: JOB_ID }),
  jobs: (limit) => call("lst-mic-jobs", { workspaceId: WORKSPACE_ID, limit }),
  register: (number) =>
    call("crt-mic-public-input", { ...registration(number), "Idempotency-Key": `input-bench-${number}` }),
};

/** What orval generates has no headers, so no Idempotency-Key either. */
export const orvalCalls: Calls = {
  states: call("listPlaygroundStates", {}),
  input: call("getMicPublicInput", { pathParams: { inputId: INPUT_ID } }),
  job: call("getMicJob", { pathParams: { jobId: JOB_ID } }),
  jobs: (limit) => call("listMicJobs", { queryParams: { workspaceId: WORKSPACE_ID, limit } }),
  register: (number) => call("createMicPublicInput", { bodyParams: registration(number) }),
};
