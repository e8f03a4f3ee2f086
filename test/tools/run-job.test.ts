// Tests run_job: from a recipe and files to a result in one call, in which each step is an action that runs once.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import type { RecipeOffer } from "../../src/contract/recipes.ts";
import { covers } from "../covers.ts";
import { createValue } from "../emulator/parameters.ts";
import { FILE, fileId, findOneInputOffer, listOffers, registerInput } from "../emulator/work.ts";
import type { Progress } from "../support/mcp.ts";
import type { Args, Bench, SentRequest } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const Result = z.looseObject({
  summary: z.string(),
  data: z.looseObject({ id: z.string(), state: z.string() }),
  steps: z.array(
    z.strictObject({
      tool: z.enum(["register_input", "submit_job"]),
      idempotencyKey: z.string(),
      resourceId: z.string(),
      replayed: z.boolean(),
    }),
  ),
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

describeLatestRevision((bench) => {
  covers(["4.2/create-input", "4.2/create-job"], "run_job registers, submits and waits for the result", async () => {
    const ticks: Progress[] = [];
    const args = await argsFor(bench(), FILE.succeeds);
    const sent = await bench().captureRequests(async () => {
      const { structured, link } = await bench().ok("run_job", args, bench().withAdvancingClock(ticks));
      const { data, steps, summary } = Result.parse(structured);
      expect(data.state).toBe("SUCCEEDED");
      expect(summary).toContain("SUCCEEDED");
      expect(steps.map(({ tool }) => tool)).toEqual(["register_input", "submit_job"]);
      expect(steps.map(({ replayed }) => replayed)).toEqual([false, false]);
      expect(steps[1]?.resourceId).toBe(data.id);
      expect(link).toBe(`mic://jobs/${data.id}`);
      expect(Object.keys(structured)).not.toContain("action");
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
    const { actions } = Object((await bench().call("list_actions", { limit: 100 })).structured);
    for (const { tool, idempotencyKey, resourceId } of Result.parse(structured).steps)
      expect(actions).toContainEqual(expect.objectContaining({ tool, idempotencyKey, resourceId, state: "succeeded" }));
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
    await bench().ok("get_input", { inputId });
    for (const own of [{}, { idempotencyKey: "another job of the same file" }]) {
      const args = await argsFor(bench(), FILE.pauses, own);
      const sent = await bench().captureRequests(async () => {
        const { data, steps } = Result.parse(
          (await bench().ok("run_job", args, bench().withAdvancingClock())).structured,
        );
        expect(data.state).toBe("PAUSED");
        expect(steps[0]).toMatchObject({ tool: "register_input", resourceId: inputId, replayed: true });
      });
      expect(posts(sent)).toEqual(["createMicJob"]);
    }
  });

  test("a given input is bound unchanged", async () => {
    const { id: inputId } = await registerInput(bench().service, FILE.succeeds);
    const args = argsOf(bench(), await findOneInputOffer(bench().service), { inputId });
    const sent = await bench().captureRequests(async () => {
      const { steps } = Result.parse((await bench().ok("run_job", args, bench().withAdvancingClock())).structured);
      expect(steps.map(({ tool }) => tool)).toEqual(["submit_job"]);
    });
    expect(posts(sent)).toEqual(["createMicJob"]);
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
    expect(stopped.steps.map(({ tool }) => tool)).toEqual(["register_input"]);
    expect(stopped.summary).toMatch(/^No job was submitted, because of port /);
    expect(first.structured["nextStep"]).toMatchObject({ tool: "run_job", arguments: { ...args, waitSeconds: 0 } });
    const sent = await bench().captureRequests(async () => {
      const { data, steps } = Result.parse(
        (await bench().ok("run_job", args, bench().withAdvancingClock())).structured,
      );
      expect(data.state).toBe("SUCCEEDED");
      expect(steps[0]).toEqual({ ...stopped.steps[0], replayed: true });
    });
    expect(posts(sent)).toEqual(["createMicJob"]);
  });

  test("run_job stops at a quarantined file and submits nothing", async () => {
    const args = await argsFor(bench(), FILE.quarantined);
    const sent = await bench().captureRequests(async () => {
      const { structured } = await bench().ok("run_job", args);
      const { data, summary } = Result.parse(structured);
      expect(data.state).toBe("QUARANTINED");
      expect(summary).toContain("take another file");
      expect(structured["nextStep"]).toBeUndefined();
    });
    expect(posts(sent)).toEqual(["createMicPublicInput"]);
  });

  test("run_job stops at a review and reports a failure as get_job does", async () => {
    for (const [file, state] of [
      [FILE.waitsForReview, "WAITING_REVIEW"],
      [FILE.failsRetryably, "FAILED"],
    ] as const) {
      const args = await argsFor(bench(), file);
      const step = 9 * 500;
      const onprogress = () => bench().clock.advance(step);
      const { structured } = await bench().ok("run_job", args, { onprogress });
      const { data, summary } = Result.parse(structured);
      expect(data.state).toBe(state);
      const read = (await bench().ok("get_job", { jobId: data.id })).structured;
      expect(structured["data"]).toEqual(read["data"]);
      expect(summary).toBe(read["summary"]);
      const wait = { tool: "get_job", arguments: { jobId: data.id, waitSeconds: 45 } };
      expect(structured["nextStep"]).toMatchObject(state === "FAILED" ? Object(read["nextStep"]) : wait);
    }
  });

  test("an input that has expired is registered again", async () => {
    const args = await argsFor(bench(), FILE.failsForGood);
    const register = {
      workspaceId: bench().workspaceId,
      inputKind: "M4_FILE",
      referenceId: fileId(bench().service, 2),
    };
    const { structured } = await bench().ok("register_input", register);
    const { id } = Object(structured["data"]);
    const full = await bench().ok("get_input", { inputId: id, view: "full" });
    const { expiresAt } = Object(full.structured["data"]);
    bench().clock.advance(Date.parse(expiresAt) - bench().clock.now() + 1_000);
    const sent = await bench().captureRequests(async () => {
      const { steps } = Result.parse((await bench().ok("run_job", args, bench().withAdvancingClock())).structured);
      expect(steps[0]?.resourceId).not.toBe(id);
    });
    // The server's tokens have expired, too, so requests that were refused with 401 do not count.
    const done = posts(sent.filter(({ status }) => status !== 401));
    expect(done).toEqual(["createMicPublicInput", "createMicJob"]);
  });

  covers(
    ["4.2/job-input-binding-port", "4.2/job-parameter-values"],
    "ports and parameters that do not fit the recipe are named before anything is sent",
    async () => {
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
    },
  );

  test("a refused submission states which inputs were registered, and the same call reuses them", async () => {
    const args = await argsFor(bench(), FILE.succeeds);
    const referenceId = fileId(bench().service, 7);
    const refusal = { kind: "status", status: 422, code: "CAPABILITY_EXCEEDED", retryable: false };
    await bench().service.injectFault(refusal, { operationId: "createMicJob" });
    const [input] = z.array(z.looseObject({})).parse(args["inputs"]);
    const failed = await bench().fails("run_job", { ...args, inputs: [{ ...input, referenceId }] }, "rejected");
    expect(failed.sideEffect).toBe("none");
    expect(failed.text).toMatch(/No job was submitted\. Already done: registered input micinput_/);
    const sent = await bench().captureRequests(() =>
      bench().ok("run_job", { ...args, inputs: [{ ...input, referenceId }] }, bench().withAdvancingClock()),
    );
    expect(posts(sent)).toEqual(["createMicJob"]);
  });

  covers("4.2/key-names-one-command", "idempotencyKey is the key of the submission", async () => {
    const args = await argsFor(bench(), FILE.succeeds, { idempotencyKey: "the submission's own" });
    const { data, steps } = Result.parse((await bench().ok("run_job", args, bench().withAdvancingClock())).structured);
    expect(steps.at(-1)).toMatchObject({ tool: "submit_job", idempotencyKey: args["idempotencyKey"] });
    const again = await bench().captureRequests(async () => {
      const full = Result.parse((await bench().ok("run_job", args)).structured);
      expect(full.data.id).toBe(data.id);
      expect(full.steps.every(({ replayed }) => replayed)).toBe(true);
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
      expect(second.steps).toEqual(first.steps.slice(-1).map((step) => ({ ...step, replayed: true })));
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
