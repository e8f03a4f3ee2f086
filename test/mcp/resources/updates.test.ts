// Tests resource updates: listeners get each change, in each revision, from one poller, and polling stops with the last listener.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { createRetryableJob, FILE, runJobToEnd, submitJob } from "../../emulator/work.ts";
import { emulatorEnv } from "../../support/mcp.ts";
import type { Bench } from "../../tools/bench.ts";
import { describeEachRevisionInProcess } from "../../tools/revisions.ts";
import { modernEnvelope } from "../modern-envelope.ts";
import { initialize, start } from "../stdio/child.ts";

const STAGE_MS = 500;
const pollOptions = { timeout: 60_000, interval: 50 };
/** Longer than the pause between two reads of a changing resource. */
const SEVERAL_POLLS_MS = 2_600;

const countReads = async (bench: Bench, id: string): Promise<number> =>
  [...(await bench.requests("getMicJob")), ...(await bench.requests("getMicPublicOperation"))].filter(({ path }) =>
    path.includes(id),
  ).length;

describeEachRevisionInProcess((bench, revision) => {
  const countUpdates = (uri: string): number => bench().connection.updates.filter((each) => each === uri).length;

  test("updates of a job are sent until the job ends or the client stops listening; then the job is not read again", async () => {
    const { id: finishedId } = await runJobToEnd(bench().service, FILE.succeeds);
    const { id: unwatchedId } = await submitJob(bench().service, FILE.succeeds);
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const uris = [id, unwatchedId, finishedId].map((each) => `mic://jobs/${each}`);
    const [uri = "", unwatchedUri = "", finishedUri = ""] = uris;
    const before = await countReads(bench(), finishedId);
    for (const each of uris) expect(await bench().connection.listen(each)).toEqual([each]);
    expect(uris.map(countUpdates)).toEqual([0, 0, 0]);
    bench().clock.advance(2 * STAGE_MS);
    await vi.waitFor(() => expect(uris.map(countUpdates)).toEqual([1, 1, 0]), pollOptions);
    await bench().connection.stopListening(unwatchedUri);
    // The server handles these messages in order: the stop has arrived when this request is answered.
    await bench().connection.listPrompts();
    const readsOfUnwatched = await countReads(bench(), unwatchedId);
    for (let updateCount = 2; updateCount <= 3; updateCount += 1) {
      bench().clock.advance(2 * STAGE_MS);
      await vi.waitFor(() => expect(countUpdates(uri)).toBe(updateCount), pollOptions);
    }
    bench().clock.advance(60_000);
    await vi.waitFor(() => expect(countUpdates(uri)).toBe(4), pollOptions);
    expect(JSON.parse((await bench().connection.readResource(uri)).text)).toMatchObject({ id, state: "SUCCEEDED" });
    const readsOfFinished = await countReads(bench(), id);
    await sleep(SEVERAL_POLLS_MS);
    expect(await countReads(bench(), id)).toBe(readsOfFinished);
    expect(await countReads(bench(), unwatchedId)).toBe(readsOfUnwatched);
    // A job that has ended is read once.
    expect(await countReads(bench(), finishedId)).toBe(before + 1);
    expect(uris.map(countUpdates)).toEqual([4, 1, 0]);
    for (const each of [uri, finishedUri]) await bench().connection.stopListening(each);
  });

  test("updates of a failed job continue with its retry, whose outcome the resource contains", async () => {
    const { id } = await createRetryableJob(bench().service);
    const uri = `mic://jobs/${id}`;
    expect(await bench().connection.listen(uri)).toEqual([uri]);
    const args = { jobId: id, retryMode: "SAFE_RESUME", reason: "Once more" };
    const retryId = Object((await bench().ok("retry_job", args)).structured["data"]).id;
    await vi.waitFor(() => expect(countUpdates(uri)).toBe(1), pollOptions);
    bench().clock.advance(60_000);
    await vi.waitFor(() => expect(countUpdates(uri)).toBe(2), pollOptions);
    const latestRetry = { id: retryId, state: "SUCCEEDED", outputDatasetVersionId: expect.any(String) };
    const content = JSON.parse((await bench().connection.readResource(uri)).text);
    expect(content).toMatchObject({ id, state: "FAILED", latestRetry });
    const reads = await countReads(bench(), retryId);
    await sleep(SEVERAL_POLLS_MS);
    expect([await countReads(bench(), retryId), countUpdates(uri)]).toEqual([reads, 2]);
    await bench().connection.stopListening(uri);
  });

  test("the end of an operation is reported", async () => {
    const args = await bench().argumentsFor("cancelMicJob");
    const { structured } = await bench().ok("cancel_job", args);
    const uri = `mic://operations/${Object(structured["data"]).id}`;
    expect(await bench().connection.listen(uri)).toEqual([uri]);
    bench().clock.advance(60_000);
    await vi.waitFor(() => expect(countUpdates(uri)).toBe(1), pollOptions);
    await bench().connection.stopListening(uri);
  });

  test("resources that cannot be watched are reported", async () => {
    const { listen, stopListening } = bench().connection;
    const unwatchable = ["mic://jobs/no-such-job", "mic://elephants", "mic://actions"];
    if (revision === "v1-client") {
      for (const uri of unwatchable.slice(0, 2)) await expect(listen(uri)).rejects.toMatchObject({ code: -32002 });
      await expect(listen("mic://actions")).rejects.toThrow(/sends no updates.*mic:\/\/jobs\/\{jobId\}/);
      return;
    }
    // The acknowledgement lists only the resources that are watched.
    const uri = `mic://jobs/${(await submitJob(bench().service, FILE.succeeds)).id}`;
    expect(await listen(uri, ...unwatchable)).toEqual([uri]);
    expect(await listen(...unwatchable)).toEqual([]);
    await stopListening(uri, ...unwatchable);
    await stopListening(...unwatchable);
  });

  test("listening does not keep the process alive", async () => {
    const uri = `mic://jobs/${(await submitJob(bench().service, FILE.succeeds)).id}`;
    const program = start(["serve"], { env: emulatorEnv(bench().service.emulator) });
    const listen = { notifications: { resourceSubscriptions: [uri] }, _meta: modernEnvelope() };
    const isOlder = revision === "v1-client";
    if (isOlder) await initialize(program);
    const method = isOlder ? "resources/subscribe" : "subscriptions/listen";
    program.send({ jsonrpc: "2.0", id: 2, method, params: isOlder ? { uri } : listen });
    // The result, or the acknowledgement.
    expect(await program.next()).not.toHaveProperty("error");
    program.process.stdin.end();
    expect(await program.exit).toEqual({ code: 0, signal: null });
  });
});
