import { afterAll, beforeAll, onTestFinished } from "vitest";
import * as z from "zod/v4";
import type { Service } from "../../emulator/service.ts";
import { createJobBodyForFile } from "../../emulator/work.ts";
import { emulatorEnv } from "../../support/mcp.ts";
import { openInProcessChannel, openProcessChannel } from "../../support/server.ts";
import { start } from "../stdio/child.ts";
import { createTaskClient, type TaskClient } from "./client.ts";

/** How to wait for something that a server just started has to do first. */
export const pollOptions = { interval: 5, timeout: 45_000 };

/** A server of its own, and its client; on a journal of its own unless `env` says which. */
export async function startTaskClient(
  service: Service,
  env: Readonly<Record<string, string>> = {},
): Promise<TaskClient> {
  const connection = openInProcessChannel({ ...emulatorEnv(service.emulator), ...env });
  onTestFinished(connection.end);
  return createTaskClient(connection);
}

/** The same of a process, which may be killed. */
export const startProcessClient = (service: Service, env: Readonly<Record<string, string>>): TaskClient =>
  createTaskClient(openProcessChannel(start(["serve"], { env: { ...emulatorEnv(service.emulator), ...env } })));

/** One server for all tests of a file that each have a job of their own; call it behind `serviceForFile`. */
export function clientForFile(service: () => Service): () => TaskClient {
  let client: TaskClient | undefined;
  beforeAll(() => {
    client = createTaskClient(openInProcessChannel(emulatorEnv(service().emulator)));
  });
  afterAll(() => client?.kill());
  return () => {
    if (client === undefined) throw new Error("the server is there only while tests run");
    return client;
  };
}

/** Arguments of a job that ends as its file does. */
export const jobArguments = async (service: Service, file: number): Promise<object> => ({
  ...(await createJobBodyForFile(service, file)),
});

const Requests = z.array(z.looseObject({ operationId: z.string().nullable(), idempotencyKey: z.string().optional() }));
const Executions = z.array(z.looseObject({ operationId: z.string(), executions: z.int() }));

/** What the service was sent of one operation. */
export const requestsFor = async (service: Service, operationId: string) =>
  Requests.parse(await service.admin("GET", "requests")).filter((request) => request.operationId === operationId);

/** How often an operation took effect, under whatever key. */
export const countExecutions = async (service: Service, operationId: string): Promise<number> =>
  Executions.parse(await service.admin("GET", "executions"))
    .filter((execution) => execution.operationId === operationId)
    .reduce((sum, { executions }) => sum + executions, 0);
