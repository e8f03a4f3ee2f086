// Starts servers and task clients for the tests of tasks.
import { onTestFinished } from "vitest";
import type { Service } from "../../emulator/service.ts";
import { createJobBodyForFile } from "../../emulator/work.ts";
import { openForFile } from "../../support/for-file.ts";
import { emulatorEnv } from "../../support/mcp.ts";
import { openInProcessChannel, openProcessChannel } from "../../support/server.ts";
import { start } from "../stdio/child.ts";
import { createTaskClient, type TaskClient } from "./client.ts";

/** For conditions that a server can only meet after it has started. */
export const pollOptions = { interval: 5 };

/** Starts a server with its client, and with a new journal unless `env` names one. */
export async function startTaskClient(
  service: Service,
  env: Readonly<Record<string, string>> = {},
): Promise<TaskClient> {
  const connection = openInProcessChannel({ ...emulatorEnv(service.emulator), ...env });
  onTestFinished(connection.end);
  return createTaskClient(connection);
}

/** The same with a server in a separate process, which may be killed. */
export const startProcessClient = (service: Service, env: Readonly<Record<string, string>>): TaskClient =>
  createTaskClient(openProcessChannel(start(["serve"], { env: { ...emulatorEnv(service.emulator), ...env } })));

/** One server for all tests of a file, each of which has its own job. Call it after `serviceForFile`. */
export const clientForFile = (service: () => Service) =>
  openForFile(
    async () => createTaskClient(openInProcessChannel(emulatorEnv(service().emulator))),
    (client) => client.kill(),
  );

/** Arguments of a job that ends as its file determines. */
export const jobArguments = async (service: Service, file: number): Promise<object> => ({
  ...(await createJobBodyForFile(service, file)),
});
