// `npm run apps:pictures`: creates docs/pictures/ by rendering the views in a real Chromium with the emulator. With a folder as
// argument it renders each view at each width in both themes, for inspection.
import { mkdir } from "node:fs/promises";
import type { Job } from "../../src/contract/jobs.ts";
import { startEmulator } from "../../src/emulator/index.ts";
import { Service } from "../emulator/service.ts";
import { createRetryableJob, FILE, runJobToEnd, watchJob } from "../emulator/work.ts";
import { createEmptyHome } from "../support/empty-home.ts";
import { createManualClock } from "../support/emulator.ts";
import { connectInProcess, emulatorEnv } from "../support/mcp.ts";
import { openPages } from "./browser.ts";
import { drawView } from "./host.ts";

const FOLDER = "docs/pictures";
const WIDTHS = [360, 800, 1100] as const;
const MAX_HEIGHT = 2_400;

/** Pictures that the docs show. */
const DOCUMENTED: ReadonlySet<string> = new Set([
  "job-760-light",
  "job-380-dark",
  "divisions-760-light",
  "divisions-380-dark",
  "usage-760-light",
  "actions-760-light",
]);

const [folder] = process.argv.slice(2);
const home = createEmptyHome();
const clock = createManualClock(new Date().toISOString());
const service = new Service(await startEmulator({ clock, seed: "pictures" }), clock);
const { emulator } = service;
const env = {
  ...emulatorEnv(emulator),
  MIC_WORKSPACE_ID: emulator.workspaceId,
  MIC_STATE_DIR: home.path,
  MIC_GEOGRAPHY_RATE: "600",
};
const connection = await connectInProcess("v2-modern", { env, showsViews: true });
const pages = await openPages();

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
  { name: "job-failed", tool: "show_job", args: { jobId: failed.id } },
  { name: "job-wrong", tool: "show_job", args: { jobId: invalidInputJob.id } },
  { name: "divisions", tool: "show_divisions", args: { level: "state" } },
  { name: "districts", tool: "show_divisions", args: { level: "district", states: ["Kerala"] } },
  { name: "usage", tool: "show_usage", args: { workspaceId: emulator.workspaceId, window: "DAY" } },
  { name: "actions", tool: "show_actions", args: {} },
];

await mkdir(folder ?? FOLDER, { recursive: true });
for (const { name, tool, args } of views)
  for (const width of WIDTHS)
    for (const colorScheme of ["light", "dark"] as const) {
      const screenshot = `${name}-${width}-${colorScheme}`;
      if (folder === undefined && !DOCUMENTED.has(screenshot)) continue;
      const host = await drawView(pages, { connection, tool, args, width, colorScheme });
      // In milliseconds: the frame needs a moment to follow the view's size.
      await host.page.waitForTimeout(700);
      await host.page.setViewportSize({ width, height: Math.min(MAX_HEIGHT, host.heights.at(-1) ?? MAX_HEIGHT) });
      await host.page.waitForTimeout(200);
      await host.page.screenshot({ path: `${folder ?? FOLDER}/${screenshot}.png` });
      await host.page.close();
    }

await pages.close();
await connection.close();
await emulator.close();
home.remove();
