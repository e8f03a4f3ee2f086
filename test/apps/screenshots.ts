// Draws the pictures of docs/pictures/ by rendering the views in a real Chromium with the emulator, in both themes.
import { join } from "node:path";
import type { Job } from "../../src/contract/jobs.ts";
import { startEmulator } from "../../src/emulator/index.ts";
import { Service } from "../emulator/service.ts";
import { createRetryableJob, FILE, runJobToEnd, watchJob } from "../emulator/work.ts";
import { createEmptyHome } from "../support/empty-home.ts";
import { createManualClock } from "../support/emulator.ts";
import { connectInProcess, emulatorEnv } from "../support/mcp.ts";
import type { Pages } from "./browser.ts";
import { drawView } from "./host.ts";

const WIDTH = 800;
const MAX_HEIGHT = 2_400;

export async function drawPictures(pages: Pages, folder: string): Promise<void> {
  const home = createEmptyHome();
  const clock = createManualClock(new Date().toISOString());
  const service = new Service(await startEmulator({ clock, seed: "pictures" }), clock);
  const { emulator } = service;
  const env = {
    ...emulatorEnv(emulator),
    MIC_WORKSPACE_ID: emulator.workspaceId,
    MIC_STATE_DIR: home.path,
    MIC_GEOGRAPHY_RATE_LIMIT: "600",
  };
  const connection = await connectInProcess("v2-modern", { env, showsViews: true });

  const reason = "The stage has workers again";
  const retry = (jobId: string) => connection.callTool("retry_job", { jobId, retryMode: "SAFE_RESUME", reason });
  const invalidInputJob = await runJobToEnd(service, FILE.failsForGood);
  await retry(invalidInputJob.id);
  const failed = await createRetryableJob(service);
  // The response is lost after the effect.
  const lostOutcome = { kind: "status", status: 503, retryAfterSeconds: 60, afterCommit: true } as const;
  await service.injectFault(lostOutcome, { operationId: "retryMicJob" });
  await retry(failed.id);
  const { id: retriedId } = Object((await retry((await createRetryableJob(service)).id)).structured?.["data"]);
  const isNearEnd = ({ stages }: Job): boolean =>
    stages.filter(({ state }) => state === "SUCCEEDED").length === 7 &&
    stages.some(({ state, completedUnits }) => state === "RUNNING" && completedUnits > 0);
  await watchJob(service, retriedId, isNearEnd);

  const views = [
    { name: "job", tool: "show_job", args: { jobId: retriedId } },
    { name: "divisions", tool: "show_divisions", args: { level: "state" } },
    { name: "usage", tool: "show_usage", args: { workspaceId: emulator.workspaceId, window: "DAY" } },
    { name: "actions", tool: "show_actions", args: {} },
  ];
  for (const { name, tool, args } of views)
    for (const colorScheme of ["light", "dark"] as const) {
      const host = await drawView(pages, { connection, tool, args, width: WIDTH, colorScheme });
      // In milliseconds: the frame needs a moment to follow the view's size.
      await host.page.waitForTimeout(700);
      await host.page.setViewportSize({
        width: WIDTH,
        height: Math.min(MAX_HEIGHT, host.heights.at(-1) ?? MAX_HEIGHT),
      });
      await host.page.waitForTimeout(200);
      await host.page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
      await pages.release(host.page);
    }

  await connection.close();
  await emulator.close();
  home.remove();
}
