// Tests show_job: its view in a real browser, with the official bridge and the real server: live updates and a user's clicks.
import { describe, expect, test } from "vitest";
import { CHROMIUM, pagesForFile } from "../apps/browser.ts";
import { findProblems, type Host, type HostOptions, measureOverflow } from "../apps/host.ts";
import { expectShown, runningJob, setUpView } from "../apps/view-test.ts";
import { createRetryableJob, FILE, last, runJobToEnd, watchJob } from "../emulator/work.ts";
import { isThorough } from "../support/thorough.ts";

/** A view does not depend on the protocol revision, except for a question to the user. */
const REVISIONS = ["v2-legacy", "v2-modern"] as const;
const pages = pagesForFile();
const KEY = /^view-[0-9a-f]{32}$/;

/** The idempotency key of the view's first call of this tool. */
const keySentWith = (host: Host, tool: string): string =>
  String(host.calls.find(({ name }) => name === tool)?.arguments["idempotencyKey"]);

describe.skipIf(CHROMIUM === undefined)("the view of a job (needs Chromium)", () => {
  test("the view follows a running job to its end, then stops requesting", async () => {
    const { service, draw } = await setUpView("v2-modern", pages());
    const job = await runningJob(service);
    const host = await draw("show_job", { jobId: job.id });
    await expectShown(host, "running", "3 of 9 stages", "Updates automatically");
    service.clock.advance(600_000);
    await expectShown(host, "9 of 9 stages", "The job has ended", "Output: dataset version");
    await expectShown(host, "Normalize administrative divisions", "Started", /Took \d+/);
    expect(host.calls.map(({ name }) => name).filter((name) => name !== "show_job")).toEqual(["get_recipe"]);
    const callCount = host.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(host.calls.length).toBe(callCount);
    expect(host.consoleErrors).toEqual([]);
  });

  test("the view retries a failed job once by keyboard only, shows the attempts, and informs the agent", async () => {
    const { service, draw } = await setUpView("v2-modern", pages());
    const failed = await createRetryableJob(service);
    const host = await draw("show_job", { jobId: failed.id });
    await expectShown(host, "failed", "STAGE_UNAVAILABLE", "a retry can help");
    await host.button("Retry the job").focus();
    await host.page.keyboard.press("Enter");
    await expectShown(host, "Finished stages are kept");
    await expect.poll(() => host.frame.evaluate("document.activeElement.textContent")).toBe("Yes, retry");
    for (let attempt = 0; attempt < 3; attempt += 1) await host.page.keyboard.press("Enter");
    await expectShown(host, "Attempts", /failed at \w+ \(STAGE_UNAVAILABLE\)/, "this job");
    const retries = host.calls.filter(({ name }) => name === "retry_job");
    expect(retries).toHaveLength(1);
    const key = keySentWith(host, "retry_job");
    expect(key).toMatch(KEY);
    expect(await service.countExecutions(key)).toBe(1);
    expect(host.contexts.at(-1)).toContain(key);
    expect(host.contexts.at(-1)).toContain("was done; do not repeat it");
  });

  test.each(REVISIONS)(
    "the view cancels a job after one question to the user, and sends nothing if the user declines (%s)",
    async (revision) => {
      const accepting = await setUpView(revision, pages(), { action: "accept", content: {} });
      const job = await runningJob(accepting.service);
      const host = await accepting.draw("show_job", { jobId: job.id });
      await host.button("Cancel the job").click();
      await host.button("Yes, cancel").click();
      await expect.poll(() => accepting.service.countExecutions(keySentWith(host, "cancel_job"))).toBe(1);
      accepting.service.clock.advance(60_000);
      await expect.poll(() => host.contexts.length).toBe(1);
      expect(accepting.questions).toHaveLength(1);
      await expectShown(host, "cancelled", "The job has ended");

      const declining = await setUpView(revision, pages(), { action: "decline" });
      const other = await runningJob(declining.service);
      const declined = await declining.draw("show_job", { jobId: other.id });
      await declined.button("Cancel the job").click();
      await declined.button("Yes, cancel").click();
      await expectShown(declined, "The user declined", "nothing was sent");
      expect(await declining.service.countExecutions(keySentWith(declined, "cancel_job"))).toBe(0);
      expect(declined.contexts.at(-1)).toContain("was not done");
    },
  );

  test("a click whose response was lost is repeated with the same key and makes one job", async () => {
    const { service, draw } = await setUpView("v2-modern", pages());
    const failed = await createRetryableJob(service);
    let lostAnswers = 0;
    const interceptCall: HostOptions["interceptCall"] = async ({ name }, next) => {
      const answer = await next();
      if (name !== "retry_job" || lostAnswers > 0) return answer;
      lostAnswers += 1;
      throw new Error("the host went away");
    };
    const host = await draw("show_job", { jobId: failed.id }, { interceptCall });
    await host.button("Retry the job").click();
    await host.button("Yes, retry").click();
    await expectShown(host, "it never runs twice");
    expect(host.contexts.at(-1)).toContain("outcome is unknown");
    await host.button("Try again").click();
    await expectShown(host, "Attempts");
    const keys = host.calls.filter(({ name }) => name === "retry_job").map((call) => call.arguments["idempotencyKey"]);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect(await service.countExecutions(String(keys[0]))).toBe(1);
  });

  test("a view whose host cannot inform the agent sends messages instead, or has no buttons if the host supports no messages", async () => {
    const { service, draw } = await setUpView("v2-modern", pages());
    const failed = await createRetryableJob(service);
    const capable = { capabilities: { serverTools: {}, message: {} } };
    const asking = await draw("show_job", { jobId: failed.id }, capable);
    await asking.button("Retry the job").click();
    await asking.button("Yes, retry").click();
    await expectShown(asking, "The agent was asked to do it.");
    expect(asking.messages).toEqual([expect.stringMatching(/^Please call retry_job \{.*"idempotencyKey":"view-/)]);
    expect(asking.calls.filter(({ name }) => name === "retry_job")).toEqual([]);
    for (const capabilities of [{}, { serverTools: {} }]) {
      const none = await draw("show_job", { jobId: failed.id }, { capabilities });
      await expectShown(none, "STAGE_UNAVAILABLE");
      expect(await none.frame.getByRole("button", { name: /retry|cancel/i }).count()).toBe(0);
    }
  });

  test("an id is copied by a click, or shown in full if the host has no clipboard", async () => {
    const { service, draw } = await setUpView("v2-modern", pages());
    const { id } = await createRetryableJob(service);
    const host = await draw("show_job", { jobId: id });
    await host.frame.locator("h1 button").click();
    await expect
      .poll(() => host.frame.locator("h1").innerText(), { interval: 200 })
      .toMatch(new RegExp(`copied|${id}`));
  });

  test("a failed job whose retry has an unknown outcome shows the reason instead of a button", async () => {
    const { connection, service, draw } = await setUpView("v2-modern", pages());
    const { id } = await createRetryableJob(service);
    const { view: structured } = await connection.callTool("show_job", { jobId: id });
    const withStep = (nextStep: object) => ({ structuredContent: { ...structured, nextStep } });
    const unresolved = { tool: "resolve_actions", arguments: { idempotencyKey: "key-1" }, why: "returns its outcome" };
    const host = await draw("show_job", { jobId: id }, withStep(unresolved));
    await expectShown(host, "an earlier action on this job is unknown. Ask the agent to resolve it first.");
    expect(await host.frame.getByRole("button", { name: /retry/i }).count()).toBe(0);
    const retried = { tool: "get_job", arguments: { jobId: "micjob_next" }, why: "shows the retry" };
    await expectShown(await draw("show_job", { jobId: id }, withStep(retried)), "It was retried as micjob_next.");
    const mute = await draw("show_job", { jobId: id }, { capabilities: {} });
    await expectShown(mute, "This client lets no view make calls. Ask the agent to retry the job.");
  });

  test("a view without a result from the host calls the tool, and shows a failure or a foreign result as text", async () => {
    const { service, connection, draw } = await setUpView("v2-modern", pages());
    const job = await runJobToEnd(service, FILE.succeeds);
    const viewWithoutResult = await draw("show_job", { jobId: job.id }, { structuredContent: null });
    await expectShown(viewWithoutResult, "Waiting for the job");
    await expectShown(viewWithoutResult, "9 of 9 stages");
    const missing = "micjob_00000000000000000000000000000000";
    const failed = await draw("show_job", { jobId: missing });
    await expectShown(failed, (await connection.callTool("show_job", { jobId: missing })).text.split("\n")[0] ?? "");
    const cancelled = await draw("show_job", {}, { structuredContent: null });
    await cancelled.page.evaluate(`window.bridge.sendToolCancelled({ reason: "the person stopped it" })`);
    await expectShown(cancelled, "The call was cancelled: the person stopped it.");
    for (const structuredContent of [{ actions: [] }, { data: { id: 5, stages: "no" } }, {}]) {
      const foreign = await draw("show_job", { jobId: "x" }, { structuredContent });
      await expectShown(foreign, "This result does not contain a job");
    }
  });

  test("texts of the API are not rendered as HTML, unknown states are shown unchanged, and long texts do not overflow", async () => {
    const { service, connection, draw } = await setUpView("v2-modern", pages());
    const failed = await runJobToEnd(service, FILE.failsForGood);
    const { view: structured } = await connection.callTool("show_job", { jobId: failed.id });
    const title = `<img src=x onerror="document.title='taken'"><b>${"long ".repeat(20)}</b>${"x".repeat(80)}`;
    const fieldErrors = Array.from({ length: 100 }, (_, at) => ({
      pointer: `/rows/${at}/${"y".repeat(400)}`,
      code: "</script><script>alert(1)</script>",
      message: "m".repeat(1_000),
    }));
    const stages = [{ stage: "NEW_STAGE", state: "HIBERNATING", attemptCount: 1, completedUnits: 3, totalUnits: null }];
    const failure = { ...failed.failure, title, fieldErrors };
    const structuredContent = { ...structured, data: { ...failed, stages, failure } };
    const host = await draw("show_job", { jobId: failed.id }, { width: 320, structuredContent });
    await expectShown(host, "<img src=x", "HIBERNATING", "3 units", "/rows/99/");
    expect(await host.frame.locator("img, b:text('long'), main script").count()).toBe(0);
    expect(await host.frame.title()).toBe("mic-mcp");
    expect(await measureOverflow(host)).toBe(0);
  });

  test("a hidden view stops requesting until it is visible, and a torn-down view stops permanently", async () => {
    const { service, draw } = await setUpView("v2-modern", pages());
    const job = await runningJob(service);
    const host = await draw("show_job", { jobId: job.id });
    await expectShown(host, "Updates automatically");
    const setHidden = (isHidden: boolean) =>
      host.frame.evaluate(
        `Object.defineProperty(document, "hidden", { configurable: true, get: () => ${isHidden} }); document.dispatchEvent(new Event("visibilitychange"))`,
      );
    await setHidden(true);
    const before = host.calls.length;
    service.clock.advance(600_000);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(host.calls.length - before).toBeLessThanOrEqual(1);
    await setHidden(false);
    await expectShown(host, "The job has ended");

    const other = await draw("show_job", { jobId: (await runningJob(service)).id });
    await expectShown(other, "Updates automatically");
    await other.page.evaluate("window.bridge.teardownResource({})");
    const callCount = other.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(other.calls.length).toBe(callCount);
    await expectShown(other, "Does not update automatically");
  });

  test("a failed update shows the reason, and the user can update again", async () => {
    const { service, draw } = await setUpView("v2-modern", pages());
    const job = await runningJob(service);
    let isDown = true;
    const interceptCall: HostOptions["interceptCall"] = (_, next) =>
      isDown ? Promise.reject(new Error("the server is away")) : next();
    const host = await draw("show_job", { jobId: job.id }, { interceptCall });
    await expectShown(host, "the server is away", "Does not update automatically");
    isDown = false;
    service.clock.advance(600_000);
    await host.button("Try again").click();
    await expectShown(host, "The job has ended");
    expect(last(await watchJob(service, job.id)).state).toBe("SUCCEEDED");
  });

  test("the view shows the duration of a stage that started and ended while it was open", async () => {
    const { service, connection, draw } = await setUpView("v2-modern", pages());
    const job = await runningJob(service);
    const { view } = await connection.callTool("show_job", { jobId: job.id });
    const readings = [
      ["PENDING", "10:00:00"],
      ["RUNNING", "10:00:05"],
      ["SUCCEEDED", "10:00:17"],
    ].map(([state, time], at) => {
      const stages = [{ stage: "GATHER", state, attemptCount: 1, completedUnits: at, totalUnits: 2 }];
      const changed = { resourceVersion: 100 + at, stages };
      return { data: { ...Object(view?.["data"]), ...changed, updatedAt: `2100-01-15T${time}.000Z` } };
    });
    const [structuredContent, ...others] = readings;
    const interceptCall: HostOptions["interceptCall"] = async ({ name }, next) =>
      name === "show_job" ? { content: [], structuredContent: others.shift() ?? last(readings) } : await next();
    const host = await draw(
      "show_job",
      { jobId: job.id },
      { structuredContent: structuredContent ?? null, interceptCall },
    );
    await expectShown(host, "2/2 units, 12 s");
  });

  test("the view of a job does not overflow at any width or in any theme, and axe finds no violation", async () => {
    const { service, draw } = await setUpView("v2-modern", pages());
    const retried = await createRetryableJob(service);
    const running = await runningJob(service);
    const others = isThorough ? [retried.id, (await runJobToEnd(service, FILE.failsForGood)).id] : [];
    for (const id of [running.id, ...others]) {
      const host = await draw("show_job", { jobId: id });
      await expectShown(host, "Version");
      expect(await findProblems(host)).toEqual([]);
    }
    const viewOfRetry = await draw("show_job", { jobId: retried.id });
    await viewOfRetry.button("Retry the job").click();
    expect(await findProblems(viewOfRetry)).toEqual([]);
  });

  test("the view uses the host's colors, fonts and language", async () => {
    const { service, draw } = await setUpView("v2-modern", pages());
    const job = await runJobToEnd(service, FILE.succeeds);
    const variables = { "--color-background-primary": "rgb(1, 2, 3)", "--color-text-primary": "rgb(250, 250, 250)" };
    const context = { theme: "dark", locale: "de-DE", timeZone: "Asia/Kolkata", styles: { variables } };
    const host = await draw("show_job", { jobId: job.id }, { context });
    await expectShown(host, /Changed \d\d\.\d\d\.\d{4}/);
    expect(await host.frame.evaluate("getComputedStyle(document.body).backgroundColor")).toBe("rgb(1, 2, 3)");
    await host.page.evaluate(`window.bridge.setHostContext({ theme: "light" })`);
    await expect.poll(() => host.frame.evaluate("document.documentElement.style.colorScheme")).toBe("light");
  });
});
