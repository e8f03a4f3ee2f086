// Tests the views of usage and of actions in a real browser.
import { describe, expect, test } from "vitest";
import { createRetryableJob } from "../emulator/work.ts";
import { CHROMIUM, pagesForFile } from "./browser.ts";
import { findProblems, measureOverflow } from "./host.ts";
import { expectShown, setUpView } from "./view-test.ts";

const pages = pagesForFile();

describe.skipIf(CHROMIUM === undefined)("the view of usage (needs Chromium)", () => {
  test("the view shows exact grouped amounts, shares of at least 1 % as bars, and metrics that are not configured", async () => {
    const { service, connection, draw } = await setUpView("v2-modern", pages());
    const args = { workspaceId: service.emulator.workspaceId, window: "DAY" };
    const { view: structured } = await connection.callTool("show_usage", args);
    const bucket = {
      metric: "ROWS",
      unit: "COUNT",
      unitDefinitionState: "DEFINED",
      granted: "100000000000000000000000000000.5",
      used: "25000000000000000000000000000.125",
      reserved: "50000000000000000000000000000.25",
      remaining: "25000000000000000000000000000.125",
      resetAt: "2100-01-16T00:00:00.000Z",
    };
    const other = { ...bucket, metric: "PAGES", unitDefinitionState: "NOT_CONFIGURED" };
    const exhausted = {
      ...bucket,
      metric: "BYTES",
      unit: "BYTE",
      granted: "5",
      used: "5",
      reserved: "0",
      remaining: "0",
    };
    const jobs = {
      ...exhausted,
      metric: "JOBS_SUBMITTED",
      unit: "COUNT",
      granted: "1000000",
      used: "7",
      remaining: "999993",
    };
    const bytes = {
      ...exhausted,
      metric: "ASSET_BYTES",
      granted: "1099511627776",
      used: "0",
      remaining: "1099511627776",
    };
    const data = {
      ...Object(structured?.["data"]),
      resetTimezone: "Asia/Kolkata",
      buckets: [bucket, other, exhausted, jobs, bytes],
    };
    const value = { content: [], structuredContent: { ...structured, data } };
    const host = await draw("show_usage", args, { width: 320, result: { value } });
    await expectShown(host, "100,000,000,000,000,000,000,000,000,000.5", "25,000,000,000,000,000,000,000,000,000.125");
    await expectShown(
      host,
      "Not configured (not used up): Pages",
      "used up",
      /Jobs submitted\s+7\s+0\s+999,993 of 1,000,000/,
    );
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
    await expectShown(host, "Usage", "Observed");
    await host.button("Update now").click();
    await expect.poll(() => host.calls.map(({ name }) => name)).toEqual(["show_usage"]);
    expect(await findProblems(host)).toEqual([]);
    expect(host.consoleErrors).toEqual([]);
    const wrong = await draw("show_usage", {}, { result: { value: { content: [], structuredContent: { data: [] } } } });
    await expectShown(wrong, "This result does not contain usage");
  });
});

describe.skipIf(CHROMIUM === undefined)("the view of actions (needs Chromium)", () => {
  const createAction = (state: string, at: number, more: object = {}) => ({
    tool: "retry_job",
    idempotencyKey: `mic-${String(at).padStart(32, "0")}`,
    state,
    attempts: at,
    createdAt: "2100-01-15T10:00:00.000Z",
    updatedAt: `2100-01-15T10:0${at}:00.000Z`,
    about: `micjob_${at}`,
    arguments: {},
    ...more,
  });
  const resolves = { tool: "resolve_actions", arguments: { idempotencyKey: "mic-1" }, why: "unknown" };
  const actions = [
    createAction("succeeded", 4, { resourceId: "micjob_new", arguments: { reason: "The input was corrected" } }),
    createAction("rejected", 3, { code: "JOB_NOT_RETRYABLE" }),
    createAction("in_progress", 2, { nextStep: resolves }),
    createAction("unknown", 1, { nextStep: resolves }),
  ];
  const result = { value: { content: [], structuredContent: { actions } } };

  test("the view lists unresolved actions first, and asks the agent for the exact call that resolves one", async () => {
    const { draw } = await setUpView("v2-modern", pages());
    const host = await draw("show_actions", {}, { result });
    await expectShown(
      host,
      "2 of 4 unresolved",
      "JOB_NOT_RETRYABLE",
      "micjob_new",
      "4 times, under the same key",
      "The input was corrected",
    );
    expect(await host.frame.locator(".line b").allInnerTexts()).toEqual([
      "unknown",
      "in progress",
      "succeeded",
      "rejected",
    ]);
    await host.frame.getByRole("button", { name: "Ask the agent to resolve it" }).first().click();
    await expectShown(host, "The agent was asked.");
    expect(host.messages).toEqual([`Please call resolve_actions ${JSON.stringify(resolves.arguments)}.`]);
    expect(host.calls).toEqual([]);
    expect(await findProblems(host)).toEqual([]);
  });

  test("the view reports why the agent could not be asked, and has no button if the host has no messages", async () => {
    const { draw } = await setUpView("v2-modern", pages());
    const viewWithFailingHost = await draw(
      "show_actions",
      {},
      { result, onMessage: () => Promise.reject(new Error("not now")) },
    );
    await viewWithFailingHost.frame.getByRole("button", { name: "Ask the agent to resolve it" }).first().click();
    await expectShown(viewWithFailingHost, "The agent could not be asked");
    const viewWithoutMessages = await draw("show_actions", {}, { result, capabilities: {} });
    await expectShown(viewWithoutMessages, "2 of 4 unresolved");
    expect(await viewWithoutMessages.frame.getByRole("button").count()).toBe(0);
  });

  test("the view shows the journal's actions, also of an empty journal", async () => {
    const { service, connection, draw } = await setUpView("v2-legacy", pages());
    const host = await draw("show_actions", {});
    await expectShown(host, "none yet", "This journal does not contain actions yet");
    const failed = await createRetryableJob(service);
    await connection.callTool("retry_job", { jobId: failed.id, retryMode: "SAFE_RESUME", reason: "Once more" });
    await host.button("Update now").click();
    await expectShown(host, "1, all resolved", failed.id);
    const wrong = await draw("show_actions", {}, { result: { value: { content: [], structuredContent: {} } } });
    await expectShown(wrong, "This result does not contain actions");
  });
});
