// Tests that no secret leaves the server: the API of these tests echoes everything it receives, in each possible place.
import { expect, test } from "vitest";
import * as samples from "../contract/samples.ts";
import { type ClientRevision, type Connection, connectionForTest } from "../support/mcp.ts";
import { answer, type RecordedRequest, type Step, stubForTest } from "../support/stub.ts";

const CLIENT_ID = "micclient_echo";
// Contains characters that JSON, URLs and forms encode differently.
const SECRET = 's3cret/"quoted"\\+&=% ~end';
const TOKEN = "tok-3n_of.the~echo+service/==";

function encodingsOf(secret: string): readonly string[] {
  const quoted = JSON.stringify(secret).slice(1, -1);
  const form = new URLSearchParams({ a: secret }).toString().slice(2);
  return [secret, quoted, JSON.stringify(quoted).slice(1, -1), encodeURIComponent(secret), form];
}

const basic = (pair: string): string => Buffer.from(pair).toString("base64");
const PAIRS = [basic(`${CLIENT_ID}:${SECRET}`), basic(`${CLIENT_ID}:${encodeURIComponent(SECRET)}`)];
const SECRET_FORMS = [...encodingsOf(SECRET), ...encodingsOf(TOKEN), ...PAIRS];

function expectNoSecrets(what: string, text: string): void {
  for (const secret of SECRET_FORMS)
    expect(text.includes(secret), `${what} gives ${secret} away in ${text}`).toBe(false);
}

/** The contents of a request, and the secrets themselves. */
const secretsOf = (request: RecordedRequest): string =>
  [request.headers.authorization, request.body.toString(), SECRET, encodeURIComponent(SECRET), TOKEN].join(" ");

const problem = (echo: string) => ({
  type: echo,
  title: echo.slice(0, 160),
  status: 422,
  code: TOKEN,
  requestId: TOKEN,
  retryable: false,
  fieldErrors: [{ pointer: `/${TOKEN}`, code: TOKEN, message: echo }],
});

const job = (echo: string) => ({
  ...samples.job,
  id: echo.slice(-128),
  workspaceId: TOKEN,
  state: "FAILED",
  recipeVersionId: TOKEN,
  outputDatasetVersionId: SECRET,
  failure: problem(echo),
  [SECRET]: SECRET,
});

const serve = (revision: ClientRevision, baseUrl: string): Promise<Connection> =>
  connectionForTest(revision, {
    env: { MIC_BASE_URL: baseUrl, MIC_CLIENT_ID: CLIENT_ID, MIC_CLIENT_SECRET: SECRET, MIC_LOG_LEVEL: "debug" },
  });

/** The ways in which the API echoes its request; a digit in the job's id selects one. */
const echoingSteps: readonly ((echo: string, status: number) => Step)[] = [
  (echo, status) => answer(status, { data: job(echo), meta: { requestId: TOKEN } }),
  (echo) => answer(422, problem(echo), { "content-type": "application/problem+json" }),
  (echo) => answer(404, echo),
  (echo) => answer(200, echo),
  (echo) => answer(200, `{"data":"${echo}`),
  (echo, status) => answer(status, { data: { ...job(echo), state: echo }, meta: { requestId: "r" } }),
  (echo) => answer(302, "", { location: `https://example.invalid/?${encodeURIComponent(echo)}` }),
];

test("secrets in any answer of the API are redacted", { tags: ["5/secret-stays-in-server"] }, async () => {
  const stub = await stubForTest();
  stub.respondToToken(() => answer(200, { access_token: TOKEN, token_type: "Bearer" }));
  stub.respond((request) => {
    const [, number = ""] = /\/jobs\/j(\d)/.exec(request.target) ?? [];
    const respond = echoingSteps[Number(number)] ?? (() => answer(400, "the test expected no such request"));
    return respond(secretsOf(request), request.method === "POST" ? 202 : 200);
  });
  const connections = await Promise.all([serve("v1-client", stub.baseUrl), serve("v2-modern", stub.baseUrl)]);
  // All calls run concurrently, because an answer that does not prove the outcome of an action is retried repeatedly.
  const reads = connections.flatMap(({ callTool }) =>
    echoingSteps.map(async (_, number) => {
      const jobId = `j${number}`;
      const read = await callTool("get_job", { jobId });
      expectNoSecrets("get_job", read.raw);
      // The agent still gets the rest of the text.
      expect(read.text.length).toBeGreaterThan(20);
      expectNoSecrets("retry_job", (await callTool("retry_job", { jobId, retryMode: "RESTART", reason: "again" })).raw);
    }),
  );
  await Promise.all(reads);
  expect(stub.tokenRequests.length).toBeGreaterThan(0);
  for (const { stderr } of connections) expectNoSecrets("stderr", stderr());
});

// One revision is enough, because all revisions share one redaction of output.
test("a token endpoint that echoes its request reveals no secret", { tags: ["5/secret-stays-in-server"] }, async () => {
  const stub = await stubForTest();
  const connection = await serve("v2-modern", stub.baseUrl);
  const answers: readonly (readonly [kind: string, (echo: string) => Step])[] = [
    ["unauthorized", (echo) => answer(401, { error: "invalid_client", error_description: echo, extra: SECRET })],
    ["contract_violation", (echo) => answer(200, { access_token: 5, echo })],
    ["unauthorized", (echo) => answer(400, echo)],
  ];
  for (const [kind, echoing] of answers) {
    stub.respondToToken((request) => echoing(secretsOf(request)));
    const { raw, error } = await connection.callTool("get_job", { jobId: "j" });
    expect(error?.kind).toBe(kind);
    expectNoSecrets("get_job", raw);
  }
  expectNoSecrets("stderr", connection.stderr());
});

test("a secret that the agent passes is not written to the log", async () => {
  const stub = await stubForTest();
  const connection = await serve("v1-client", stub.baseUrl);
  stub.respondToToken(() => answer(200, { access_token: TOKEN, token_type: "Bearer" }));
  // Calls refuse the unknown argument, except those of tools without arguments: they ignore it.
  expect((await connection.callTool("get_job", { jobId: "j", [SECRET]: SECRET })).error?.kind).toBe(
    "invalid_arguments",
  );
  stub.expect(answer(200, { contract: "svc.geo.admin-divisions.v1", states: [] }));
  const read = await connection.callTool("list_states", { [SECRET]: SECRET });
  expect(read.text).toContain("Ignored unknown argument");
  const retry = { jobId: "j", retryMode: "RESTART", reason: "again", [SECRET]: SECRET };
  expect((await connection.callTool("retry_job", retry)).error?.kind).toBe("invalid_arguments");
  await connection.callTool("get_job", { jobId: SECRET.repeat(9) });
  expectNoSecrets("stderr", connection.stderr());
  expectNoSecrets("the listing", JSON.stringify(await connection.listTools()) + connection.instructions());
});
