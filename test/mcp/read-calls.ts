// Calls of every tool, good and bad: what is sent past the SDK and through it, on each transport.
import { tools } from "../../tools/index.ts";
import { example, makeWorld } from "../emulator/example.ts";
import { serviceForTest } from "../emulator/service.ts";
import { type OperationId, rows } from "../operations.ts";
import { emulatorEnv } from "../support/mcp.ts";
import { isThorough } from "../support/thorough.ts";

/** Each tool with arguments that are good. */
export async function goodCalls(): Promise<{
  readonly env: Readonly<Record<string, string>>;
  readonly calls: Map<string, object>;
}> {
  const service = await serviceForTest();
  const { emulator } = service;
  const world = await makeWorld(service);
  const argumentsFor = async (id: OperationId) => {
    const { path = {}, query = {}, body = {} } = await example(world, id);
    return { ...path, ...(typeof query === "object" && query), ...(typeof body === "object" && body) };
  };
  const calls = new Map<string, object>();
  for (const { id, tool, method } of rows)
    calls.set(tool, {
      ...(await argumentsFor(id)),
      ...(method === "POST" && { idempotencyKey: `key-of-${tool}-0001` }),
    });
  const { failedJobId } = world;
  calls.set("find_district", { name: "Medak" });
  calls.set("rank_divisions", { level: "state", by: "mandals", limit: 3 });
  calls.set("list_actions", {});
  calls.set("wait_for_jobs", { jobIds: [failedJobId], waitSeconds: 0 });
  calls.set("retry_jobs", { jobIds: [failedJobId], mode: "RESUME", reason: "once more" });
  calls.set("run_job", {});
  // A download takes a name once.
  calls.set("download_asset", {});
  return { env: { ...emulatorEnv(emulator), MIC_WORKSPACE_ID: emulator.workspaceId }, calls };
}

/** What is wrong with a call: in its arguments, or in how it is put. */
const BAD: readonly ((name: string, args: object) => object)[] = [
  (name, args) => ({ name, arguments: { ...args, surplus: 1 } }),
  (name) => ({ name, arguments: { jobId: 5, waitSeconds: "soon" } }),
  (name) => ({ name }),
  (name) => ({ name, arguments: [] }),
  (name) => ({ name, arguments: null }),
  (name) => ({ name, arguments: "{}" }),
  (name, args) => ({ name, arguments: args, surplus: true }),
  (name, args) => ({ name: [name], arguments: args }),
  (name) => ({ name: `${name}s`, arguments: {} }),
  (name) => ({ name, arguments: JSON.parse('{"__proto__":{"jobId":"job-1"}}') }),
];

/** Of those, what is tried with the nth tool: all in the thorough run, else two, so that each is tried with some tool. */
export const badFor = (nth: number) => (isThorough ? BAD : BAD.filter((_, at) => at % 5 === nth % 5));

/** Whether such a call passes the SDK by: the tool is said to change nothing. */
export const isRead = (name: string): boolean =>
  tools.some((tool) => tool.name === name && ["read", "export"].includes(tool.effect));
