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

interface Chat {
  /** PNG in base64. */
  readonly jobPicture: string;
  readonly summary: string;
  readonly colorScheme: "light" | "dark";
  readonly path: string;
}

/** Draws an illustration of a chat around the real view of the job and the real summary of get_job. No model takes part. */
async function drawChat(pages: Pages, { jobPicture, summary, colorScheme, path }: Chat): Promise<void> {
  const page = await pages.browser.newPage({ viewport: { width: WIDTH, height: 600 }, colorScheme });
  await page.setContent(`<!doctype html><style>
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 0; padding: 20px; background: light-dark(#eceae3, #141312); color: light-dark(#1c1b1a, #f4f2ec); }
p { width: fit-content; max-width: 80%; margin: 0 0 12px; padding: 8px 14px; border-radius: 14px; background: light-dark(#fff, #2a2927); }
.user { margin-left: auto; background: light-dark(#1c5aa8, #2f5f9c); color: #fff; }
.tool { padding: 0 14px; background: none; color: light-dark(#56534e, #b8b3a9); font: 13px ui-monospace, monospace; }
img { display: block; width: 100%; margin-bottom: 12px; border-radius: 10px; }
p:last-child { margin-bottom: 0; }
</style>
<p class="user">Normalize the divisions in lgd-districts.csv. Retry it if it fails, and show me the job.</p>
<p class="tool">mic: run_job, retry_job, show_job</p>
<img src="data:image/png;base64,${jobPicture}">
<p id="summary"></p>`);
  await page.evaluate(`document.querySelector("#summary").textContent = ${JSON.stringify(summary)}`);
  await page.screenshot({ path, fullPage: true });
  await page.close();
}

/** Writes a picture of each view, and of a chat with the view of a job, in both themes into a folder. */
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
  const { structured } = await connection.callTool("get_job", { jobId: retriedId });
  const summary = String(structured?.["summary"]);
  const pathOf = (name: string, colorScheme: string) => join(folder, `${name}-${colorScheme}.png`);

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
      const picture = await host.page.screenshot({ path: pathOf(name, colorScheme) });
      if (name === "job") {
        const jobPicture = picture.toString("base64");
        await drawChat(pages, { jobPicture, summary, colorScheme, path: pathOf("chat", colorScheme) });
      }
      await pages.release(host.page);
    }

  await connection.close();
  await emulator.close();
  home.remove();
}
