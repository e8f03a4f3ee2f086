import { startEmulator } from "../../src/emulator/index.ts";
import { connectInside, emulatorEnv } from "../support/mcp.ts";
import { Service } from "../emulator/service.ts";
import { submitJob, FILE, watchJob, isTerminal, retryableJob, settledJob } from "../emulator/work.ts";
import { manualClock } from "../support/emulator.ts";
import { openPages } from "./browser.ts";
import { draw, violationsIn, overflowOf } from "./host.ts";
const clock = manualClock("2026-11-22T05:00:00.000Z");
const emulator = await startEmulator({ clock, seed: "pictures" });
const service = new Service(emulator, clock);
const env = { ...emulatorEnv(emulator), MIC_WORKSPACE_ID: emulator.workspaceId, MIC_STATE_DIR: "/tmp/pics/state", MIC_GEOGRAPHY_RATE: "600", MIC_KEYCHAIN: "off" };
const connection = await connectInside("v2-modern", { env, showsViews: true });
console.log((await connection.listTools()).map(({name}) => name).slice(-5));
const failed = await retryableJob(service);
const retry: any = await connection.callTool("retry_job", { jobId: failed.id, retryMode: "SAFE_RESUME", reason: "x" });
const retried = retry.structured.data.id;
await watchJob(service, retried, (job) => job.stages.filter((s) => s.state === "SUCCEEDED").length >= 7 || isTerminal(job));
const failed2 = await settledJob(service, FILE.failsForGood);
const failed3 = await retryableJob(service);
const pages = await openPages();
const shots: any[] = [["running", "show_job", { jobId: retried }], ["failed", "show_job", { jobId: failed3.id }], ["fielderrors", "show_job", { jobId: failed2.id }], ["states", "show_divisions", { level: "state" }], ["districts", "show_divisions", { level: "district" }], ["usage", "show_usage", { workspaceId: emulator.workspaceId, window: "DAY" }], ["actions", "show_actions", {}]];
const only = process.argv[2]?.split(",");
for (const [name, tool, args] of shots) {
  if (only && !only.includes(name)) continue;
  for (const width of [320, 380, 760, 1100]) for (const colorScheme of ["light", "dark"] as const) {
    const host = await draw(pages, { connection, tool, args, width, colorScheme });
    await new Promise((r) => setTimeout(r, 600));
    const bad = await violationsIn(host);
    const over = await overflowOf(host);
    console.log(name, width, colorScheme, "overflow", over, bad, host.complaints);
    const height = host.heights.at(-1) ?? 900;
    await host.page.setViewportSize({ width, height: Math.min(height, 1500) });
    await new Promise((r) => setTimeout(r, 200));
    await host.page.screenshot({ path: `/tmp/pics/${name}-${width}-${colorScheme}.png` });
    await host.page.close();
  }
}
await pages.close(); await connection.close(); await emulator.close(); process.exit(0);
