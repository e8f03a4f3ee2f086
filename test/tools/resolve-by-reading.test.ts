// Tests how resolve_actions reads the list of jobs: it assumes no order and no clock, and records "no effect" only at the list's end.
import { beforeEach, expect, test } from "vitest";
import * as z from "zod/v4";
import { benchForTest } from "../actions/bench.ts";
import { enveloped, job, problem } from "../contract/samples.ts";
import { type InProcessServer, inProcessServerForTest } from "../support/server.ts";
import { answer, type Stub } from "../support/stub.ts";

const PARENT = { ...job, id: "job-parent", state: "FAILED", createdAt: "2026-11-20T10:00:00Z" } as const;
const RETRY = { jobId: PARENT.id, retryMode: "SAFE_RESUME", reason: "Again" };
const PAGE = 100;

const Resolved = z.object({
  results: z.tuple([z.looseObject({ outcome: z.string(), finding: z.string() })]),
  nextStep: z.object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) }).optional(),
});

let stub: Stub;
let server: InProcessServer;
beforeEach(async () => {
  const bench = await benchForTest();
  stub = bench.stub;
  server = await inProcessServerForTest(bench.env);
});

/** The retry's answer is lost, and the API refuses its repetition. `listed`: the API's jobs, in the order of its list; `end`: its last page. */
async function loseRetry(listed: readonly object[], args: object = RETRY, end: object = {}): Promise<string> {
  let posts = 0;
  stub.respond(({ method, target }) => {
    if (method === "POST")
      return ++posts === 1
        ? answer(503, undefined, { "retry-after": "60" })
        : answer(409, { ...problem, status: 409, retryable: false });
    const { pathname, searchParams } = new URL(target, "http://stub");
    if (!pathname.endsWith("/jobs")) return answer(200, enveloped(PARENT));
    const start = Number(searchParams.get("cursor") ?? 0);
    const next = start + PAGE < listed.length ? String(start + PAGE) : null;
    const page = { nextCursor: next, hasMore: next !== null, ...(next === null && end) };
    return answer(200, { ...enveloped(listed.slice(start, start + PAGE)), page });
  });
  const { error } = await server.call("retry_job", args);
  expect(error).toMatchObject({ kind: "outcome_unknown" });
  return String(error?.idempotencyKey);
}

const resolve = async (args: object) => Resolved.parse((await server.call("resolve_actions", args)).structured);
const posts = () => stub.requests.filter(({ method }) => method === "POST");

/** Jobs with these times, none of which is a retry. */
const others = (count: number, createdAt: string) =>
  Array.from({ length: count }, (_, n) => ({ ...job, id: `job-${createdAt}-${n}`, createdAt }));
const OLD = "2026-11-01T10:00:00Z";
const NEW = "2026-11-22T10:00:00Z";

test.for([
  ["the API's clock is hours behind this machine's", "2026-11-20T10:00:01Z", others(150, OLD)],
  ["older jobs precede it in the list", NEW, others(250, OLD)],
  ["newer and older jobs precede it in the list", NEW, [...others(120, NEW), ...others(120, OLD)]],
] as const)("a retry whose answer was lost is found even if %s", async ([_how, createdAt, before]) => {
  const retry = { ...job, id: "job-retry", retryOfBatchId: PARENT.id, createdAt };
  const idempotencyKey = await loseRetry([...before, retry, PARENT]);
  const { results } = await resolve({ idempotencyKey });
  const finding = "Resolved: Job job-parent was retried as job job-retry, by this call or by another client.";
  expect(results).toMatchObject([{ outcome: "resolved", createdId: "job-retry", finding }]);
  const again = await server.call("retry_job", RETRY);
  expect(again.text).toMatch(
    /^Not run again\. Job job-parent was retried as job job-retry, by this call or by another/,
  );
  expect(posts()).toHaveLength(2);
  // Nothing shows that this call created the job, so its notes are not stated as the job's origin.
  expect((await server.call("get_job", { jobId: "job-retry" })).text).not.toContain("Again");
});

test("the next call continues a list that is too long for one call; only the end of the list shows that no retry exists", async () => {
  const idempotencyKey = await loseRetry([...others(500, NEW), PARENT, ...others(1_700, OLD)]);
  const findings: string[] = [];
  let next: Readonly<Record<string, unknown>> | undefined = { idempotencyKey };
  while (next && findings.length < 5) {
    const { results, nextStep }: z.output<typeof Resolved> = await resolve(next);
    const [{ outcome, finding }] = results;
    findings.push(`${outcome}: ${finding}`);
    next = nextStep?.arguments;
  }
  const found = (count: number) => `No retry of job job-parent was found among ${count} jobs.`;
  expect(findings).toEqual([
    `still unknown: ${found(1_000)} The list has more jobs.`,
    `still unknown: ${found(2_000)} The list has more jobs.`,
    `rejected: Resolved: it did not take effect. ${found(2_201)}`,
  ]);
});

test("an action stays unknown if the API claims to have more jobs but returns no cursor for them", async () => {
  const idempotencyKey = await loseRetry([PARENT], RETRY, { hasMore: true });
  const { results, nextStep } = await resolve({ idempotencyKey });
  expect(results).toMatchObject([{ outcome: "still unknown" }]);
  expect(results[0].finding).toMatch(
    /among 1 job\. The list has more jobs, but the API returned no cursor for them\.$/,
  );
  expect(nextStep?.arguments).toEqual({ idempotencyKey });
});

test("a cursor of another action, or of the API, is refused, and nothing is recorded", async () => {
  const idempotencyKey = await loseRetry([...others(1_200, NEW), PARENT]);
  const { nextStep } = await resolve({ idempotencyKey });
  const [, ...position] = JSON.parse(Buffer.from(String(nextStep?.arguments["cursor"]), "base64url").toString());
  const otherCursor = Buffer.from(JSON.stringify(["another-key", ...position])).toString("base64url");
  for (const cursor of [otherCursor, "100"])
    expect((await server.call("resolve_actions", { idempotencyKey, cursor })).error).toMatchObject({
      kind: "invalid_arguments",
      fieldErrors: [{ pointer: "/cursor" }],
    });
  expect((await server.call("list_actions", {})).text).toContain("1 action: 1 unknown.");
});

test("a retry that another action provably made is not attributed to this action", async () => {
  const retry = { ...job, id: "job-retry", retryOfBatchId: PARENT.id, createdAt: NEW };
  stub.expect(answer(202, enveloped(retry)));
  await server.call("retry_job", { ...RETRY, idempotencyKey: "first-key-1" });
  const idempotencyKey = await loseRetry([retry, PARENT], { ...RETRY, idempotencyKey: "second-key-1" });
  const { results } = await resolve({ idempotencyKey });
  expect(results).toMatchObject([{ outcome: "rejected" }]);
});

test("jobId, outcome and cursor need the key of the action, and exclude each other", async () => {
  for (const [args, pointer] of [
    [{ jobId: "job-1" }, "/jobId"],
    [{ outcome: "none" }, "/outcome"],
    [{ cursor: "x" }, "/cursor"],
    [{ idempotencyKey: "mic-1", jobId: "job-1", outcome: "none" }, "/outcome"],
  ] as const)
    expect((await server.call("resolve_actions", args)).error).toMatchObject({
      kind: "invalid_arguments",
      fieldErrors: [{ pointer }],
    });
});
