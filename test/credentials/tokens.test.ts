// Tests the lifecycle of a token: fetched once for all calls, renewed when it expires or is refused, never trusted blindly.
import { expect } from "vitest";
import {
  clientForTest,
  createCallContext,
  eagerTiming,
  expectFailure,
  KEY,
  readJob,
  readJobs,
  requestProcessing,
  stubEnv,
  submitJob,
} from "../api-client/client.ts";
import { enveloped, job, jobList, problem } from "../contract/samples.ts";
import { runInProcess } from "../support/command.ts";
import { test } from "../support/fixtures.ts";
import {
  answer,
  answerSlowly,
  answerTruncated,
  hangUp,
  resetAfterReading,
  type Step,
  type Stub,
  stubForTest,
} from "../support/stub.ts";

const completeAnswer = answer(200, enveloped(job));
const accepted = answer(202, enveloped(job));

const bearersOf = (requests: readonly { headers: { authorization?: string | undefined } }[]) =>
  requests.map(({ headers }) => headers.authorization);

function clientOnClock(stub: Stub) {
  const clock = { nowMs: Date.now() };
  const { service } = clientForTest(stub.baseUrl, { timing: { ...eagerTiming, now: () => clock.nowMs } });
  return { clock, service, context: () => createCallContext(10_000) };
}

test("a token is fetched once per scope set for 32 simultaneous first calls", async ({ stub, service }) => {
  stub.respondToToken(({ body }) => answerSlowly(200, { access_token: `token-${body.length}` }, 3, 10));
  stub.respond(({ method, target }) =>
    method === "POST" ? accepted : target.includes("?") ? answer(200, jobList) : completeAnswer,
  );
  await Promise.all(
    Array.from({ length: 32 }, (_, n) =>
      n % 3 === 0 ? submitJob(service) : n % 3 === 1 ? readJob(service) : readJobs(service),
    ),
  );
  expect(stub.requests).toHaveLength(32);
  expect(stub.tokenRequests.map(({ body }) => new URLSearchParams(body.toString()).get("scope")).sort()).toEqual([
    "mic.jobs:read",
    "mic.jobs:run",
  ]);
});

test("a token whose shared request failed is requested again by the next call", async ({ stub, service }) => {
  stub.respondToToken(() =>
    stub.tokenRequests.length === 1
      ? answer(400, { error: "invalid_client" })
      : answer(200, { access_token: "second" }),
  );
  stub.respond(() => completeAnswer);
  const failures = await Promise.all(Array.from({ length: 8 }, () => expectFailure(readJob(service))));
  for (const { kind } of failures) expect(kind).toBe("unauthorized");
  expect(stub.tokenRequests).toHaveLength(1);
  await readJob(service);
  expect(bearersOf(stub.requests)).toEqual(["Bearer second"]);
});

test.for([
  ["nothing else", 200, {}],
  ["the fields of RFC 6749", 201, { token_type: "Bearer", expires_in: 3600, scope: "mic.jobs:read" }],
  ["a type in capitals and fields of its own", 202, { token_type: "BEARER", issued: [1, 2], nested: { a: null } }],
  ["an empty type", 200, { token_type: "" }],
  ["an invalid lifetime", 203, { expires_in: "soon" }],
  ["a lifetime of 0 s", 200, { expires_in: 0 }],
  ["a lifetime with a fraction, and a type of null", 200, { expires_in: 3599.5, token_type: null }],
] as const)(
  "a token is accepted with %s in an answer of HTTP %i",
  { tags: ["5/token-response", "5/assumes-no-token-fields"] },
  async ([_, status, fields], { stub, service }) => {
    stub.respondToToken(() => answer(status, { access_token: "good-token", ...fields }));
    stub.respond(() => completeAnswer);
    await readJob(service);
    await readJob(service);
    expect(bearersOf(stub.requests)).toEqual(["Bearer good-token", "Bearer good-token"]);
    expect(stub.tokenRequests).toHaveLength(1);
  },
);

test("a token may have 40,000 characters", { tags: ["5/assumes-no-token-fields"] }, async ({
  stub,
  client: { tokens },
}) => {
  const token = "t".repeat(40_000);
  stub.respondToToken(() => answer(200, { access_token: token }));
  expect(await tokens.get(["mic.jobs:read"], createCallContext(10_000))).toBe(token);
});

for (const [expires_in, usedMs] of [
  [3600, 3_500_000],
  ["3600", 3_500_000],
  [60, 50_000],
] as const)
  test(`a token with a lifetime of ${JSON.stringify(expires_in)} s is reused, and renewed before it expires`, {
    tags: ["5/token-renewed"],
  }, async ({ stub }) => {
    const { clock, service, context } = clientOnClock(stub);
    stub.respondToToken(() => answer(200, { access_token: `token-${stub.tokenRequests.length}`, expires_in }));
    stub.respond(() => completeAnswer);
    const read = () => readJob(service, context());
    await read();
    clock.nowMs += usedMs;
    await read();
    clock.nowMs += Number(expires_in) * 1000 - usedMs - 1;
    await read();
    expect(bearersOf(stub.requests)).toEqual(["Bearer token-1", "Bearer token-1", "Bearer token-2"]);
  });

test("a token with an unknown lifetime is used until it is refused", { tags: ["5/token-renewed"] }, async ({
  stub,
}) => {
  const { clock, service, context } = clientOnClock(stub);
  stub.expect(completeAnswer, completeAnswer, answer(401), completeAnswer, completeAnswer);
  for (let day = 0; day < 4; day++) {
    await readJob(service, context());
    clock.nowMs += 86_400_000;
  }
  expect(stub.tokenRequests).toHaveLength(2);
});

test("a refused token is replaced once, and the same bytes are sent under the same key", {
  tags: ["5/token-renewed", "4.2/key-names-one-command"],
}, async ({ stub, service }) => {
  stub.expect(answer(401), answer(201, { data: {}, meta: { requestId: "r" } }));
  // The answer does not matter here.
  await expectFailure(requestProcessing(service));
  const [first, second] = stub.requests;
  expect(second?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
  expect(first?.body.length).toBeGreaterThan(0);
  expect([first, second].map((request) => request?.headers["idempotency-key"])).toEqual([KEY, KEY]);
  expect(bearersOf(stub.requests)).toEqual(["Bearer stub-token-1", "Bearer stub-token-2"]);
});

test("a refused token is replaced in each attempt of a call", async ({ stub, service }) => {
  stub.expect(answer(401), resetAfterReading, answer(401), accepted);
  expect(await submitJob(service)).toMatchObject({ attempts: 2 });
  expect(bearersOf(stub.requests)).toEqual([1, 2, 2, 3].map((n) => `Bearer stub-token-${n}`));
});

const forbidden = answer(403, { ...problem, status: 403, title: "Forbidden", retryable: false });
const minuteMs = 61_000;

test("an old token is replaced after a 403", { tags: ["5/assumes-no-answer-to-bad-token", "5/token-renewed"] }, async ({
  stub,
}) => {
  const { clock, service, context } = clientOnClock(stub);
  stub.expect(accepted, forbidden, accepted);
  await submitJob(service, context());
  clock.nowMs += minuteMs;
  expect(await submitJob(service, context())).toMatchObject({ attempts: 1 });
  expect(bearersOf(stub.requests)).toEqual([1, 1, 2].map((n) => `Bearer stub-token-${n}`));
  const [, refused, again] = stub.requests;
  expect(again?.body.equals(refused?.body ?? Buffer.alloc(0))).toBe(true);
  expect(again?.headers["idempotency-key"]).toBe(KEY);
});

test("a new token is kept after a 403", { tags: ["5/assumes-no-answer-to-bad-token"] }, async ({ stub }) => {
  const { clock, service, context } = clientOnClock(stub);
  const read = () => expectFailure(readJob(service, context()));
  stub.respond(() => forbidden);
  expect(await read()).toMatchObject({ kind: "forbidden", code: problem.code, sideEffect: "none" });
  expect(stub.tokenRequests).toHaveLength(1);
  clock.nowMs += minuteMs;
  for (const _ of [1, 2, 3]) expect(await read()).toMatchObject({ kind: "forbidden" });
  // The replacement is new again: at most one token request per minute, however many calls are refused.
  expect(stub.tokenRequests).toHaveLength(2);
  expect(stub.requests).toHaveLength(5);
});

test("a call is unauthorized after a second refusal, and the next one has a new token", async ({ stub, service }) => {
  stub.expect(answer(401), answer(401), completeAnswer);
  expect(await expectFailure(readJob(service))).toMatchObject({
    kind: "unauthorized",
    status: 401,
    retryable: false,
    sideEffect: "none",
  });
  expect(stub.tokenRequests).toHaveLength(2);
  await readJob(service);
  expect(bearersOf(stub.requests)).toEqual(["Bearer stub-token-1", "Bearer stub-token-2", "Bearer stub-token-3"]);
});

test("a refused token is replaced once for 16 simultaneous calls", async ({ stub, service }) => {
  stub.respond(({ headers }) => (headers.authorization === "Bearer stub-token-1" ? answer(401) : completeAnswer));
  await Promise.all(Array.from({ length: 16 }, () => readJob(service)));
  expect(stub.tokenRequests).toHaveLength(2);
});

test("the refusal of a token does not affect the tokens of other scope sets", async ({ stub, service }) => {
  stub.expect(accepted, answer(401), completeAnswer, accepted);
  await submitJob(service);
  await readJob(service);
  await submitJob(service);
  expect(bearersOf(stub.requests)).toEqual([1, 2, 3, 1].map((n) => `Bearer stub-token-${n}`));
});

const html = { "content-type": "text/html" };
const refusals: readonly (readonly [string, Step, string])[] = [
  ["refuses the client (400)", answer(400, { error: "invalid_client" }), "unauthorized"],
  ["refuses the client (200)", answer(200, { error: "invalid_client", error_description: "revoked" }), "unauthorized"],
  ["may not use the grant", answer(400, { error: "unauthorized_client" }), "unauthorized"],
  ["fails with 200", answer(200, { error: "server_confused" }), "contract_violation"],
  ["gives a token of another type", answer(200, { access_token: "abc", token_type: "DPoP" }), "contract_violation"],
  ["gives a token of the type mac", answer(200, { access_token: "abc", token_type: "mac" }), "contract_violation"],
  ["refuses the scope", answer(400, { error: "invalid_scope" }), "forbidden"],
  ["refuses with HTML", answer(403, "<html>", html), "forbidden"],
  ["refuses with nothing", answer(400), "unauthorized"],
  ["redirects", answer(302, undefined, { location: "https://login.example/" }), "contract_violation"],
  ["answers with HTML", answer(200, "<html>sign in</html>", html), "contract_violation"],
  ["gives no token", answer(200, { token: "x" }), "contract_violation"],
  ["gives an empty token", answer(200, { access_token: "" }), "contract_violation"],
  ["gives a token with a line break", answer(200, { access_token: "a\r\nX-Evil: 1" }), "contract_violation"],
  ["gives a megabyte", answer(200, { access_token: "x".repeat(1_000_000) }), "contract_violation"],
];
test.for(refusals)(
  "a token endpoint that %s fails the call before it is sent, without a retry",
  async ([_, step, kind], { stub, service }) => {
    stub.respondToToken(() => step);
    const facts = await expectFailure(submitJob(service));
    expect(facts).toMatchObject({ kind, sideEffect: "none", retryable: false });
    expect(facts.message.length).toBeLessThan(1000);
    expect(stub.requests).toHaveLength(0);
    expect(stub.tokenRequests).toHaveLength(1);
  },
);

test.for([
  ...[404, 405, 410, 415].flatMap((status) => [
    answer(status),
    answer(status, { error: "not_found" }),
    answer(status, {}),
  ]),
  answer(400, { error: "invalid_request", error_description: "missing audience" }),
  answer(400, { error: "unsupported_grant_type" }),
])(
  "a request that reached no token endpoint points at MIC_BASE_URL, not at the credentials (%#)",
  async (step, { stub, service }) => {
    stub.respondToToken(() => step);
    expect(await expectFailure(submitJob(service))).toMatchObject({
      kind: "contract_violation",
      sideEffect: "none",
      next: "Ask the user to check MIC_BASE_URL: it must be the URL of the API itself, without /sandbox at its end.",
    });
    stub.respond(() => answer(404));
    const { stdout } = await runInProcess(["doctor"], { env: stubEnv(stub) });
    expect(stdout).toMatch(/FAIL token .*\n +-> Check MIC_BASE_URL: .* \/sandbox at its end\./);
    expect(stdout).not.toMatch(/Correct the/);
  },
);

test("an error with the status 200 is reported with its code and its description", async ({ stub, service }) => {
  stub.respondToToken(() => answer(200, { error: "invalid_client", error_description: "The secret was revoked." }));
  const { message } = await expectFailure(readJob(service));
  expect(message).toMatch(/HTTP 200: invalid_client "The secret was revoked\."/);
});

test.for([200, 403])(
  "a token endpoint that answers %i with an HTML page is reported as possibly a proxy",
  async (status, { stub, service }) => {
    stub.respondToToken(() => answer(status, "<html>sign in</html>", html));
    const { message, next } = await expectFailure(submitJob(service));
    expect(message).toContain("an HTML page");
    expect(next).toMatch(/^Ask the user to check MIC_BASE_URL: .*in between/);
  },
);

test.for([
  ["fails", answer(502, "<html>", html)],
  ["hangs up", hangUp],
  ["breaks off", answerTruncated(200, { access_token: "abcdefgh" }, 10)],
  ["is busy", answer(429)],
] as const)("a token endpoint that %s is asked again", async ([_, step], { stub, service }) => {
  stub.respondToToken(() => (stub.tokenRequests.length < 3 ? step : answer(200, { access_token: "third-time" })));
  stub.expect(accepted);
  await submitJob(service);
  expect(bearersOf(stub.requests)).toEqual(["Bearer third-time"]);
});

test("a token endpoint that limits its rate returns the wait to the agent", async ({ stub, service }) => {
  stub.respondToToken(() => answer(429, undefined, { "retry-after": "300" }));
  expect(await expectFailure(readJob(service, createCallContext(45_000)))).toMatchObject({
    kind: "rate_limited",
    retryAfterSeconds: 300,
  });
});

test("the credentials are not sent to the address of a redirect", async ({ stub, service }) => {
  const elsewhere = await stubForTest();
  stub.respondToToken(() => answer(307, undefined, { location: `${elsewhere.baseUrl}/sandbox/oauth/token` }));
  await expectFailure(readJob(service));
  expect(elsewhere.tokenRequests).toHaveLength(0);
});
