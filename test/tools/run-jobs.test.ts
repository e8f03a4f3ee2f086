// Tests run_jobs: one recipe on many files, each file and each job only once, with a state for each file.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { isNote } from "../../src/actions/fingerprint.ts";
import { submitTraits } from "../../src/toolkit/jobs/submitting.ts";
import { FILE } from "../emulator/work.ts";
import { fieldsOf } from "../fields.ts";
import { operations } from "../operations.ts";
import { type Args, type Bench, createBatchArguments, createRunArguments, refusal, type SentRequest } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const Row = z.looseObject({ file: z.string(), state: z.string(), jobId: z.string().optional() });
const Result = z.looseObject({
  summary: z.string(),
  results: z.array(Row),
  nextStep: z.looseObject({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) }).optional(),
});
const statesOf = ({ results }: Pick<z.infer<typeof Result>, "results">) => results.map(({ state }) => state);

const countPosts = (sent: readonly SentRequest[]): Readonly<Record<string, number>> => {
  const posts = sent.filter(({ method }) => method === "POST").map(({ operationId }) => String(operationId));
  return Object.fromEntries([...new Set(posts)].map((id) => [id, posts.filter((each) => each === id).length]));
};

const argsFor = async ({ service }: Bench, files: readonly number[], more: Args = {}) => ({
  ...(await createBatchArguments(service, files)),
  ...more,
});

const run = async (bench: Bench, args: Args) =>
  Result.parse((await bench.ok("run_jobs", args, bench.withAdvancingClock())).structured);

describeLatestRevision((bench) => {
  // test/snapshots/run_jobs.md has the rows and the sentences.
  test("run_jobs registers and runs each file once, and an identical call returns the same states", async () => {
    const args = await argsFor(bench(), [FILE.succeeds, FILE.failsForGood, FILE.quarantined, FILE.pauses]);
    const states = ["SUCCEEDED", "FAILED", "QUARANTINED", "PAUSED"];
    const sent = await bench().captureRequests(async () => {
      const { results } = await run(bench(), args);
      expect(statesOf({ results })).toEqual(states);
      expect(results.map(({ file }) => file)).toEqual(args.files);
    });
    expect(countPosts(sent)).toEqual({ createMicPublicInput: 4, createMicJob: 3 });
    const again = await bench().captureRequests(async () => expect(statesOf(await run(bench(), args))).toEqual(states));
    expect(countPosts(again)).toEqual({});
  });

  test("run_jobs submits a file as the same action as run_job, and a new key makes another job", async () => {
    const optional = fieldsOf(operations.createMicJob).filter(
      ({ name, isOptional }) => isOptional && !isNote(name, submitTraits),
    );
    const more = Object.fromEntries(optional.map(({ name, values }) => [name, values.accepts.at(-1)]));
    const batch = await argsFor(bench(), [FILE.succeeds], more);
    const args = { ...(await createRunArguments(bench().service, FILE.succeeds)), ...more };
    const single = await bench().ok("run_job", args, bench().withAdvancingClock());
    const { id } = Object(single.structured["data"]);
    expect((await run(bench(), batch)).results).toMatchObject([{ jobId: id, state: "SUCCEEDED" }]);
    const keyed = { ...batch, idempotencyKey: "once more for all" };
    const sent = await bench().captureRequests(async () => {
      const [row] = (await run(bench(), keyed)).results;
      expect(row?.jobId).not.toBe(id);
      expect((await run(bench(), keyed)).results).toMatchObject([{ jobId: row?.jobId }]);
    });
    expect(countPosts(sent)).toEqual({ createMicPublicInput: 1, createMicJob: 1 });
  });

  test("at most 4 jobs are in progress, and the next step continues with the files that are not finished", async () => {
    const files = [FILE.succeeds, FILE.failsRetryably, FILE.failsForGood, FILE.pauses, FILE.waitsForReview];
    const args = await argsFor(bench(), files, { idempotencyKey: "four at a time" });
    const sent = await bench().captureRequests(async () => {
      const first = Result.parse((await bench().ok("run_jobs", { ...args, waitSeconds: 0 })).structured);
      expect(statesOf(first)).toEqual(["PREPARING", "PREPARING", "PREPARING", "PREPARING"]);
      expect(first).toMatchObject({ notSent: { count: 1, files: [args.files[4]] } });
      expect(first.nextStep).toMatchObject({ tool: "run_jobs", arguments: args });
      const second = await run(bench(), first.nextStep?.arguments ?? {});
      expect(statesOf(second)).toEqual(["SUCCEEDED", "FAILED", "FAILED", "PAUSED", "WAITING_REVIEW"]);
      const retry = { jobIds: [second.results[1]?.jobId], retryMode: "SAFE_RESUME" };
      expect(second.nextStep).toMatchObject({ tool: "retry_jobs", arguments: retry });
    });
    expect(countPosts(sent)["createMicJob"]).toBe(5);
  });

  test("a rejected submission and a lost answer are reported for their files, and the other files run", async () => {
    const args = await argsFor(bench(), [FILE.succeeds, FILE.failsForGood], { idempotencyKey: "one is refused" });
    await bench().service.injectFault(refusal(422, "CAPABILITY_EXCEEDED"), { operationId: "createMicJob" });
    const { results } = await run(bench(), args);
    expect(results.filter(({ state }) => state === "NOT_RUN")).toMatchObject([{ error: "CAPABILITY_EXCEEDED" }]);
    expect(results.filter(({ jobId }) => jobId !== undefined)).toHaveLength(1);
  });

  test("the state of a file is that of the latest retry of its job, from the journal or a list; the call waits for that retry", async () => {
    const args = await argsFor(bench(), [FILE.succeeds, FILE.failsRetryably], { idempotencyKey: "with a retry" });
    const first = await run(bench(), args);
    const [, failed] = first.results;
    const retry = { jobId: failed?.jobId, retryMode: "SAFE_RESUME", reason: "Once more" };
    const id = await bench().idFrom("retry_job", retry);
    const { summary, results, nextStep } = await run(bench(), args);
    expect(summary).toContain("2 files: 2 SUCCEEDED (1 by a retry). ");
    expect(results[1]).toMatchObject({ jobId: failed?.jobId, retriedBy: id, state: "SUCCEEDED" });
    expect(results[1]).toHaveProperty("outputDatasetVersionId");
    expect(nextStep).toBeUndefined();
    const waited = await bench().ok("wait_for_jobs", { jobIds: [failed?.jobId] });
    expect(waited.structured["summary"]).toBe("1 SUCCEEDED (1 by a retry).");
    expect(waited.structured["jobs"]).toMatchObject([{ id: failed?.jobId, retriedBy: id, state: "SUCCEEDED" }]);

    // A retry of another client, which a list shows.
    const other = await argsFor(bench(), [FILE.failsRetryably], { idempotencyKey: "retried by another client" });
    const jobId = (await run(bench(), other)).results[0]?.jobId ?? "";
    const body = { retryMode: "SAFE_RESUME", reason: "Once more" } as const;
    await bench().service.ok(operations.retryMicJob, { path: { jobId }, body });
    await bench().ok("list_jobs", { workspaceId: bench().workspaceId });
    expect((await run(bench(), other)).summary).toContain("1 file: 1 SUCCEEDED (1 by a retry). ");
  });
});
