// Tests a new key for a call while an identical call has an unknown outcome: that action is resolved first, and nothing else is sent.
import { beforeEach, describe, expect, test } from "vitest";
import { openSqlite } from "../../src/store/sqlite.ts";
import {
  createInput,
  createJob,
  createProcessingRequest,
  enveloped,
  input,
  job,
  micEnveloped,
  operation,
  problem,
  processingRequest,
  recipeOffer,
  retryJob,
} from "../contract/samples.ts";
import { type InProcessServer, inProcessServerForTest } from "../support/server.ts";
import { answer, type Step, type Stub } from "../support/stub.ts";
import { benchForTest } from "./bench.ts";

let stub: Stub;
let env: Readonly<Record<string, string>>;
let stateDir: string;
let server: InProcessServer;
beforeEach(async () => {
  ({ stub, env, stateDir } = await benchForTest());
  server = await inProcessServerForTest(env);
});

const later = answer(503, undefined, { "retry-after": "60" });
const NEW_KEY = "a-new-key-0001";
const { inputBindings, clientReference: _, ...jobArguments } = createJob;
const jobOfFile = { ...jobArguments, files: [input.referenceId], port: inputBindings[0]?.port };

interface Row {
  readonly tool: string;
  readonly args: object;
  /** The answer to the request, and those to the reads that follow it. */
  readonly made: Step;
  readonly reads: readonly Step[];
}
const rows: readonly Row[] = [
  { tool: "submit_job", args: createJob, made: answer(202, enveloped(job)), reads: [answer(200, enveloped(job))] },
  {
    tool: "retry_job",
    args: { jobId: "job-0", ...retryJob },
    made: answer(202, enveloped({ ...job, retryOfBatchId: "job-0" })),
    reads: [answer(200, enveloped(job))],
  },
  {
    tool: "cancel_job",
    args: { jobId: job.id, reason: "no longer wanted", resourceVersion: 1, waitSeconds: 0 },
    made: answer(202, enveloped(operation)),
    reads: [answer(200, enveloped(operation)), answer(200, enveloped(job))],
  },
  {
    tool: "register_input",
    args: createInput,
    made: answer(201, micEnveloped(input)),
    reads: [answer(200, micEnveloped(input))],
  },
  {
    tool: "request_file_processing",
    args: { ...createProcessingRequest, expiresAt: "2099-01-01T00:00:00Z" },
    made: answer(201, micEnveloped(processingRequest)),
    reads: [answer(200, micEnveloped(processingRequest))],
  },
];

const keys = () =>
  stub.requests.filter(({ method }) => method === "POST").map(({ headers }) => headers["idempotency-key"]);

describe.each(rows)("$tool", ({ tool, args, made, reads }) => {
  /** Answers the POST as given, and each read with success. */
  function respondWith(post: () => Step): void {
    let readCount = 0;
    stub.respond(({ method }) => (method === "POST" ? post() : (reads[readCount++ % reads.length] ?? later)));
  }
  const callWithNewKey = () => server.call(tool, { ...args, idempotencyKey: NEW_KEY });

  test("resolves the identical call under its own key, and the next call runs under the new key", async () => {
    respondWith(() => (keys().length === 1 ? later : made));
    const { error } = await server.call(tool, args);
    expect(error).toMatchObject({ kind: "outcome_unknown" });
    const first = error?.idempotencyKey ?? "";
    const resolved = await callWithNewKey();
    expect(resolved.action).toMatchObject({ idempotencyKey: first, replayed: false });
    expect(resolved.text).toMatch(
      new RegExp(
        `^Resolved: an identical call with idempotencyKey ${first} ran once\\. Your new key was not used; to run it again, make this call again\\.`,
      ),
    );
    expect(keys()).toEqual([first, first]);
    expect((await callWithNewKey()).action).toMatchObject({ idempotencyKey: NEW_KEY, replayed: false });
    expect(keys()).toEqual([first, first, NEW_KEY]);
  });

  test("names the identical call and sends nothing under the new key while its outcome stays unknown", async () => {
    respondWith(() => later);
    const first = (await server.call(tool, args)).error?.idempotencyKey;
    const { error } = await callWithNewKey();
    expect(error).toMatchObject({ kind: "outcome_unknown", sideEffect: "unknown", idempotencyKey: first });
    expect(error?.message).toContain(
      `An identical call (idempotencyKey ${first}) was unresolved, so nothing was sent under the new key.`,
    );
    expect(new Set(keys())).toEqual(new Set([first]));
  });

  test("runs under the new key if the identical call was first sent more than 20 h ago, and names that call", async () => {
    respondWith(() => (keys().length === 1 ? later : made));
    const first = (await server.call(tool, args)).error?.idempotencyKey;
    await server.end();
    const database = await openSqlite(stateDir);
    await database.query("UPDATE actions SET first_sent_at = first_sent_at - $1", [21 * 3_600_000]);
    await database.close();
    server = await inProcessServerForTest(env);
    const own = await callWithNewKey();
    expect(own.action).toMatchObject({ idempotencyKey: NEW_KEY, replayed: false });
    expect(own.text).toMatch(/^A new action: an identical call was sent 21 h ago, and it is not known whether it took/);
    expect(own.text).toContain(`resolve_actions ${JSON.stringify({ idempotencyKey: first })} looks for it.`);
    expect(keys()).toEqual([first, NEW_KEY]);
  });
});

/** Answers the requests of a tool for many rows. `isLost`: whether the answer to the next action is lost. */
function respondToRow(tool: string, isLost: () => boolean): void {
  stub.respond(({ method, target }) => {
    const id = target.split("/").at(-1) ?? "";
    if (method === "GET" && target.includes("/recipe-versions/")) return answer(200, micEnveloped(recipeOffer));
    if (method === "GET" && target.includes("/inputs/")) return answer(200, micEnveloped({ ...input, id }));
    if (method === "GET")
      return answer(200, enveloped({ ...job, id, state: "FAILED", failure: { ...problem, retryable: true } }));
    if (target.endsWith("/inputs")) return answer(201, micEnveloped(input));
    if (isLost()) return later;
    return answer(202, enveloped({ ...job, retryOfBatchId: tool === "retry_jobs" ? "job-0" : null }));
  });
}

const jobKeys = () =>
  new Set(
    stub.requests.flatMap(({ method, target, headers }) =>
      method === "POST" && !target.endsWith("/inputs") ? headers["idempotency-key"] : [],
    ),
  );

test.each([
  ["retry_jobs", { jobIds: ["job-0"], ...retryJob, waitSeconds: 0 }],
  ["run_jobs", { ...jobOfFile, waitSeconds: 0 }],
])(
  "%s resolves each identical row, says that the new key was not used, and uses it in the next call",
  async (tool, args) => {
    let lostCount = 0;
    respondToRow(tool, () => lostCount++ === 0);
    await server.call(tool, args);
    expect(jobKeys().size).toBe(1);
    const resolved = await server.call(tool, { ...args, idempotencyKey: NEW_KEY });
    expect(resolved.text).toContain(
      "Resolved: 1 outcome of identical calls. The new key was not used for these; to run them again, make this call again.",
    );
    expect(jobKeys().size).toBe(1);
    await server.call(tool, { ...args, idempotencyKey: NEW_KEY });
    expect(jobKeys().size).toBe(2);
  },
);

test("run_jobs runs again 24 h after an identical call succeeded, and says so", async () => {
  const args = { ...jobOfFile, waitSeconds: 0 };
  respondToRow("run_jobs", () => false);
  await server.call("run_jobs", args);
  await server.end();
  const database = await openSqlite(stateDir);
  await database.query("UPDATE actions SET resolved_at = resolved_at - $1", [24 * 3_600_000]);
  await database.close();
  server = await inProcessServerForTest(env);
  const { text } = await server.call("run_jobs", args);
  expect(text).toContain(` 1 file: A new action: an identical call ran 24 h ago (${job.id}).`);
  expect(jobKeys().size).toBe(2);
});
