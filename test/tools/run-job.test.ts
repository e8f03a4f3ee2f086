// Tests run_job: from a recipe and files to a result in one call, in which each step is an action that runs once.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { FILE, fileId, listOffers } from "../emulator/work.ts";
import { clockForTest, HOUR_MS } from "../support/advanced-clock.ts";
import type { CallOptions, Progress } from "../support/mcp.ts";
import { type Args, type Bench, createFreshBench, createRunArguments, expectIncreasing } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const Result = z.looseObject({
  summary: z.string(),
  nextStep: z.looseObject({ tool: z.string(), arguments: z.unknown() }).optional(),
  data: z.looseObject({ id: z.string(), state: z.string() }),
  /** Absent if no job was submitted. */
  action: z.looseObject({ idempotencyKey: z.string(), replayed: z.boolean() }).optional(),
});

/** Arguments of a job on this file. Each test uses another file, because files are registered once. */
async function argsFor(bench: Bench, file: number, idempotencyKey?: string) {
  return {
    ...(await createRunArguments(bench.service, file)),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}

/** Makes the call, and returns its result with the POST requests that the API received. */
async function run(bench: Bench, args: Args, options: CallOptions = bench.withAdvancingClock(), tool = "run_job") {
  const { result, sent } = await bench.capture(() => bench.ok(tool, args, options));
  // Requests whose token had expired do not count.
  const counted = sent.filter(({ method, status }) => method === "POST" && status !== 401);
  return { ...Result.parse(result.structured), sent, posts: counted.map(({ operationId }) => operationId) };
}

function register(bench: Bench, file: number) {
  const args = { workspaceId: bench.workspaceId, inputKind: "M4_FILE", referenceId: fileId(bench.service, file) };
  return run(bench, args, {}, "register_input");
}

describeLatestRevision((bench, revision) => {
  test("run_job registers, submits and waits for the result, and each step is an action in the journal", {
    tags: ["4.2/create-input", "4.2/create-job"],
  }, async () => {
    const ticks: Progress[] = [];
    const args = await argsFor(bench(), FILE.succeeds);
    const { data, action, sent, posts } = await run(bench(), args, bench().withAdvancingClock(ticks));
    expect(data.state).toBe("SUCCEEDED");
    expect(posts).toEqual(["createMicPublicInput", "createMicJob"]);
    // The server reads the offer before it sends an action.
    expect(sent[0]?.operationId).toBe("getMicExecutableRecipe");
    expectIncreasing(ticks);
    const submissions = () => ticks.filter(({ message }) => message?.startsWith("submitted ")).length;
    expect(submissions()).toBe(1);
    // A repetition submits nothing.
    await bench().ok("run_job", args, bench().withAdvancingClock(ticks));
    expect(submissions()).toBe(1);
    // An identical call returns the action that run_job made.
    const registration = await register(bench(), FILE.succeeds);
    expect(registration.action?.replayed).toBe(true);
    const { actions } = Object((await bench().call("list_actions", { limit: 100 })).structured);
    for (const [tool, made] of [
      ["submit_job", { action, data }],
      ["register_input", registration],
    ] as const) {
      const { idempotencyKey } = made.action ?? {};
      const recorded = { tool, idempotencyKey, createdId: made.data.id, state: "succeeded" };
      expect(actions).toContainEqual(expect.objectContaining(recorded));
    }
  });

  test("a file that was registered before is not registered again", async () => {
    const { data: input } = await register(bench(), FILE.pauses);
    const { data, posts, sent } = await run(bench(), await argsFor(bench(), FILE.pauses));
    expect(data.state).toBe("PAUSED");
    expect(posts).toEqual(["createMicJob"]);
    expect(sent.some(({ path }) => path.includes(input.id))).toBe(true);
  });

  test("with an own key, the same job comes from every machine, whatever was registered there before", async () => {
    const machines = [await createFreshBench(bench(), revision), await createFreshBench(bench(), revision)] as const;
    await register(machines[0], FILE.succeeds);
    const args = await argsFor(bench(), FILE.succeeds, "nightly-2026-11-29");
    const [first, second] = [await run(machines[0], args), await run(machines[1], args)];
    expect(second.data.id).toBe(first.data.id);
    expect(await bench().service.countExecutions("nightly-2026-11-29")).toBe(1);
  });

  test("the refusal of a key that the API has from another client advises on the key", async () => {
    const [one, other] = [await createFreshBench(bench(), revision), await createFreshBench(bench(), revision)];
    await run(one, await argsFor(bench(), FILE.succeeds, "one key for two jobs"));
    const args = await argsFor(bench(), FILE.failsForGood, "one key for two jobs");
    const { error } = await other.call("run_job", args, other.withAdvancingClock());
    expect(error?.next).toMatch(
      /^The API has this idempotencyKey .* list_jobs \{"createdSince":"[-\d]+"\} .*new idempotencyKey/,
    );
    expect(error?.next).not.toMatch(/get_recipe|get_capabilities/);
    expect(error?.idempotencyKey).toBeUndefined();
  });

  test("run_job waits for a scan; if there is no time, the next step is the same call", async () => {
    const args = await argsFor(bench(), FILE.waitsForScan);
    const stopped = await run(bench(), { ...args, waitSeconds: 0 }, {});
    expect(stopped.data.state).toBe("WAITING_SCAN");
    expect(stopped.action).toBeUndefined();
    // Without waitSeconds, the call waits as long as it may.
    expect(stopped.nextStep).toMatchObject({ tool: "run_job", arguments: args });
    // A short wait is used for the scan too.
    expect(await run(bench(), { ...args, waitSeconds: 3 })).toMatchObject({ posts: ["createMicJob"] });
    expect(await run(bench(), args)).toMatchObject({ data: { state: "SUCCEEDED" }, posts: [] });
  });

  test("an input that has expired is registered again, whether or not the API has changed its state", async () => {
    const both = ["createMicPublicInput", "createMicJob"];
    const args = await argsFor(bench(), FILE.failsForGood);
    const first = await register(bench(), FILE.failsForGood);
    bench().clock.advance(Date.parse(String(first.data["expiresAt"])) - bench().clock.now() + 1_000);
    expect((await run(bench(), args)).posts).toEqual(both);
    // Now the second input expires, too, and its state is still READY.
    const second = await register(bench(), FILE.failsForGood);
    expect(second.action?.replayed).toBe(true);
    expect(second.data.id).not.toBe(first.data.id);
    const full = await bench().ok("get_input", { inputId: second.data.id, view: "full" });
    const data = { ...Object(full.structured["data"]), expiresAt: "2001-01-01T00:00:00Z" };
    const stale = { kind: "body", body: JSON.stringify({ data, meta: { requestId: "r-1" } }) };
    await bench().service.injectFault(stale, { operationId: "getMicPublicInput" });
    clockForTest().advance(21 * HOUR_MS);
    expect((await run(bench(), args)).posts).toEqual(both);
  });

  test("an input that was registered within 20 h and cannot be read is not registered again; a day later it is", async () => {
    const { data: input } = await register(bench(), FILE.waitsForReview);
    const args = await argsFor(bench(), FILE.waitsForReview);
    const gone = { kind: "status", status: 404, code: "NOT_FOUND", retryable: false };
    await bench().service.injectFault(gone, { operationId: "getMicPublicInput", times: 4 });
    const files = args.inputs.map(({ referenceId }) => referenceId);
    const { inputs: _, ...common } = args;
    const sent = await bench().captureRequests(async () => {
      for (const attempt of [1, 2]) {
        const failed = await bench().fails("run_job", args, "not_found");
        expect(failed, `attempt ${attempt}`).toMatchObject({
          retryable: true,
          retryAfterSeconds: 60,
          sideEffect: "none",
        });
        expect(failed.message).toContain(`Input ${input.id} was registered, but cannot be read yet.`);
      }
      const batch = await bench().ok("run_jobs", { ...common, files });
      expect(batch.structured).toMatchObject({ results: [{ state: "NOT_RUN" }] });
      expect(batch.structured["nextStep"]).toBeUndefined();
      expect(batch.structured["summary"]).toMatch(/Call again after .* \(in 1 min\)/);
    });
    expect(sent.filter(({ method }) => method === "POST")).toEqual([]);
    clockForTest().advance(21 * HOUR_MS);
    expect((await run(bench(), args)).posts).toEqual(["createMicPublicInput", "createMicJob"]);
  });

  test.each(["getMicExecutableRecipe", "createMicPublicInput", "getMicPublicInput", "createMicJob", "getMicJob"])(
    "if %s gets no response, the call ends within waitSeconds, and the same call then completes the job",
    async (operationId) => {
      const key = `no response to ${operationId}`;
      const own = await createFreshBench(bench(), revision);
      const args = await argsFor(own, operationId === "getMicPublicInput" ? FILE.waitsForScan : FILE.succeeds, key);
      await own.service.injectFault({ kind: "hang", afterCommit: true }, { operationId });
      const stopped = await own.call("run_job", { ...args, waitSeconds: 3 });
      // A call with more time would send the request again, and succeed.
      const isAction = operationId.startsWith("create");
      if (operationId === "getMicJob") expect(stopped.structured?.["nextStep"]).toMatchObject({ tool: "get_job" });
      else expect(stopped.error).toMatchObject({ sideEffect: isAction ? "unknown" : "none", retryable: true });
      if (isAction) expect(stopped.error?.next).toContain("resolve_actions");
      expect((await run(own, args)).data.state).toBe("SUCCEEDED");
      expect(await own.service.countExecutions(key)).toBe(1);
    },
  );

  test("ports and parameters that do not fit the recipe are named before anything is sent", {
    tags: ["4.2/job-input-binding-port", "4.2/job-parameter-values"],
  }, async () => {
    const args = await argsFor(bench(), FILE.succeeds);
    const [input = {}] = args.inputs;
    const sent = await bench().captureRequests(async () => {
      const unknown = { ...args, inputs: [{ ...input, port: "nowhere" }], parameterValues: { bogus: 1 } };
      const { fieldErrors } = await bench().refuses("run_job", unknown, "/inputs/0/port", "/inputs");
      expect(fieldErrors?.some(({ pointer }) => pointer.startsWith("/parameterValues"))).toBe(true);
      const recipe = (await listOffers(bench().service)).find((offer) => offer.recipe.inputs.length === 2)?.recipe;
      if (!recipe) throw new Error("no offer has two inputs");
      const incomplete = { inputs: [{ ...input, port: recipe.inputs[0]?.name }], recipeVersionId: recipe.versionId };
      await bench().refuses("run_job", { ...args, ...incomplete }, "/inputs");
    });
    expect(sent.filter(({ method }) => method === "POST")).toEqual([]);
  });

  test("a refused submission states which inputs were registered, and the same call reuses them", async () => {
    const args = await argsFor(bench(), 7);
    const refusal = { kind: "status", status: 422, code: "CAPABILITY_EXCEEDED", retryable: false };
    await bench().service.injectFault(refusal, { operationId: "createMicJob" });
    const failed = await bench().fails("run_job", args, "rejected");
    expect(failed.sideEffect).toBe("none");
    expect(failed.text).toMatch(/micinput_/);
    expect(failed.text).not.toMatch(/Nothing was changed|took effect/);
    expect((await run(bench(), args)).posts).toEqual(["createMicJob"]);
  });

  test("idempotencyKey is the key of the submission", { tags: ["4.2/key-names-one-command"] }, async () => {
    const idempotencyKey = "the submission's own";
    const args = await argsFor(bench(), FILE.succeeds, idempotencyKey);
    const { data, action } = await run(bench(), args);
    expect(action).toMatchObject({ idempotencyKey });
    // If only the key is given, the other arguments come from the journal.
    for (const again of [args, { idempotencyKey }])
      expect(await run(bench(), again)).toMatchObject({ data: { id: data.id }, action: { replayed: true }, posts: [] });
    const other = { ...args, parameterValues: {}, inputs: [{ port: "other", inputId: "micinput_other" }] };
    await bench().expectNothingSent(() => bench().fails("run_job", other, "conflict"));
  });

  test("a file's id as inputId, and an input without the recipe's only port, make the same action", async () => {
    const args = await argsFor(bench(), FILE.succeeds, "exact forms only");
    const { data } = await run(bench(), args);
    for (const { port, referenceId } of args.inputs)
      for (const inputs of [{ port, inputId: referenceId }, [{ referenceId }]])
        expect(await run(bench(), { ...args, inputs })).toMatchObject({
          data: { id: data.id },
          action: { replayed: true },
        });
  });
});
