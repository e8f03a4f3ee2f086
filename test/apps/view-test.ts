// Shared setup of the view tests: an emulator, a client that shows views, a browser, and a user who clicks.
import { expect, onTestFinished } from "vitest";
import type { Job } from "../../src/contract/jobs.ts";
import { type Service, serviceForTest } from "../emulator/service.ts";
import { last, submitJob, watchJob } from "../emulator/work.ts";
import { type ClientRevision, connectInProcess, emulatorEnv, type Reply } from "../support/mcp.ts";
import type { Pages } from "./browser.ts";
import { drawView, type Host, type HostOptions } from "./host.ts";

export async function setUpView(revision: ClientRevision, pages: Pages, reply: Reply = { action: "accept" }) {
  const service = await serviceForTest();
  const questions: string[] = [];
  const onElicitation = (question: string) => {
    questions.push(question);
    return reply;
  };
  const { emulator } = service;
  const env = { ...emulatorEnv(emulator), MIC_WORKSPACE_ID: emulator.workspaceId, MIC_GEOGRAPHY_RATE_LIMIT: "600" };
  const connection = await connectInProcess(revision, { env, onElicitation, showsViews: true });
  onTestFinished(() => connection.close());
  return {
    service,
    connection,
    questions,
    async draw(tool: string, args: HostOptions["args"], options: Partial<HostOptions> = {}): Promise<Host> {
      const host = await drawView(pages, { connection, tool, args, ...options });
      onTestFinished(() => pages.release(host.page));
      return host;
    },
  };
}

/**
 * Waits until the view shows all of these parts. The interval of 200 ms is long because each poll makes the browser compute the
 * layout.
 */
export async function expectShown(host: Host, ...parts: readonly (string | RegExp)[]): Promise<void> {
  for (const part of parts) await expect.poll(() => host.text(), { interval: 200 }).toMatch(part);
}

export async function runningJob(service: Service): Promise<Job> {
  const job = await submitJob(service, 0);
  const isInProgress = (now: Job) =>
    now.stages.filter(({ state }) => state === "SUCCEEDED").length === 3 &&
    now.stages.some(({ state, completedUnits }) => state === "RUNNING" && completedUnits > 0);
  return last(await watchJob(service, job.id, isInProgress));
}
