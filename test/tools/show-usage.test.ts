// Tests show_usage: its view in a real browser.
import { describe, expect, test } from "vitest";
import { CHROMIUM, pagesForFile } from "../apps/browser.ts";
import { findProblems, measureOverflow } from "../apps/host.ts";
import { expectShown, setUpView } from "../apps/view-test.ts";

const pages = pagesForFile();

describe.skipIf(CHROMIUM === undefined)("the view of usage (needs Chromium)", () => {
  test("the view shows exact grouped amounts, shares of at least 1 % as bars, and metrics that are not configured", async () => {
    const { service, connection, draw } = await setUpView("v2-modern", pages());
    const args = { workspaceId: service.emulator.workspaceId, window: "DAY" };
    const { view: structured } = await connection.callTool("show_usage", args);
    const defined = { unitDefinitionState: "DEFINED", reserved: "0", resetAt: "2100-01-16T00:00:00.000Z" };
    const quarter = "25000000000000000000000000000.125";
    const rows = {
      ...{ ...defined, metric: "ROWS", unit: "COUNT", granted: "100000000000000000000000000000.5" },
      ...{ used: quarter, reserved: "50000000000000000000000000000.25", remaining: quarter },
    };
    const buckets = [
      rows,
      { ...rows, metric: "PAGES", unitDefinitionState: "NOT_CONFIGURED" },
      { ...defined, metric: "BYTES", unit: "BYTE", granted: "5", used: "5", remaining: "0" },
      { ...defined, metric: "JOBS_SUBMITTED", unit: "COUNT", granted: "1000000", used: "7", remaining: "999993" },
      { ...defined, metric: "ASSET_BYTES", unit: "BYTE", granted: `${2 ** 40}`, used: "0", remaining: `${2 ** 40}` },
    ];
    const data = { ...Object(structured?.["data"]), resetTimezone: "Asia/Kolkata", buckets };
    const host = await draw("show_usage", args, { width: 320, structuredContent: { ...structured, data } });
    await expectShown(host, "100,000,000,000,000,000,000,000,000,000.5", "25,000,000,000,000,000,000,000,000,000.125");
    await expectShown(host, "Not configured (not used up): Pages", "used up");
    await expectShown(host, /Jobs submitted\s+7\s+0\s+999,993 of 1,000,000/);
    await expectShown(host, /Asset bytes\s+0 bytes\s+0 bytes\s+1 TiB of 1 TiB/);
    await expectShown(host, /Resets Jan 16, 2100, 5:30.AM/);
    const widths = await host.frame.evaluate(
      `[...document.querySelectorAll(".stack .fill")].map(({ style }) => style.width)`,
    );
    expect(widths).toEqual(["25%", "50%", "100%", "0%"]);
    expect(await measureOverflow(host)).toBe(0);
  });

  test("the view shows the emulator's usage, updates on request, and has no problem at any width", async () => {
    const { service, draw } = await setUpView("v2-legacy", pages());
    const host = await draw("show_usage", { workspaceId: service.emulator.workspaceId, window: "DAY" });
    // Both times are in the time zone of the quota.
    await expectShown(host, "Usage", /Resets .* UTC\s+Observed .* UTC/);
    await host.button("Update now").click();
    await expect.poll(() => host.calls.map(({ name }) => name)).toEqual(["show_usage"]);
    expect(await findProblems(host)).toEqual([]);
    expect(host.consoleErrors).toEqual([]);
    const wrong = await draw("show_usage", {}, { structuredContent: { data: [] } });
    await expectShown(wrong, "This result does not contain usage");
  });
});
