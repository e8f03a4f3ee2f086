// Tests run_job: from a recipe and files to a result in one call, in which each step is an action that runs once.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import type { RecipeOffer } from "../../src/contract/recipes.ts";
import { createValue } from "../emulator/parameters.ts";
import { FILE, fileId, findOneInputOffer, listOffers, registerInput } from "../emulator/work.ts";
import type { Progress } from "../support/mcp.ts";
import type { Args, Bench, SentRequest } from "./bench.ts";
import { createFreshBench } from "./fresh-bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const Result = z.looseObject({
  summary: z.string(),
  data: z.looseObject({ id: z.string(), state: z.string() }),
  /** Absent if no job was submitted. */
  action: z.looseObject({ idempotencyKey: z.string(), replayed: z.boolean() }).optional(),
});

const posts = (sent: readonly SentRequest[]) =>
  sent.filter(({ method }) => method === "POST").map(({ operationId }) => operationId);

const argsOf = (bench: Bench, { recipe }: RecipeOffer, ...inputs: readonly object[]): Args => ({
  workspaceId: bench.workspaceId,
  recipeVersionId: recipe.versionId,
  inputs: recipe.inputs.slice(0, inputs.length).map(({ name }, at) => ({ port: name, ...inputs[at] })),
  parameterValues: createValue(recipe.parameters),
});

/** Arguments of a job on this file. Each test uses another file, because files are registered once. */
async function argsFor(bench: Bench, file: number, more: Args = {}): Promise<Args> {
  const offer = await findOneInputOffer(bench.service);
  return { ...argsOf(bench, offer, { referenceId: fileId(bench.service, file) }), ...more };
}

describeLatestRevision((bench, revision) => {
  test("run_job registers, submits and waits for the result [4.2/create-input, 4.2/create-job]", async () => {
    const ticks: Progress[] = [];
    const args = await argsFor(bench(), FILE.succeeds);
    const sent = await bench().captureRequests(async () => {
      const { structured, link } = await bench().ok("run_job", args, bench().withAdvancingClock(ticks));
      const { data, action, summary } = Result.parse(structured);
      expect(data.state).toBe("SUCCEEDED");
      expect(summary).toContain("SUCCEEDED");
      expect(action).toMatchObject({ replayed: false });
      expect(link).toBe(`mic://jobs/${data.id}`);
    });
    expect(posts(sent)).toEqual(["createMicPublicInput", "createMicJob"]);
    // The server reads the offer before it sends an action.
    expect(sent[0]?.operationId).toBe("getMicExecutableRecipe");
    const progressValues = ticks.map(({ progress }) => progress);
    expect([...progressValues].sort((a, b) => a - b)).toEqual(progressValues);
    expect(ticks.some(({ message }) => message?.startsWith("submitted "))).toBe(true);
  });

  test("each step of run_job is a separate action in the journal", async () => {
    const args = await argsFor(bench(), FILE.succeeds, { clientReference: "in the journal" });
    const { structured } = await bench().ok("run_job", args, bench().withAdvancingClock());
    const { data, action } = Result.parse(structured);
    const { actions } = Object((await bench().call("list_actions", { limit: 100 })).structured);
    const submitted = { tool: "submit_job", idempotencyKey: action?.idempotencyKey, resourceId: data.id };
    // An identical call returns the action that run_job made.
    const again = await bench().ok("register_input", {
      workspaceId: bench().workspaceId,
      inputKind: "M4_FILE",
      referenceId: fileId(bench().service, FILE.succeeds),
    });
    const registration = Result.parse(again.structured);
    expect(registration.action?.replayed).toBe(true);
    const registered = {
      tool: "register_input",
      idempotencyKey: registration.action?.idempotencyKey,
      resourceId: registration.data.id,
    };
    for (const step of [submitted, registered])
      expect(actions).toContainEqual(expect.objectContaining({ ...step, state: "succeeded" }));
  });

  test("a file that was registered before is not registered again", async () => {
    const referenceId = fileId(bench().service, FILE.pauses);
    const registered = await bench().ok("register_input", {
      workspaceId: bench().workspaceId,
      inputKind: "M4_FILE",
      referenceId,
      alias: "held",
    });
    const inputId = Object(registered.structured["data"]).id;
    for (const own of [{}, { idempotencyKey: "another job of the same file" }]) {
      const args = await argsFor(bench(), FILE.pauses, own);
      const sent = await bench().captureRequests(async () => {
        const { data } = Result.parse((await bench().ok("run_job", args, bench().withAdvancingClock())).structured);
        expect(data.state).toBe("PAUSED");
      });
      expect(posts(sent)).toEqual(["createMicJob"]);
      expect(sent.some(({ path }) => path.includes(inputId))).toBe(true);
    }
  });

  test("inputs in another order make the same job", async () => {
    const offer = (await listOffers(bench().service)).find(({ recipe }) => recipe.inputs.length === 2);
    if (!offer) throw new Error("no offer has two inputs");
    const inputs = await Promise.all(
      [FILE.succeeds, FILE.succeeds].map((file) => registerInput(bench().service, file)),
    );
    const args = argsOf(bench(), offer, ...inputs.map(({ id }) => ({ inputId: id })));
    const bodies = await bench().captureRequests(async () => {
      for (const idempotencyKey of [undefined, "in another order"]) {
        const reversedInputs = [...(Array.isArray(args["inputs"]) ? args["inputs"] : [])].reverse();
        const callArgs = idempotencyKey === undefined ? args : { ...args, inputs: reversedInputs, idempotencyKey };
        await bench().call("run_job", { ...callArgs, waitSeconds: 0 });
      }
    });
    const sent = bodies.filter(({ operationId }) => operationId === "createMicJob");
    expect(sent).toHaveLength(2);
    expect(new Set(sent.map(({ bodySha256 }) => bodySha256)).size).toBe(1);
  });

  test("run_job waits for a scan; if there is no time, the next step is the same call", async () => {
    const args = await argsFor(bench(), FILE.waitsForScan);
    const first = await bench().ok("run_job", { ...args, waitSeconds: 0 });
    const stopped = Result.parse(first.structured);
    expect(stopped.data.state).toBe("WAITING_SCAN");
    expect(stopped.action).toBeUndefined();
    expect(stopped.summary).toMatch(/^No job was submitted\. Port /);
    expect(Object(first.structured["nextStep"])).toMatchObject({ tool: "run_job" });
    // Without waitSeconds, the call waits as long as it may.
    expect(Object(first.structured["nextStep"]).arguments).toEqual(args);
    const sent = await bench().captureRequests(async () => {
      const { data } = Result.parse((await bench().ok("run_job", args, bench().withAdvancingClock())).structured);
      expect(data.state).toBe("SUCCEEDED");
    });
    expect(posts(sent)).toEqual(["createMicJob"]);
  });

  test("an input that has expired is registered again, whether or not the API has changed its state", async () => {
    const args = await argsFor(bench(), FILE.failsForGood);
    const register = {
      workspaceId: bench().workspaceId,
      inputKind: "M4_FILE",
      referenceId: fileId(bench().service, 2),
    };
    const { structured } = await bench().ok("register_input", register);
    const { id, expiresAt } = Object(structured["data"]);
    bench().clock.advance(Date.parse(expiresAt) - bench().clock.now() + 1_000);
    const first = await bench().captureRequests(() => bench().ok("run_job", args, bench().withAdvancingClock()));
    // The server's tokens have expired, too, so requests that were refused with 401 do not count.
    expect(posts(first.filter(({ status }) => status !== 401))).toEqual(["createMicPublicInput", "createMicJob"]);
    // Now the second input expires, too, and its state is still READY.
    const second = Result.parse((await bench().ok("register_input", register)).structured);
    expect(second.action?.replayed).toBe(true);
    const inputId = second.data.id;
    expect(inputId).not.toBe(id);
    const full = await bench().ok("get_input", { inputId, view: "full" });
    const stale = { ...Object(full.structured["data"]), expiresAt: "2001-01-01T00:00:00Z" };
    const body = JSON.stringify({ data: stale, meta: { requestId: "r-1" } });
    await bench().service.injectFault({ kind: "body", body }, { operationId: "getMicPublicInput" });
    const shown = await bench().ok("get_input", { inputId });
    expect(shown.structured["nextStep"]).toMatchObject({ tool: "register_input" });
    await bench().service.injectFault({ kind: "body", body }, { operationId: "getMicPublicInput" });
    const own = { ...args, idempotencyKey: "after the second input" };
    const sent = await bench().captureRequests(() => bench().ok("run_job", own, bench().withAdvancingClock()));
    expect(posts(sent)).toEqual(["createMicPublicInput", "createMicJob"]);
  });

  test("an input that the API no longer has is registered again", async () => {
    const args = await argsFor(bench(), FILE.waitsForReview, { idempotencyKey: "the input is gone" });
    await bench().ok("run_job", args, bench().withAdvancingClock());
    const gone = { kind: "status", status: 404, code: "NOT_FOUND", retryable: false };
    await bench().service.injectFault(gone, { operationId: "getMicPublicInput" });
    const own = { ...args, idempotencyKey: "the input is gone, again" };
    const sent = await bench().captureRequests(() => bench().ok("run_job", own, bench().withAdvancingClock()));
    expect(posts(sent)).toEqual(["createMicPublicInput", "createMicJob"]);
  });

  test("submit_job registers a file that it gets as an inputId, and returns without a wait for the job", async () => {
    const { inputs, ...job } = await argsFor(bench(), FILE.failsRetryably, { idempotencyKey: "submitted from a file" });
    const [{ port, referenceId }] = z
      .tuple([z.looseObject({ port: z.string(), referenceId: z.string() })])
      .parse(inputs);
    const args = { ...job, inputBindings: [{ port, inputId: referenceId }] };
    const sent = await bench().captureRequests(async () => {
      const { structured } = await bench().ok("submit_job", args);
      expect(structured["data"]).toMatchObject({ id: expect.stringMatching(/^micjob_/), state: "PREPARING" });
    });
    expect(posts(sent).at(-1)).toBe("createMicJob");
    const again = await bench().captureRequests(async () => {
      const { structured } = await bench().ok("run_job", { ...job, inputs, waitSeconds: 0 });
      expect(structured["action"]).toMatchObject({ replayed: true });
    });
    expect(posts(again)).toEqual([]);
  });

  test.each(["getMicExecutableRecipe", "createMicPublicInput", "getMicPublicInput", "createMicJob", "getMicJob"])(
    "waitSeconds limits the whole call, and the same call finds everything, if %s gets no response",
    async (operationId) => {
      const file = FILE.succeeds;
      const key = `no response to ${operationId}`;
      const own = await createFreshBench(bench(), revision);
      const args = await argsFor(own, file, { idempotencyKey: key });
      if (operationId === "getMicPublicInput") await own.ok("run_job", { ...args, idempotencyKey: `${key} before` });
      await own.service.injectFault({ kind: "hang", afterCommit: true }, { operationId });
      const stopped = await own.call("run_job", { ...args, waitSeconds: 3 });
      // A call with more time would send the request again, and succeed.
      const isAction = operationId.startsWith("create");
      if (operationId === "getMicJob") expect(stopped.structured?.["nextStep"]).toMatchObject({ tool: "get_job" });
      else expect(stopped.error).toMatchObject({ sideEffect: isAction ? "unknown" : "none", retryable: true });
      if (isAction) expect(stopped.error?.next).toContain("resolve_actions");
      const { structured } = await own.ok("run_job", args, own.withAdvancingClock());
      expect(structured["data"]).toMatchObject({ state: "SUCCEEDED" });
      expect(await own.service.countExecutions(key)).toBe(1);
    },
  );

  test("ports and parameters that do not fit the recipe are named before anything is sent [4.2/job-input-binding-port, 4.2/job-parameter-values]", async () => {
    const args = await argsFor(bench(), FILE.succeeds);
    const [input] = z.array(z.looseObject({})).parse(args["inputs"]);
    const sent = await bench().captureRequests(async () => {
      const unknown = { ...args, inputs: [{ ...input, port: "nowhere" }], parameterValues: { bogus: 1 } };
      const { fieldErrors, text } = await bench().refuses("run_job", unknown, "/inputs/0/port", "/inputs");
      expect(fieldErrors?.some(({ pointer }) => pointer.startsWith("/parameterValues"))).toBe(true);
      expect(text).toContain("Nothing was changed.");
      const two = (await listOffers(bench().service)).find(({ recipe }) => recipe.inputs.length === 2);
      if (!two) throw new Error("no offer has two inputs");
      await bench().refuses("run_job", argsOf(bench(), two, { ...input }), "/inputs");
    });
    expect(posts(sent)).toEqual([]);
  });

  test("a refused submission states which inputs were registered, and the same call reuses them", async () => {
    const args = await argsFor(bench(), FILE.succeeds);
    const referenceId = fileId(bench().service, 7);
    const refusal = { kind: "status", status: 422, code: "CAPABILITY_EXCEEDED", retryable: false };
    await bench().service.injectFault(refusal, { operationId: "createMicJob" });
    const [input] = z.array(z.looseObject({})).parse(args["inputs"]);
    const failed = await bench().fails("run_job", { ...args, inputs: [{ ...input, referenceId }] }, "rejected");
    expect(failed.sideEffect).toBe("none");
    expect(failed.text).toMatch(
      /No job was made\. An input was registered \(micinput_.*\) and is used when you call again\./,
    );
    expect(failed.text).not.toMatch(/Nothing was changed|took effect/);
    const sent = await bench().captureRequests(() =>
      bench().ok("run_job", { ...args, inputs: [{ ...input, referenceId }] }, bench().withAdvancingClock()),
    );
    expect(posts(sent)).toEqual(["createMicJob"]);
  });

  test("idempotencyKey is the key of the submission [4.2/key-names-one-command]", async () => {
    const args = await argsFor(bench(), FILE.succeeds, { idempotencyKey: "the submission's own" });
    const { data, action } = Result.parse((await bench().ok("run_job", args, bench().withAdvancingClock())).structured);
    expect(action).toMatchObject({ idempotencyKey: args["idempotencyKey"] });
    const again = await bench().captureRequests(async () => {
      const full = Result.parse((await bench().ok("run_job", args)).structured);
      expect(full.data.id).toBe(data.id);
      expect(full.action).toMatchObject({ replayed: true });
      // If only the key is given, the other arguments come from the journal.
      const { idempotencyKey } = args;
      expect(Result.parse((await bench().ok("run_job", { idempotencyKey })).structured).data.id).toBe(data.id);
    });
    expect(posts(again)).toEqual([]);
    const other = { ...args, parameterValues: {}, inputs: [{ port: "other", inputId: "micinput_other" }] };
    await bench().expectNothingSent(() => bench().fails("run_job", other, "conflict"));
    const mistyped = { ...args, idempotencyKey: `mic-${"0".repeat(32)}` };
    await bench().expectNothingSent(() => bench().fails("run_job", mistyped, "conflict"));
  });
});

describeLatestRevision((bench) => {
  test("run_job within the deduplication window returns the same job and reports the replay", async () => {
    const args = await argsFor(bench(), FILE.succeeds);
    const first = Result.parse((await bench().ok("run_job", args, bench().withAdvancingClock())).structured);
    const sent = await bench().captureRequests(async () => {
      const second = Result.parse((await bench().ok("run_job", args)).structured);
      expect(second.data.id).toBe(first.data.id);
      expect(second.action).toMatchObject({ idempotencyKey: first.action?.idempotencyKey, replayed: true });
      expect(second.summary).toMatch(/^Not run again/);
    });
    expect(posts(sent)).toEqual([]);
    // Reading the job changes nothing: only a new key makes another job.
    await bench().ok("get_job", { jobId: first.data.id });
    expect(posts(await bench().captureRequests(() => bench().ok("run_job", args)))).toEqual([]);
    const repeatedArgs = { ...args, idempotencyKey: "once-more-on-purpose" };
    expect(
      posts(await bench().captureRequests(() => bench().ok("run_job", repeatedArgs, bench().withAdvancingClock()))),
    ).toContain("createMicJob");
  });
});
