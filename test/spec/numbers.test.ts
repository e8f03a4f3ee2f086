// Tests numbers that a double cannot represent: they are never sent or shown as a different number.
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { stubEnv } from "../api-client/client.ts";
import {
  createJob,
  enveloped,
  job,
  micEnveloped,
  openApiDocument,
  recipeOffer,
  retryJob,
} from "../contract/samples.ts";
import { callMessage, initialize, start } from "../mcp/stdio/child.ts";
import { answer, stubForTest } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { sessionForFile } from "../unspecified/session.ts";

const MAX_INT64 = "9223372036854775807";
const session = sessionForFile();

test("the server returns the exact numbers of an OpenAPI document with int64 bounds", {
  tags: ["4.1/openapi"],
}, async () => {
  const { stub, connection } = session();
  const schema = { type: "integer", minimum: 0, maximum: "MAX", example: 9007199254740991 };
  const document = {
    ...openApiDocument,
    paths: { "/x": { get: { parameters: [{ name: "at", in: "query", schema }] } } },
    components: { schemas: { Huge: { maximum: "HUGE" }, Deep: { allOf: [{ enum: ["MAX", 1.5] }] } } },
  };
  const body = JSON.stringify(document).replaceAll('"MAX"', MAX_INT64).replace('"HUGE"', "1e400");
  stub.expect(answer(200, body));
  const { isError, structured, text } = await connection.callTool("get_geography_openapi");
  expect(isError, text).toBe(false);
  const expected = JSON.stringify(document)
    .replaceAll('"MAX"', `"${MAX_INT64}"`)
    .replace('"HUGE"', `"more than ${Number.MAX_VALUE}"`);
  const { summary, ...shown } = structured ?? {};
  expect(shown).toEqual(JSON.parse(expected));
  const [first, rest = ""] = text.split("\n");
  expect(first).toBe(summary);
  expect(JSON.parse(rest)).toEqual(shown);
});

test("the server never shows numbers of a recipe as null or as different numbers", {
  tags: ["2.2/recipe-parameters-definition"],
}, async () => {
  const { stub, connection } = session();
  const offer = JSON.stringify(micEnveloped(recipeOffer));
  for (const [sent, shown] of [
    ["1e308", 1e308],
    ["9007199254740991", 9007199254740991],
    ["9007199254740993", "9007199254740993"],
    ["1e400", `more than ${Number.MAX_VALUE}`],
    ["-1e400", `less than -${Number.MAX_VALUE}`],
  ] as const) {
    stub.expect(answer(200, offer.replaceAll('"maximum":2026', `"maximum":${sent}`)));
    const { structured, text } = await connection.callTool("get_recipe", { versionId: recipeOffer.recipe.versionId });
    const { parameters } = z
      .looseObject({ data: z.looseObject({ recipe: z.looseObject({ parameters: z.unknown() }) }) })
      .parse(structured).data.recipe;
    expect(parameters, sent).toMatchObject({ references: { year: { maximum: shown } } });
    expect(text).toContain(`"maximum":${JSON.stringify(shown)}`);
  }
});

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
