// Tests expensive schemas: a recipe's parameter schema comes from the API and the values from an agent. Whatever their validation
// costs, the server keeps answering, and its memory stays bounded. The API validates what the server cannot validate in time.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { stubEnv } from "../api-client/client.ts";
import * as samples from "../contract/samples.ts";
import { longestBlockedMs, MAX_BLOCKED_MS, peakMissing, peakOf } from "../mcp/stdio/measurements.ts";
import { inProcessServerForTest, startServer } from "../support/server.ts";
import { answer, type RecordedRequest, type Stub, stubForTest } from "../support/stub.ts";
import { runCount } from "../support/thorough.ts";
import { posixMissing, testUnless } from "../support/unless.ts";

type Json = Readonly<Record<string, unknown>>;

const { createJob, enveloped, recipeDefinition } = samples;
const { versionId } = recipeDefinition;
const TITLE = "Quarterly report of the district of Visakhapatnam, 2026";
const titled = (schema: Json): Json => ({ properties: { title: schema } });

const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => make(i));

/** Each exceeds a limit: those of memory, time and size. */
const expensive: readonly (readonly [what: string, definition: Json, parameterValues: Json])[] = [
  [
    "3,000,000 violations",
    { properties: { list: { items: { allOf: many(100, () => ({ type: "string" })) } } } },
    { list: many(30_000, () => 1) },
  ],
  ["a pattern with a repetition of repetitions", titled({ pattern: "^(\\w+\\s?)*$" }), { title: TITLE }],
  [
    "700 references to an object of 900 properties",
    {
      $defs: { large: { properties: Object.fromEntries(many(900, (at) => [`k${at}`, { type: "string" }])) } },
      properties: Object.fromEntries(many(700, (at) => [`q${at}`, { $ref: "#/$defs/large" }])),
    },
    {},
  ],
];

/** Another recipe, with its own schema. */
const OTHER = { versionId: `micrecipev_${"b".repeat(32)}`, contentHash: "b".repeat(64) };

/** Serves an API that offers one recipe with this schema and another with an ordinary one, and accepts all requests. */
async function stubWithOffers(definition: Json, facts: Json = {}): Promise<Stub> {
  const createOffer = (recipe: Json, parameters: Json) =>
    samples.micEnveloped({
      ...samples.recipeOffer,
      recipe: {
        ...recipeDefinition,
        ...recipe,
        parameters: { ...samples.recipeParameters, ...parameters, references: {} },
      },
    });
  const offer = createOffer({}, { definition, ...facts });
  const ordinary = { contentHash: OTHER.contentHash, definition: titled({ pattern: "^[a-z ]+$" }) };
  const other = createOffer({ versionId: OTHER.versionId }, ordinary);
  const stub = await stubForTest();
  stub.respond(({ method, target }) => {
    if (target.endsWith(OTHER.versionId)) return answer(200, other);
    if (target.endsWith(versionId)) return answer(200, offer);
    if (target.includes("/inputs")) return answer(method === "POST" ? 201 : 200, enveloped(samples.input));
    return answer(202, enveloped({ ...samples.job, retryOfBatchId: null }));
  });
  return stub;
}

/** Submissions without the first one, which startWithRecipe makes. */
const submissions = (requests: readonly RecordedRequest[]) =>
  requests
    .filter(({ method, target }) => method === "POST" && target.includes("/jobs"))
    .map(({ body }) => z.looseObject({ parameterValues: z.unknown() }).parse(JSON.parse(body.toString())))
    .slice(1);

async function startWithRecipe(definition: Json, parameterValues: Json = {}) {
  const stub = await stubWithOffers(definition);
  const server = await startServer({ env: stubEnv(stub) });
  // The first submission without a known recipe takes the same path, except for the validation of its values.
  expect((await server.call("submit_job", { ...createJob, parameterValues })).isError).toBe(false);
  const read = await server.call("get_recipe", { versionId });
  expect(read.isError, read.text).toBe(false);
  return { server, submitted: () => submissions(stub.requests) };
}

const MAX_BYTES = 64_000_000;

for (const [what, definition, parameterValues] of expensive.slice(0, runCount(1, expensive.length)))
  test(`${what}: pings are answered, memory is bounded, the API validates`, {
    tags: ["4.2/job-parameter-values"],
  }, async () => {
    const { server, submitted } = await startWithRecipe(definition, parameterValues);
    const before = peakMissing ? 0 : peakOf(server.pid);
    for (const count of [1, 2]) {
      const idempotencyKey = `own-key-${count}`;
      const submitting = server.call("submit_job", { ...createJob, parameterValues, idempotencyKey });
      expect(await longestBlockedMs(server, submitting)).toBeLessThanOrEqual(MAX_BLOCKED_MS);
      const result = await submitting;
      expect(result.isError, result.text).toBe(false);
      expect(submitted()).toEqual(many(count, () => expect.objectContaining({ parameterValues })));
    }
    if (!peakMissing) expect(peakOf(server.pid) - before).toBeLessThan(MAX_BYTES);
  });

test("a schema that exceeded the limits is not validated again", async () => {
  const definition = titled({ pattern: "^(\\w+\\s?)*$" });
  // Tests in this process share the list of expensive schemas.
  const stub = await stubWithOffers(definition, { contentHash: "c".repeat(64) });
  const server = await inProcessServerForTest(stubEnv(stub));
  await server.call("get_recipe", { versionId });
  let threads = 0;
  const count = () => void threads++;
  process.on("worker", count);
  onTestFinished(() => void process.off("worker", count));
  const submit = async (year: number) => {
    const result = await server.call("submit_job", { ...createJob, parameterValues: { title: TITLE, year } });
    expect(result.isError, result.text).toBe(false);
  };
  await submit(2025);
  const threadsBefore = threads;
  await submit(2026);
  expect(threads).toBe(threadsBefore);
});

/** Takes about 0.15 s of CPU time on an idle machine, far below the limit of 2 s: every pair of objects is compared. */
const slow = { properties: { list: { uniqueItems: true }, title: { pattern: "^[a-z ]+$" } } };
const slowValues = (title: string) => ({ title, list: many(2_500, (a) => ({ a })) });

testUnless(
  posixMissing,
  "wrong values are not sent if the process gets no CPU time while it validates them",
  async () => {
    const { server, submitted } = await startWithRecipe(slow, slowValues("first"));
    const submit = (title: string) =>
      server.call("submit_job", {
        ...createJob,
        parameterValues: slowValues(title),
        idempotencyKey: `own-key-${title}`,
      });
    const startedAt = Date.now();
    expect((await submit("lower")).isError).toBe(false);
    const takesMs = Date.now() - startedAt;
    const refused = submit("Upper");
    await sleep(takesMs / 3);
    process.kill(server.pid, "SIGSTOP");
    await sleep(2_500);
    process.kill(server.pid, "SIGCONT");
    expect((await refused).error).toMatchObject({ kind: "invalid_arguments", sideEffect: "none" });
    expect(submitted()).toMatchObject([{ parameterValues: { title: "lower" } }]);
  },
);

test("SIGTERM ends the process while a schema is being validated", async () => {
  const { server } = await startWithRecipe(titled({ pattern: "^(\\w+\\s?)*$" }));
  server.send("submit_job", { ...createJob, parameterValues: { title: TITLE } }, 7);
  for (const _ of many(10, () => undefined)) {
    await server.request("ping", {});
    await sleep(50);
  }
  process.kill(server.pid, "SIGTERM");
  await server.exit;
});

test("values of another recipe are validated before anything is sent, while and after run_job leaves values to the API", async () => {
  const { server, submitted } = await startWithRecipe(titled({ pattern: "^(\\w+\\s?)*$" }));
  await server.call("get_recipe", { versionId: OTHER.versionId });
  let keys = 0;
  const submit = (recipeVersionId: string, title: string) => {
    const idempotencyKey = `own-key-${++keys}`;
    return server.call("submit_job", { ...createJob, recipeVersionId, parameterValues: { title }, idempotencyKey });
  };
  const fits = async () => {
    const refused = await submit(OTHER.versionId, "Upper");
    expect(refused.error).toMatchObject({ kind: "invalid_arguments", sideEffect: "none" });
    expect(refused.error?.fieldErrors).toMatchObject([{ pointer: "/parameterValues/title", code: "PATTERN" }]);
    expect((await submit(OTHER.versionId, "lower")).isError).toBe(false);
  };
  await fits();
  const args = {
    workspaceId: "micws_1",
    recipeVersionId: versionId,
    inputs: [{ port: "districts", referenceId: "devfile_1" }],
    parameterValues: { title: TITLE },
    waitSeconds: 0,
  };
  const running = server.call("run_job", args);
  // Arrives during the validation.
  const waiting = sleep(500).then(() => submit(OTHER.versionId, "Waits"));
  expect(await longestBlockedMs(server, running)).toBeLessThanOrEqual(MAX_BLOCKED_MS);
  let result = await running;
  // On a busy machine, the check does not fit into a call without a wait; a later one skips it.
  for (let calls = 1; calls < 5 && result.error?.kind === "timeout"; calls++)
    result = await server.call("run_job", args);
  expect(result.isError, result.text).toBe(false);
  expect((await waiting).error).toMatchObject({ kind: "invalid_arguments", sideEffect: "none" });
  await fits();
  expect(submitted().map(({ parameterValues }) => parameterValues)).toEqual(
    ["lower", TITLE, "lower"].map((title) => ({ title })),
  );
});

test("ajv's keyword $async does not end the process", async () => {
  const { server, submitted } = await startWithRecipe({ $async: true, required: ["absent"] });
  const result = await server.call("submit_job", createJob);
  expect(result.isError, result.text).toBe(false);
  await server.request("ping", {});
  expect(submitted()).toHaveLength(1);
});
