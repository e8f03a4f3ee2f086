// Tests numbers that a double cannot represent: they are never sent or shown as a different number.
import { once } from "node:events";
import { createInterface } from "node:readline";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { stubEnv } from "../api-client/client.ts";
import { createJob, enveloped, job, retryJob } from "../contract/samples.ts";
import { ACCEPT, connectLegacyClient, send } from "../mcp/http/raw-client.ts";
import { modernEnvelope } from "../mcp/modern-envelope.ts";
import { callMessage, initialize, initializeMessage, start } from "../mcp/stdio/child.ts";
import { runInProcess } from "../support/command.ts";
import { serveHttpInProcess, serveInProcess } from "../support/in-process.ts";
import { answer, stubForTest } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { runCount } from "../support/thorough.ts";
import { sessionForFile } from "../unspecified/session.ts";

const session = sessionForFile();

const Refused = z.looseObject({
  result: z.looseObject({ isError: z.boolean().optional(), _meta: z.looseObject({}).optional() }),
});

test("the server refuses a number that cannot be sent exactly, with its pointer at any depth, and sends all others exactly", {
  tags: ["4.2/job-parameter-values", "4.2/job-no-defaults-no-plan"],
}, async () => {
  const stub = await stubForTest();
  const stateDir = await folderForTest();
  const env = { ...stubEnv(stub), MIC_STATE_DIR: stateDir };
  stub.respond(() => answer(202, enveloped({ ...job, retryOfBatchId: null })));
  const program = start(["serve"], { env });
  await initialize(program);
  // Written as text, because JSON.stringify of a client would convert most of these to null.
  let id = 10;
  const submit = async (parameterValues: string) => {
    id += 1;
    const message = JSON.stringify(callMessage(id, "submit_job", { ...createJob, parameterValues: "HERE" }));
    program.process.stdin.write(`${message.replace('"HERE"', parameterValues)}\n`);
    return Refused.parse((await program.answersTo([id])).get(id)).result;
  };
  for (const [values, pointer] of [
    ['{"q":1e400}', "/parameterValues/q"],
    ['{"q":-1e400}', "/parameterValues/q"],
    ['{"q":1e300}', "/parameterValues/q"],
    ['{"a":[{"b":1},{"b":1e999}]}', "/parameterValues/a/1/b"],
    ['{"q":9007199254740992}', "/parameterValues/q"],
  ] as const) {
    const refused = await submit(values);
    expect(refused.isError, values).toBe(true);
    const fieldErrors = [{ pointer, code: "NOT_EXACT" }];
    const facts = { kind: "invalid_arguments", sideEffect: "none", fieldErrors };
    expect(refused._meta?.["mic-mcp/error"]).toMatchObject(facts);
  }
  expect(stub.requests).toHaveLength(0);
  expect(stub.tokenRequests).toHaveLength(0);
  for (const values of ['{"q":9007199254740991}', '{"q":-9007199254740991}', '{"q":-0.5,"r":1e-7}']) {
    expect((await submit(values)).isError, values).not.toBe(true);
    expect(stub.requests.at(-1)?.body.toString()).toContain(`"parameterValues":${values}`);
  }
});

/** The value of a decimal: its sign, its digits without zeros at the ends, and the power of ten of the last one. */
function decimalOf(text: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  const power = Number(exponent) - fraction.length + digits.length - significant.length;
  return significant === "" ? "0" : `${sign}${significant}e${power}`;
}

const isKept = (text: string): boolean => {
  const double = Number(text);
  return Math.abs(double) <= Number.MAX_SAFE_INTEGER && decimalOf(text) === decimalOf(String(double));
};

const digits = (maxLength: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength }).map((each) => each.join(""));
/** Texts of numbers: any, those that programs write, and those at the edges. */
const decimals = fc.oneof(
  fc
    .tuple(
      fc.constantFrom("", "-"),
      fc.oneof(
        fc.constant("0"),
        digits(20).map((text) => text.replace(/^0+(?=\d)/, "")),
      ),
      fc.option(digits(25), { nil: undefined }),
      fc.option(fc.tuple(fc.constantFrom("e", "E", "e+", "e-"), fc.integer({ min: 0, max: 420 })), { nil: undefined }),
    )
    .map(
      ([sign, whole, fraction, exponent]) =>
        `${sign}${whole}${fraction === undefined ? "" : `.${fraction}`}${exponent?.join("") ?? ""}`,
    ),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.double({ min: -1, max: 1, noNaN: true }).map((value) => value.toFixed(18)),
  fc.constantFrom("1.0", "1e2", "0.10", "-0", "0e999", "5e-324", "4e-324", "9007199254740991.0", "1e15", "1e16"),
);

type Ways = Readonly<Record<string, (parameterValues: string) => Promise<string>>>;

/** The ways in which a call of submit_job reaches the server. Each returns what the caller reads. */
async function openWays(env: Readonly<Record<string, string>>): Promise<Ways> {
  let id = 10;
  const messageOf = (parameterValues: string, meta: object = {}): string => {
    id += 1;
    const { params, ...message } = callMessage(id, "submit_job", { ...createJob, parameterValues: "HERE" });
    return JSON.stringify({ ...message, params: { ...params, ...meta } }).replace('"HERE"', parameterValues);
  };
  const { stdin, stdout, close } = serveInProcess({ ...env, MIC_STATE_DIR: await folderForTest() });
  onTestFinished(close);
  const lines = createInterface(stdout);
  const writeLine = async (line: string): Promise<string> => {
    const answered = once(lines, "line");
    stdin.write(`${line}\n`);
    return String((await answered)[0]);
  };
  await writeLine(JSON.stringify(initializeMessage));
  const url = await serveHttpInProcess({ ...env, MIC_STATE_DIR: await folderForTest() });
  const { headers: session } = await connectLegacyClient(url);
  const postJson = async (body: string, headers: Readonly<Record<string, string>>): Promise<string> =>
    (await send(url, { headers: { "content-type": "application/json", accept: ACCEPT, ...headers }, body }).answer)
      .body;
  const modern = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "submit_job" };
  const cli = { ...env, MIC_STATE_DIR: await folderForTest() };
  const type = async (...words: readonly string[]): Promise<string> => {
    const { stdout: out, stderr } = await runInProcess(["call", "submit_job", ...words], { env: cli });
    return `${out}${stderr}`;
  };
  const { parameterValues: _, ...others } = createJob;
  return {
    stdio: (values) => writeLine(messageOf(values)),
    "a JSON string": (values) => writeLine(messageOf(JSON.stringify(values))),
    HTTP: (values) => postJson(messageOf(values), session),
    "HTTP without a session": (values) => postJson(messageOf(values, { _meta: modernEnvelope() }), modern),
    "--input": (values) =>
      type("--input", JSON.stringify({ ...createJob, parameterValues: "HERE" }).replace('"HERE"', values)),
    "parameterValues=": (values) => type(`parameterValues=${values}`, "--input", JSON.stringify(others)),
  };
}

test("a number is sent if and only if its value is kept, over every transport and from the command line", {
  tags: ["4.2/job-parameter-values"],
}, async () => {
  const stub = await stubForTest();
  stub.respond(() => answer(202, enveloped({ ...job, retryOfBatchId: null })));
  const ways = Object.entries(await openWays(stubEnv(stub)));
  let calls = 0;
  const property = fc.asyncProperty(decimals, async (text) => {
    for (const [way, submit] of ways) {
      calls += 1;
      const sent = stub.requests.length;
      const output = await submit(`{"call":${calls},"deep":[{"q":${text}}]}`);
      const about = `${text} by ${way}: ${output}`;
      if (isKept(text)) {
        const expected = `"parameterValues":{"call":${calls},"deep":[{"q":${JSON.stringify(Number(text))}}]}`;
        expect(stub.requests.length, about).toBe(sent + 1);
        expect(stub.requests.at(-1)?.body.toString(), about).toContain(expected);
      } else {
        expect(stub.requests.length, about).toBe(sent);
        expect(output, about).toContain("/parameterValues/deep/0/q: ");
        expect(output, about).toContain(`would arrive as ${Number.isFinite(Number(text)) ? Number(text) : "null"}; `);
        expect(output, about).toContain("pass a string");
      }
    }
  });
  const examples = ["0.1000000000000000055", "1e-400", "-1e400", "9007199254740993", "1e22", "0.1", "1.50e+1"];
  await fc.assert(property, { examples: examples.map((text) => [text]), numRuns: runCount(60, 1_000) });
});

test("a duplicate name, null, __proto__ and a long id keep their meaning in a message with a number that would be rounded", async () => {
  const { stdin, stdout, close } = serveInProcess(stubEnv(await stubForTest()));
  onTestFinished(close);
  const lines = createInterface(stdout);
  const refusalOf = async (args: string): Promise<string> => {
    const answered = once(lines, "line");
    const id = 9_007_199_254_740_993n;
    stdin.write(
      `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"list_jobs","arguments":${args}},"id":${id}}\n`,
    );
    const text = String((await answered)[0]);
    expect(text).toContain(`"id":${id}`);
    return text;
  };
  stdin.write(`${JSON.stringify(initializeMessage)}\n`);
  await once(lines, "line");
  expect(await refusalOf('{"limit":5,"limit":1e-400,"cursor":null}')).toContain("/limit: 1e-400 would arrive as 0");
  expect(await refusalOf('{"limit":1e-400,"limit":5,"__proto__":{"limit":1}}')).toContain("/__proto__: unknown");
});

test("the server returns an id with a lone surrogate, and links no resource", async () => {
  const { stub, connection } = session();
  for (const [at, id] of ["job-1", "\ud800", "job-\udc00-1", "\udc00\ud800"].entries()) {
    stub.expect(answer(202, JSON.stringify(enveloped({ ...job, id, retryOfBatchId: job.id }))));
    const result = await connection.callTool("retry_job", {
      jobId: job.id,
      ...retryJob,
      idempotencyKey: `surrogate-${at}`,
    });
    expect(result.isError, result.text).toBe(false);
    expect(result.structured).toMatchObject({ data: { id } });
    expect(result.links).toEqual(id === "job-1" ? ["mic://jobs/job-1"] : []);
  }
});
