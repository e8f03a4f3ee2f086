// The catalog of tools: one for each operation (operations.ts), then those over several
// operations, written by hand. Tests of all tools use this list; success.test.ts proves that each example call succeeds against
// the emulator.
import { randomUUID } from "node:crypto";
import { createRequest, type ExampleData } from "../emulator/example.ts";
import { type ListedOperation, rows } from "../operations.ts";

type Args = Readonly<Record<string, unknown>>;

interface OwnTool {
  readonly required: readonly string[];
  /** Whether the tool may change something in the API. */
  readonly isWrite?: true;
  /** Returns arguments with which the tool succeeds. */
  readonly call: (world: ExampleData) => Args | Promise<Args>;
}

const state = "TG";

/** Tools over several operations, in the order of the catalog, with their arguments. */
export const OWN_TOOLS: Readonly<Record<string, OwnTool>> = {
  find_district: { required: [], call: () => ({ name: "Warangal", state }) },
  rank_divisions: {
    required: ["level"],
    call: () => ({ level: "district", by: "mandalCount", states: [state] }),
  },
  list_actions: { required: [], call: () => ({}) },
  resolve_actions: { required: [], isWrite: true, call: () => ({}) },
  run_job: {
    required: ["workspaceId", "recipeVersionId", "inputs", "parameterValues"],
    isWrite: true,
    call({ jobOrder: { inputBindings: inputs, ...order } }) {
      return { ...order, inputs, waitSeconds: 0, idempotencyKey: "a-run-of-its-own" };
    },
  },
  run_jobs: {
    required: ["workspaceId", "recipeVersionId", "files", "parameterValues"],
    isWrite: true,
    call: ({ jobOrder: { workspaceId, recipeVersionId, parameterValues }, registration: { referenceId } }) => ({
      ...{ workspaceId, recipeVersionId, parameterValues },
      ...{ files: [referenceId], waitSeconds: 0 },
    }),
  },
  retry_jobs: {
    required: ["retryMode", "reason"],
    isWrite: true,
    async call({ createFailedJob }) {
      return { jobIds: [(await createFailedJob()).id], retryMode: "SAFE_RESUME", reason: "An example", waitSeconds: 0 };
    },
  },
  cancel_jobs: {
    required: ["jobIds", "reason"],
    isWrite: true,
    async call({ submitNewJob }) {
      return { jobIds: [(await submitNewJob()).id], reason: "An example", waitSeconds: 0 };
    },
  },
  wait_for_jobs: { required: ["jobIds"], call: ({ failedJobId }) => ({ jobIds: [failedJobId] }) },
  save_table: {
    required: ["source", "arguments", "fileName"],
    call: () => ({ source: "list_districts", arguments: { state }, fileName: `${randomUUID()}.csv` }),
  },
};

/** Tools that show a view, with their arguments. They are listed only for clients that can show views. */
export const VIEW_TOOLS: Readonly<Record<string, OwnTool>> = {
  show_job: { required: ["jobId"], call: ({ failedJobId }) => ({ jobId: failedJobId }) },
  show_divisions: { required: ["level"], call: () => ({ level: "district", states: [state] }) },
  show_usage: {
    required: ["workspaceId", "window"],
    call: ({ workspaceId }) => ({ workspaceId, window: "DAY" }),
  },
  show_actions: { required: [], call: () => ({}) },
};

/** All other tools, which are listed for every client. */
export const TOOL_NAMES: readonly string[] = [...rows.map(({ tool }) => tool), ...Object.keys(OWN_TOOLS)];

/** The tools of the toolset geography. */
export const GEOGRAPHY_TOOLS: readonly string[] = [
  "list_states",
  "list_districts",
  "get_geography_openapi",
  "find_district",
  "rank_divisions",
  "save_table",
];

const isAction = ({ method }: ListedOperation): boolean => method === "POST";
const ownWrites = Object.entries(OWN_TOOLS).flatMap(([name, { isWrite }]) => (isWrite ? [name] : []));
/** Tools that may change something in the API. */
export const POST_TOOLS: readonly string[] = [...rows.filter(isAction).map(({ tool }) => tool), ...ownWrites];

/** Arguments with which the tool of this name succeeds; throws if the tool does not exist. */
export async function validCall(tool: string, world: ExampleData): Promise<Args> {
  const own = new Map(Object.entries({ ...OWN_TOOLS, ...VIEW_TOOLS })).get(tool);
  if (own) return await own.call(world);
  const row = rows.find((each) => each.tool === tool);
  if (!row) throw new Error(`there is no tool ${tool}`);
  const { path = {}, query = {}, body = {} } = await createRequest(world, row.id);
  if (typeof query === "string" || typeof body !== "object" || body === null)
    throw new Error(`the example of ${row.id} has no plain query and body`);
  // Without a wait, the result of a cancellation is its operation.
  return { ...path, ...query, ...body, ...(tool === "cancel_job" && { waitSeconds: 0 }) };
}
