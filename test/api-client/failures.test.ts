// Tests API failures as an agent receives them through a real client: text and facts, each complete without the other.
import { describe, expect, test } from "vitest";
import {
  createJob,
  enveloped,
  job,
  jobList,
  micEnveloped,
  problem,
  processingRequest,
  recipeOffer,
  recipeParameters,
} from "../contract/samples.ts";
import { inProcessClientForFile } from "../support/mcp.ts";
import type { Facts } from "../support/results.ts";
import { answer, answerSlowly, neverAnswer, type Step, stubForFile } from "../support/stub.ts";
import { stubEnv } from "./client.ts";

const stubOf = stubForFile();
const env = () => ({ ...stubEnv(stubOf()) });
const connectionsOf = {
  "v1-client": inProcessClientForFile("v1-client", env),
  "v2-modern": inProcessClientForFile("v2-modern", env),
} as const;
const session = (revision: keyof typeof connectionsOf) => ({ stub: stubOf(), connection: connectionsOf[revision]() });

// One key each: an outcome under a key is replayed, not sent again.
const key = (name: string): string => `agent-key-${name}`;
const submit = (name: string) => ["submit_job", { ...createJob, idempotencyKey: key(name) }] as const;
const read = ["get_job", { jobId: "job-1" }] as const;
const busy = { "retry-after": "600" };

const failures: readonly (readonly [
  what: string,
  call: readonly [string, Readonly<Record<string, unknown>>],
  step: Step,
  facts: Partial<Facts>,
  text: readonly string[],
])[] = [
  [
    "a Problem with field errors",
    submit("refused"),
    answer(422, problem),
    {
      kind: "rejected",
      status: 422,
      code: "stage_failed",
      requestId: "req-2",
      sideEffect: "none",
      idempotencyKey: key("refused"),
      fieldErrors: [...problem.fieldErrors],
    },
    ["stage_failed", "/parameterValues/year", "must be at most 2026", "Nothing was changed", "req-2", key("refused")],
  ],
  [
    "a limit that does not fit",
    read,
    answer(429, undefined, busy),
    { kind: "rate_limited", status: 429, retryAfterSeconds: 600, retryable: true, sideEffect: "none" },
    ["600", "Nothing was changed"],
  ],
  [
    "a read without an answer",
    read,
    answer(503, "<html>", busy),
    { kind: "upstream_unavailable", status: 503, retryAfterSeconds: 600, retryable: true, sideEffect: "none" },
    ["503", "Nothing was changed"],
  ],
  [
    "an action without an answer",
    submit("unknown"),
    answer(503, undefined, busy),
    {
      kind: "outcome_unknown",
      sideEffect: "unknown",
      retryable: true,
      idempotencyKey: key("unknown"),
      retryAfterSeconds: 600,
    },
    ["not known", key("unknown"), "Next:"],
  ],
  [
    "a read that breaks the contract",
    read,
    answer(200, enveloped({ ...job, state: "DONE" })),
    { kind: "contract_violation", sideEffect: "none", retryable: false },
    ["/data/state", "Nothing was changed"],
  ],
  [
    "an action that breaks the contract",
    submit("done"),
    answer(202, enveloped({ ...job, state: "DONE" })),
    { kind: "contract_violation", sideEffect: "done", retryable: false, idempotencyKey: key("done") },
    ["/data/state", "took effect", key("done")],
  ],
  [
    "a read that a page answers",
    read,
    answer(200, "<html>Sign in</html>", { "content-type": "text/html" }),
    { kind: "contract_violation", sideEffect: "none", retryable: false },
    ["an HTML page", "Ask the user to check MIC_BASE_URL: something in between"],
  ],
  [
    "a resource that is not there",
    read,
    answer(404, { ...problem, status: 404, retryable: false }),
    { kind: "not_found", status: 404, retryable: false, sideEffect: "none" },
    ["404"],
  ],
  [
    "the playground's denial",
    ["list_states", {}],
    answer(403, { status: "PLAYGROUND_REQUEST_DENIED" }),
    { kind: "forbidden", status: 403, code: "PLAYGROUND_REQUEST_DENIED", sideEffect: "none" },
    ["PLAYGROUND_REQUEST_DENIED"],
  ],
];

test("a failure is one complete text, and the same facts for programs [7.2/problem]", async () => {
  const { stub, connection } = session("v1-client");
  for (const [what, [tool, args], step, facts, fragments] of failures) {
    stub.expect(step);
    const result = await connection.callTool(tool, args);
    expect.soft(result.isError, what).toBe(true);
    expect.soft(result.structured, what).toBeUndefined();
    expect.soft(result.error, what).toMatchObject(facts);
    for (const fragment of [`${tool} failed (${facts.kind})`, ...fragments])
      expect.soft(result.text, what).toContain(fragment);
  }
});

test("a success has drift in _meta, integers beyond 2^53-1 as digits, and the facts of the action", async () => {
  const { stub, connection } = session("v1-client");
  stub.expect(
    answer(200, { ...jobList, data: [{ ...job, extra: 1 }], links: {} }),
    answer(
      200,
      JSON.stringify(micEnveloped(processingRequest)).replace('"revision":2', '"revision":9223372036854775807'),
    ),
    answer(500, undefined, { "retry-after": "1" }),
    answer(202, enveloped(job), { "idempotent-replayed": "true" }),
  );
  const list = await connection.callTool("list_jobs", { workspaceId: "micws_1", view: "full" });
  expect(list.meta["mic-mcp/drift"]).toEqual(expect.arrayContaining(["/data/0/extra", "/links"]));
  const { meta, ...listed } = jobList;
  expect(list.structured).toMatchObject(listed);
  expect(list.structured).not.toHaveProperty("meta");
  expect(list.meta["mic-mcp/requestId"]).toBe(meta.requestId);
  const request = await connection.callTool("get_file_processing_request", {
    requestId: processingRequest.id,
    view: "full",
  });
  expect(request.structured).toMatchObject({ data: { revision: "9223372036854775807" } });
  expect(request.text).toContain("9223372036854775807");
  const [tool, args] = submit("told");
  const submitted = await connection.callTool(tool, args);
  expect(submitted.structured).toMatchObject({ action: { idempotencyKey: key("told"), replayed: true, attempts: 2 } });
});

describe.each(["v1-client", "v2-modern"] as const)("a call that a %s client cancels", (revision) => {
  test("breaks off its request to the API", async () => {
    const { stub, connection } = session(revision);
    for (const [step, [tool, args]] of [
      [neverAnswer, read],
      [answerSlowly(200, enveloped(job), 100, 1_000), read],
      [neverAnswer, submit("cancelled")],
    ] as const) {
      const client = new AbortController();
      let finished: Promise<boolean> = Promise.resolve(true);
      stub.respond(({ closed }) => {
        client.abort();
        finished = closed;
        return step;
      });
      await expect(connection.callTool(tool, args, { signal: client.signal })).rejects.toThrow();
      expect(await finished).toBe(false);
    }
    expect(stub.requests).toHaveLength(3);
  });
});

test("free-form objects of any depth are passed on or refused, never an internal error", async () => {
  const { stub, connection } = session("v2-modern");
  for (const depth of [100, 1500, 3000, 6000, 10_000]) {
    const definition = `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    const text = JSON.stringify(micEnveloped(recipeOffer)).replace(
      JSON.stringify(recipeParameters.definition),
      () => definition,
    );
    stub.expect(answer(200, text));
    const { error } = await connection.callTool("get_recipe", { versionId: recipeOffer.recipe.versionId });
    expect.soft(error?.kind ?? "contract_violation", `at depth ${depth}`).toBe("contract_violation");
  }
});
