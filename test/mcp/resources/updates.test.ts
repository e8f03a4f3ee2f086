// Updates: who listens hears of every move, in either era, from one poller; and nobody polls for nobody.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { FILE, runJobToEnd, submitJob } from "../../emulator/work.ts";
import { operations } from "../../operations.ts";
import { connectionForTest, emulatorEnv, insideForTest } from "../../support/mcp.ts";
import { isThorough } from "../../support/thorough.ts";
import type { Bench } from "../../tools/bench.ts";
import { describeEachRevisionInProcess } from "../../tools/revisions.ts";

const STAGE_MS = 500;
const soon = { timeout: 8_000, interval: 50 };
/** Longer than the pause between two looks at what moves. */
const SEVERAL_LOOKS_MS = 2_600;

const looks = async (bench: Bench, id: string): Promise<number> =>
  [...(await bench.requests("getMicJob")), ...(await bench.requests("getMicPublicOperation"))].filter(({ path }) =>
    path.includes(id),
  ).length;

describeEachRevisionInProcess((bench, revision) => {
  const countUpdates = (uri: string): number => bench().connection.updates.filter((each) => each === uri).length;

  test("a job's moves are told until it ends or nobody listens any more; then nobody looks", async () => {
    const { id: finishedId } = await runJobToEnd(bench().service, FILE.succeeds);
    const { id: left } = await submitJob(bench().service, FILE.succeeds);
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const uris = [id, left, finishedId].map((each) => `mic://jobs/${each}`);
    const [uri = "", uriOfLeft = "", finishedUri = ""] = uris;
    const before = await looks(bench(), finishedId);
    for (const each of uris) expect(await bench().connection.listen(each)).toEqual([each]);
    expect(uris.map(countUpdates)).toEqual([0, 0, 0]);
    bench().clock.advance(2 * STAGE_MS);
    await vi.waitFor(() => expect(uris.map(countUpdates)).toEqual([1, 1, 0]), soon);
    await bench().connection.stopListening(uriOfLeft);
    // What stops and what is asked next come in one order: the stop has arrived when this is answered.
    await bench().connection.listPrompts();
    const looksAtLeft = await looks(bench(), left);
    for (let moves = 2; moves <= 3; moves += 1) {
      bench().clock.advance(2 * STAGE_MS);
      await vi.waitFor(() => expect(countUpdates(uri)).toBe(moves), soon);
    }
    bench().clock.advance(60_000);
    await vi.waitFor(() => expect(countUpdates(uri)).toBe(4), soon);
    expect(JSON.parse((await bench().connection.readResource(uri)).text)).toMatchObject({ id, state: "SUCCEEDED" });
    const looksAtIt = await looks(bench(), id);
    await sleep(SEVERAL_LOOKS_MS);
    expect(await looks(bench(), id)).toBe(looksAtIt);
    expect(await looks(bench(), left)).toBe(looksAtLeft);
    // What has ended is looked at once.
    expect(await looks(bench(), finishedId)).toBe(before + 1);
    expect(uris.map(countUpdates)).toEqual([4, 1, 0]);
    for (const each of [uri, finishedUri]) await bench().connection.stopListening(each);
  });

  test("an operation's end is told", async () => {
    const args = await bench().argumentsFor("cancelMicJob");
    const { structured } = await bench().ok("cancel_job", args);
    const uri = `mic://operations/${Object(structured["data"]).id}`;
    expect(await bench().connection.listen(uri)).toEqual([uri]);
    bench().clock.advance(60_000);
    await vi.waitFor(() => expect(countUpdates(uri)).toBe(1), soon);
    await bench().connection.stopListening(uri);
  });

  // Whoever looks knows of no era, and the rest that a service asks for has to pass: watching.test.ts has a clock for it.
  const left = isThorough ? "" : " (skipped: MIC_TEST_ALL is not 1)";
  if (revision === "v2-modern")
    test.runIf(isThorough)(
      `a service that was away when listening began is heard of when it is back${left}`,
      async () => {
        const { id } = await submitJob(bench().service, FILE.succeeds);
        const uri = `mic://jobs/${id}`;
        const away = { kind: "status", status: 429, retryAfterSeconds: 12 };
        await bench().service.fault(away, { operationId: "getMicJob" });
        expect(await bench().connection.listen(uri)).toEqual([uri]);
        await sleep(SEVERAL_LOOKS_MS);
        // Asked to rest for longer than a look may take, nobody looks before.
        expect(countUpdates(uri)).toBe(0);
        await vi.waitFor(() => expect(countUpdates(uri)).toBe(1), { timeout: 20_000, interval: 100 });
        await bench().connection.stopListening(uri);
      },
      40_000,
    );

  test("what cannot be listened to is said", async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const none = ["mic://jobs/no-such-job", "mic://actions", "mic://elephants"];
    if (revision === "v1-client") {
      await expect(bench().connection.listen("mic://jobs/no-such-job")).rejects.toMatchObject({ code: -32002 });
      await expect(bench().connection.listen("mic://elephants")).rejects.toMatchObject({ code: -32002 });
      await expect(bench().connection.listen("mic://actions")).rejects.toThrow(
        /sends no updates.*mic:\/\/jobs\/\{jobId\}/,
      );
    } else {
      // The acknowledgement names what is watched, and only that.
      const uri = `mic://jobs/${id}`;
      expect(await bench().connection.listen(uri, ...none)).toEqual([uri]);
      expect(await bench().connection.listen(...none)).toEqual([]);
      await bench().connection.stopListening(uri, ...none);
      await bench().connection.stopListening(...none);
    }
  });

  test("a hundred are watched at most, and the next is refused until one is free", async () => {
    const connection = await insideForTest(revision, emulatorEnv(bench().service.emulator));
    const ids = await manyJobs(bench(), 101);
    const uris = ids.map((id) => `mic://jobs/${id}`);
    const [one = "", ...others] = uris;
    await connection.listen(...others);
    await expect(connection.listen(one)).rejects.toThrow(/100 resources are being watched already/);
    await connection.stopListening(...others);
    await connection.listPrompts();
    expect(await connection.listen(one)).toEqual([one]);
    await connection.stopListening(one);
  }, 60_000);

  test("listening keeps no process alive", async () => {
    const { id } = await submitJob(bench().service, FILE.succeeds);
    const connection = await connectionForTest(revision, { env: emulatorEnv(bench().service.emulator) });
    await connection.listen(`mic://jobs/${id}`);
    const { pid } = connection;
    const startedAt = performance.now();
    await connection.close();
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(), { timeout: 2_000, interval: 20 });
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});

/** Jobs that move no more by themselves but have not ended: they pause. */
async function manyJobs(bench: Bench, count: number): Promise<string[]> {
  const body = await bench.argumentsFor("createMicJob");
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1)
    ids.push((await bench.service.ok(operations.createMicJob, { body })).data.id);
  return ids;
}
