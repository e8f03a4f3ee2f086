// `npm run apps:pictures`: the views as docs/pictures/ shows them, drawn in a real Chromium over the emulator.
// With a folder as its argument: every view at every width in both themes, to be looked at.
import { mkdir } from "node:fs/promises";
import type { Job } from "../../src/contract/jobs.ts";
import { startEmulator } from "../../src/emulator/index.ts";
import { Service } from "../emulator/service.ts";
import { FILE, retryableJob, runJobToEnd, watchJob } from "../emulator/work.ts";
import { emptyHome } from "../support/empty-home.ts";
import { manualClock } from "../support/emulator.ts";
import { connectInside, emulatorEnv } from "../support/mcp.ts";
import { openPages } from "./browser.ts";
import { draw } from "./host.ts";

const FOLDER = "docs/pictures";
const WIDTHS = [320, 380, 760, 1100] as const;
const MAX_HEIGHT = 2_400;

/** What the papers show. */
const SHOWN: ReadonlySet<string> = new Set([
  "job-760-light",
  "job-380-dark",
  "divisions-760-light",
  "divisions-380-dark",
  "usage-760-light",
  "actions-760-light",
]);

const [folder] = process.argv.slice(2);
const home = emptyHome();
const clock = manualClock(new Date().toISOString());
const service = new Service(await startEmulator({ clock, seed: "pictures" }), clock);
const { emulator } = service;
const env = {
  ...emulatorEnv(emulator),
  MIC_WORKSPACE_ID: emulator.workspaceId,
  MIC_STATE_DIR: home.path,
  MIC_GEOGRAPHY_RATE: "600",
};
const connection = await connectInside("v2-modern", { env, showsViews: true });
const pages = await openPages();

const reason = "The stage has workers again";
const retry = (jobId: string) => connection.callTool("retry_job", { jobId, retryMode: "SAFE_RESUME", reason });
const wrong = await runJobToEnd(service, FILE.failsForGood);
await retry(wrong.id);
const failed = await retryableJob(service);
// Its answer is lost, behind its effect.
const lost = { kind: "status", status: 503, retryAfterSeconds: 60, afterCommit: true } as const;
await service.fault(lost, { operationId: "retryMicJob" });
await retry(failed.id);
const { id: retriedId } = Object((await retry((await retryableJob(service)).id)).structured?.["data"]);
const isFarOn = ({ stages }: Job): boolean =>
  stages.filter(({ state }) => state === "SUCCEEDED").length === 7 &&
  stages.some(({ state, completedUnits }) => state === "RUNNING" && completedUnits > 0);
await watchJob(service, retriedId, isFarOn);

const scenes = [
  { name: "job", tool: "show_job", args: { jobId: retriedId } },
  { name: "job-failed", tool: "show_job", args: { jobId: failed.id } },
  { name: "job-wrong", tool: "show_job", args: { jobId: wrong.id } },
  { name: "divisions", tool: "show_divisions", args: { level: "state" } },
  { name: "districts", tool: "show_divisions", args: { level: "district", states: ["Kerala"] } },
  { name: "usage", tool: "show_usage", args: { workspaceId: emulator.workspaceId, window: "DAY" } },
  { name: "actions", tool: "show_actions", args: {} },
];

await mkdir(folder ?? FOLDER, { recursive: true });
for (const { name, tool, args } of scenes)
  for (const width of WIDTHS)
    for (const colorScheme of ["light", "dark"] as const) {
      const picture = `${name}-${width}-${colorScheme}`;
      if (folder === undefined && !SHOWN.has(picture)) continue;
      const host = await draw(pages, { connection, tool, args, width, colorScheme });
      // The frame follows the view's size in a moment.
      await host.page.waitForTimeout(700);
      await host.page.setViewportSize({ width, height: Math.min(MAX_HEIGHT, host.heights.at(-1) ?? MAX_HEIGHT) });
      await host.page.waitForTimeout(200);
      await host.page.screenshot({ path: `${folder ?? FOLDER}/${picture}.png` });
      await host.page.close();
    }

await pages.close();
await connection.close();
await emulator.close();
home.remove();
