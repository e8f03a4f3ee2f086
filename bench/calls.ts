// Defines the benchmark's tool calls: the same requests in the form that each subject accepts.
import { API_PREFIX } from "../src/contract/endpoints/endpoint.ts";
import { listMicJobs } from "../src/contract/endpoints/job-processing.ts";
import { listPlaygroundStates } from "../src/contract/endpoints/playground.ts";
import { INPUT_ID, JOB_ID, WORKSPACE_ID } from "./stub-responses.ts";

export interface Call {
  readonly name: string;
  readonly arguments: object;
}

export interface Calls {
  readonly states: Call;
  readonly input: Call;
  readonly job: Call;
  jobs(limit: number): Call;
  /** A POST, different for each number. Absent if the subject has no tool for it. */
  register?(number: number): Call;
}

const MIC_PATH = `${API_PREFIX["job-processing"]}/v1/mic`;

/** Paths for requests that the benchmark's own process sends directly to the stub, without MCP. */
export const paths = {
  states: API_PREFIX.playground + listPlaygroundStates.path,
  input: `${MIC_PATH}/inputs/${INPUT_ID}`,
  job: `${MIC_PATH}/jobs/${JOB_ID}`,
  jobs: (limit: number) =>
    `${API_PREFIX["job-processing"]}${listMicJobs.path}?workspaceId=${WORKSPACE_ID}&limit=${limit}`,
  inputs: `${MIC_PATH}/inputs`,
};

export const createRegistration = (number: number) => ({
  workspaceId: WORKSPACE_ID,
  inputKind: "ACQUISITION",
  referenceId: `acquisition-${number}`,
});

const toCall = (name: string, args: object): Call => ({ name, arguments: args });

export const createRawCalls = (extraArguments: object = {}): Calls => ({
  states: toCall("call", { path: paths.states, ...extraArguments }),
  input: toCall("call", { path: paths.input, ...extraArguments }),
  job: toCall("call", { path: paths.job, ...extraArguments }),
  jobs: (limit) => toCall("call", { path: paths.jobs(limit), ...extraArguments }),
});

export const createRegisterCall = (number: number): Call => toCall("register_input", createRegistration(number));

/**
 * Calls for the hand-written server with 18 tools, which has the same tool names as mic-mcp, and for mic-mcp with a `view` of the
 * page.
 */
export const createToolCalls = (pageArguments: object = {}): Calls => ({
  states: toCall("list_states", {}),
  input: toCall("get_input", { inputId: INPUT_ID }),
  job: toCall("get_job", { jobId: JOB_ID }),
  jobs: (limit) => toCall("list_jobs", { workspaceId: WORKSPACE_ID, limit, ...pageArguments }),
  register: createRegisterCall,
});

export const ivotobyCalls: Calls = {
  states: toCall("lst-playground-states", {}),
  input: toCall("get-mic-public-input", { inputId: INPUT_ID }),
  job: toCall("get-mic-job", { jobId: JOB_ID }),
  jobs: (limit) => toCall("lst-mic-jobs", { workspaceId: WORKSPACE_ID, limit }),
  register: (number) =>
    toCall("crt-mic-public-input", { ...createRegistration(number), "Idempotency-Key": `input-bench-${number}` }),
};

/** The code that orval generates sends no headers, so it sends no Idempotency-Key either. */
export const orvalCalls: Calls = {
  states: toCall("listPlaygroundStates", {}),
  input: toCall("getMicPublicInput", { pathParams: { inputId: INPUT_ID } }),
  job: toCall("getMicJob", { pathParams: { jobId: JOB_ID } }),
  jobs: (limit) => toCall("listMicJobs", { queryParams: { workspaceId: WORKSPACE_ID, limit } }),
  register: (number) => toCall("createMicPublicInput", { bodyParams: createRegistration(number) }),
};
