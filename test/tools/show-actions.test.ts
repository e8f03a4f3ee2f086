// Tests show_actions: its view in a real browser.
import { describe, expect, test } from "vitest";
import { CHROMIUM, pagesForFile } from "../apps/browser.ts";
import { findProblems } from "../apps/host.ts";
import { expectShown, setUpView } from "../apps/view-test.ts";
import { createRetryableJob } from "../emulator/work.ts";

const pages = pagesForFile();

describe.skipIf(CHROMIUM === undefined)("the view of actions (needs Chromium)", () => {
  const createAction = (state: string, at: number, more: object = {}) => ({
    tool: "retry_job",
    idempotencyKey: `mic-${String(at).padStart(32, "0")}`,
    state,
    timesSent: at,
    createdAt: "2100-01-15T10:00:00.000Z",
    updatedAt: `2100-01-15T10:0${at}:00.000Z`,
    targetId: `micjob_${at}`,
    arguments: {},
    ...more,
  });
  const resolves = { tool: "resolve_actions", arguments: { idempotencyKey: "mic-1" }, why: "unknown" };
  const actions = [
    createAction("succeeded", 4, { createdId: "micjob_new", arguments: { reason: "The input was corrected" } }),
    createAction("rejected", 3, { code: "JOB_NOT_RETRYABLE" }),
    createAction("in_progress", 2, { nextStep: resolves }),
    createAction("unknown", 1, { nextStep: resolves }),
  ];
  const structuredContent = { actions };

  test("the view lists unresolved actions first, and asks the agent for the exact call that resolves one", async () => {
    const { draw } = await setUpView("v2-modern", pages());
    const host = await draw("show_actions", {}, { structuredContent });
    await expectShown(host, "2 of 4 unresolved", "JOB_NOT_RETRYABLE", "micjob_new", "4 times, under the same key");
    await expectShown(host, "The input was corrected");
    const states = ["unknown", "in progress", "succeeded", "rejected"];
    expect(await host.frame.locator(".line b").allInnerTexts()).toEqual(states);
    await host.frame.getByRole("button", { name: "Ask the agent to resolve it" }).first().click();
    await expectShown(host, "The agent was asked.");
    expect(host.messages).toEqual([`Please call resolve_actions ${JSON.stringify(resolves.arguments)}.`]);
    expect(host.calls).toEqual([]);
    expect(await findProblems(host)).toEqual([]);
  });

  test("the view reports why the agent could not be asked, and has no button if the host cannot send messages", async () => {
    const { draw } = await setUpView("v2-modern", pages());
    const onMessage = () => Promise.reject(new Error("not now"));
    const failing = await draw("show_actions", {}, { structuredContent, onMessage });
    await failing.frame.getByRole("button", { name: "Ask the agent to resolve it" }).first().click();
    await expectShown(failing, "The agent could not be asked");
    const silent = await draw("show_actions", {}, { structuredContent, capabilities: {} });
    await expectShown(silent, "2 of 4 unresolved");
    expect(await silent.frame.getByRole("button").count()).toBe(0);
  });

  test("the view shows the journal's actions, and reports that an empty journal has none", async () => {
    const { service, connection, draw } = await setUpView("v2-legacy", pages());
    const host = await draw("show_actions", {});
    await expectShown(host, "none yet", "This journal does not contain actions yet");
    const failed = await createRetryableJob(service);
    await connection.callTool("retry_job", { jobId: failed.id, retryMode: "SAFE_RESUME", reason: "Once more" });
    await host.button("Update now").click();
    await expectShown(host, "1, all resolved", failed.id);
    const wrong = await draw("show_actions", {}, { structuredContent: {} });
    await expectShown(wrong, "This result does not contain actions");
  });
});
