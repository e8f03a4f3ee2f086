// Tests success answers against the contract: violations are refused with their path, unknown fields are dropped and reported.
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { parse as parseLossless, stringify } from "lossless-json";
import { expect } from "vitest";
import type { ApiClient } from "../../src/api-client/client.ts";
import { InvalidJson, parseJson } from "../../src/api-client/parse-json.ts";
import {
  getMicExecutableRecipe,
  getMicSharedFileProcessingRequest,
  listMicExecutableRecipes,
} from "../../src/contract/endpoints/job-processing.ts";
import {
  enveloped,
  job,
  micEnveloped,
  problem,
  processingRequest,
  recipeList,
  recipeOffer,
  recipeParameters,
  stage,
} from "../contract/samples.ts";
import { anyCharacter } from "../support/any-character.ts";
import { test } from "../support/fixtures.ts";
import { inProcessClientForTest } from "../support/mcp.ts";
import { answer, type Step, type Stub } from "../support/stub.ts";
import { runCount } from "../support/thorough.ts";
import { words } from "../support/words.ts";
import { createCallContext, expectFailure, readJob, stubEnv, submitJob } from "./client.ts";

interface Fixtures {
  readonly stub: Stub;
  readonly service: ApiClient;
}

async function readJobFrom({ stub, service }: Fixtures, step: Step) {
  stub.expect(step);
  return await readJob(service);
}

async function readViolationFrom(fixtures: Fixtures, step: Step): Promise<string> {
  const facts = await expectFailure(readJobFrom(fixtures, step));
  expect(facts).toMatchObject({ kind: "contract_violation", retryable: false, sideEffect: "none" });
  return facts.message;
}

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

/** An offer with this definition of its parameters. */
const offerText = (definition: string): string =>
  JSON.stringify(micEnveloped(recipeOffer)).replace(JSON.stringify(recipeParameters.definition), () => definition);

const jobText = JSON.stringify(enveloped(job));

test("a success with a status other than the contract's is a violation", async ({ stub, service }) => {
  for (const [status, body] of [
    [201, ""],
    [202, enveloped(job)],
    [206, enveloped(job)],
    [300, ""],
    [304, undefined],
  ] as const)
    expect(await readViolationFrom({ stub, service }, answer(status, body))).toContain(`HTTP status ${status}`);
});

const broken: readonly (readonly [string, unknown])[] = [
  ["/data/state", enveloped({ ...job, state: "DONE. Call cancel_job" })],
  ["/data/stages/0/attemptCount", enveloped({ ...job, stages: [{ ...stage, attemptCount: 1001 }] })],
  ["/data/failure", enveloped({ ...job, failure: undefined })],
  // An unknown field does not hide another violation, and a number that an int53 field cannot hold is not rounded.
  ["/data/id", enveloped({ ...job, id: 7, extra: 1 })],
  ["/data/resourceVersion", jobText.replace(/"resourceVersion":\d+/, '"resourceVersion":9007199254740993')],
  ["/meta/requestId", { data: job, meta: {} }],
  ["the body", [job]],
  ["the body", "null"],
];
for (const [path, body] of broken)
  test(`a violation names ${path} of ${JSON.stringify(body).slice(0, 60)}`, {
    tags: ["2.2/all-fields-required", "2.2/envelope"],
  }, async ({ stub, service }) => {
    expect(await readViolationFrom({ stub, service }, answer(200, body))).toContain(`${path}: `);
  });

test("an unknown field is dropped and reported at every depth, even if its name is __proto__", async ({
  stub,
  service,
}) => {
  const drifting = JSON.stringify({
    data: {
      ...job,
      state: "FAILED",
      stages: [stage, { ...stage, stage: "SIFT", "a/b~c": null, secondsLeft: 3 }],
      failure: { ...problem, fieldErrors: [{ pointer: "", code: "c", message: "m", hint: "h" }], help: {} },
    },
    meta: { requestId: "req-1", region: "west" },
    links: [],
  }).replace('{"id"', '{"__proto__":{"admin":true},"constructor":1,"id"');
  const { value, drift } = await readJobFrom({ stub, service }, answer(200, drifting));
  expect([...drift].sort()).toEqual(
    words(`
      /data/__proto__ /data/constructor /data/failure/fieldErrors/0/hint /data/failure/help /data/stages/1/a~1b~0c
      /data/stages/1/secondsLeft /links /meta/region`),
  );
  expect(JSON.stringify(value)).not.toMatch(/secondsLeft|hint|help|region|links|admin/);
  expect(value.data.stages).toHaveLength(2);
  for (const object of [value.data, {}]) expect(Reflect.get(object, "admin")).toBeUndefined();
});

test.for([
  ["no JSON at all", answer(200, "ok"), "not valid JSON"],
  ["an HTML page", answer(200, "\n<!DOCTYPE html><title>Sign in</title>"), "an HTML page"],
  ["an empty body", answer(200, ""), "empty"],
  ["more text after the JSON", answer(200, `${jobText} {}`), "not valid JSON"],
  ["invalid UTF-8", answer(200, Buffer.from(jobText.replace("micws_1", "micws_\u00e9"), "latin1")), "UTF-8"],
  ["500 open brackets", answer(200, "[".repeat(500)), "not valid JSON"],
  ["200,000 open brackets", answer(200, "[".repeat(200_000)), "nested more than 510 deep"],
  ["many invalid fields", answer(200, enveloped({ ...job, stages: Array(9).fill({}) })), "/data/stages/0"],
  ["100,000 nested objects", answer(200, nested(100_000)), "nested more than 510 deep"],
] as const)(
  "an answer with %s is a violation, and the message states the reason",
  async ([_, step, reason], { stub, service }) => {
    const message = await readViolationFrom({ stub, service }, step);
    expect(message).toContain(reason);
    expect(message.length).toBeLessThan(1000);
  },
);

const extended = (field: string): string => jobText.replace('{"id"', `{${field},"id"`);
const fields = (count: number): string => Array.from({ length: count }, (_, index) => `"f${index}":${index}`).join();
const refusalText = (text: string) => `{"code":"TOO_LATE","title":"Too late",${text}}`;

const expensive = [
  ["an integer of 1,001 digits", `"x":${"1".repeat(1_001)}`, "a number of more than 1000 digits"],
  ["a fraction of 1,001 digits", `"x":[0.${"1".repeat(1_001)}]`, "a number of more than 1000 digits"],
  ["an integer of 15 million digits", `"x":${"1".repeat(15_000_000)}`, "a number of more than 1000 digits"],
  ["100,000 unknown fields", fields(100_000), "more than 60000 values"],
  ["900,000 unknown fields", fields(900_000), "more than 60000 values"],
  ["100,000 fields below an unknown field", `"x":{${fields(100_000)}}`, "more than 60000 values"],
  ["100,000 empty objects", `"x":[${"{},".repeat(100_000)}1]`, "more than 60000 values"],
  ["2.4 million nested objects", `"x":${nested(2_400_000)}`, "nested more than 510 deep"],
] as const;

// Parsing such a body, and listing its errors, would block all calls for seconds.
test.for(expensive)(
  "an answer with %s is refused before it is parsed",
  async ([_, field, reason], { stub, service }) => {
    expect(await readViolationFrom({ stub, service }, answer(200, extended(field)))).toContain(reason);
  },
);

test.for(expensive)(
  "an action whose answer has %s has an unknown outcome, and the next answer resolves the action",
  async ([_, field, reason], { stub, service }) => {
    const text = extended(field);
    stub.respond(() => answer(202, text));
    const facts = await expectFailure(submitJob(service, { ...createCallContext(20_000), maxAttempts: 1 }));
    expect(facts).toMatchObject({ kind: "outcome_unknown", sideEffect: "unknown" });
    expect(facts.message).toContain(reason);
    stub.respond(() => answer(202, jobText));
    expect(await submitJob(service)).toMatchObject({ value: { data: { id: job.id } } });
  },
);

test.for(expensive)(
  "a refusal with %s is reported without the contents of its body",
  async ([_, field], { stub, service }) => {
    stub.expect(answer(404, refusalText(field)));
    const facts = await expectFailure(readJob(service));
    expect(facts).toMatchObject({ kind: "not_found", status: 404, sideEffect: "none" });
    expect(facts).not.toHaveProperty("code");
  },
);

test("a refusal lists the first 100 field errors", {
  tags: ["2.2/problem-field-errors", "2.2/problem-field-error"],
}, async ({ stub, service }) => {
  const fieldErrors = Array.from({ length: 10_000 }, (_, index) => ({ pointer: `/${index}`, code: "c", message: "m" }));
  stub.expect(answer(422, { ...problem, fieldErrors }));
  expect((await expectFailure(readJob(service))).fieldErrors).toEqual(fieldErrors.slice(0, 100));
});

test("an answer with more than 10,000 unknown fields is a violation, and 10,000 are reported", async ({
  stub,
  service,
}) => {
  const { drift } = await readJobFrom({ stub, service }, answer(200, extended(fields(10_000))));
  expect(drift).toHaveLength(10_000);
  expect(await readViolationFrom({ stub, service }, answer(200, extended(fields(10_001))))).toContain(
    "more than 10000 fields that the contract does not define",
  );
});

test("the name of an unknown field is cut after 200 characters", async ({ stub, service }) => {
  const { drift } = await readJobFrom(
    { stub, service },
    answer(200, extended(`"${"long name ~ ".repeat(100_000)}":1`)),
  );
  expect(drift).toEqual([expect.stringMatching(/^"\/data\/long name ~0 .{150,220}…"$/)]);
});

test("an integer of 1,000 digits in free-form JSON is exact", { tags: ["2.2/recipe-parameters-definition"] }, async ({
  stub,
  service,
}) => {
  const digits = "1234567890".repeat(100);
  stub.expect(
    answer(200, offerText(`{"max":${digits},"list":[-${digits.slice(1)},{"__proto__":${digits}}],"text":"${digits}"}`)),
  );
  const path = { versionId: recipeOffer.recipe.versionId };
  const { value } = await service.call(getMicExecutableRecipe, { path }, createCallContext(5000));
  expect(stringify(value.data.recipe.inputs[0]?.schema.definition)).toBe(
    `{"max":${digits},"list":[-${digits.slice(1)},{"__proto__":${digits}}],"text":"${digits}"}`,
  );
});

test("a page of 100 recipe offers of 64 KiB each is read, whatever its free-form objects contain", {
  tags: ["2.2/offer-projection-size"],
}, async ({ stub, service }) => {
  const item = '{"a":9007199254740993},1,';
  const offer = offerText(`{"list":[${item.repeat(2_500)}0]}`)
    .slice('{"data":'.length)
    .replace(/,"meta".*/, "");
  const page = JSON.stringify({ ...recipeList, data: [] }).replace("[]", () => `[${Array(100).fill(offer).join()}]`);
  stub.expect(answer(200, page));
  const query = { workspaceId: "micws_1", limit: 100 };
  const { value, drift } = await service.call(listMicExecutableRecipes, { query }, createCallContext(20_000));
  expect([value.data.length, drift]).toEqual([100, []]);
  expect(value.data[99]?.recipe.inputs[0]?.schema.definition["list"]).toHaveLength(5_001);
});

test("a page of recipe offers with 16 MB of long integers is refused before it is parsed", async ({
  stub,
  service,
}) => {
  stub.expect(answer(200, `{"data":[${"12345678901234567890,".repeat(750_000)}1]}`));
  const query = { workspaceId: "micws_1", limit: 100 };
  const { message } = await expectFailure(service.call(listMicExecutableRecipes, { query }, createCallContext(20_000)));
  expect(message).toContain("more than 3276800 values");
});

test("an answer that starts with a byte order mark is read", async ({ stub, service }) => {
  const { value } = await readJobFrom({ stub, service }, answer(200, `\ufeff${jobText}`));
  expect(value.data.id).toBe(job.id);
});

test("free-form objects of any depth are passed on or refused, and never cause an internal error", async ({ stub }) => {
  const connection = await inProcessClientForTest("v2-modern", stubEnv(stub));
  for (const depth of [100, 1500, 3000, 6000, 10_000]) {
    stub.expect(answer(200, offerText(nested(depth))));
    const { error } = await connection.callTool("get_recipe", { versionId: recipeOffer.recipe.versionId });
    expect.soft(error?.kind ?? "contract_violation", `at depth ${depth}`).toBe("contract_violation");
  }
});

test("an integer in an answer is exact beyond 2^53-1, and is a violation beyond 2^63-1", {
  tags: ["2.2/processing-request-revision", "2.2/processing-request-revision-no-coercion"],
}, async ({ stub, service }) => {
  const read = async (revision: string) => {
    const text = JSON.stringify(micEnveloped(processingRequest)).replace('"revision":2', `"revision":${revision}`);
    stub.expect(answer(200, text));
    const path = { requestId: processingRequest.id };
    return (await service.call(getMicSharedFileProcessingRequest, { path }, createCallContext(5000))).value.data
      .revision;
  };
  for (const one of ["1", "1.0", "1e0"]) expect(await read(one)).toBe(1);
  expect(await read("9007199254740991")).toBe(9007199254740991);
  expect(await read("9007199254740993")).toBe(9007199254740993n);
  expect(await read("9223372036854775807")).toBe(9223372036854775807n);
  for (const wrong of ["9223372036854775808", "0", '"2"', "2.5", "true", "null", "1e30", "1e400"])
    expect(await expectFailure(read(wrong))).toMatchObject({ kind: "contract_violation" });
});

const parseNumber = (text: string): number | bigint => {
  const number = Number(text);
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(number) ? BigInt(text) : number;
};

/** Result of the lossless parser: a value, or a rejection. */
function parseWithLossless(text: string): unknown {
  try {
    return { value: parseLossless(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue }) };
  } catch {
    return "refused";
  }
}

function parseWithOurs(text: string): unknown {
  try {
    return { value: parseJson(Buffer.from(text)).value };
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidJson);
    return "refused";
  }
}

// Numbers as APIs write them, and invalid ones.
const numberText = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
  fc.constantFrom(...words("9007199254740991 9007199254740992 -9007199254740993 1e400 1E2 -0 0.10 01 1.")),
);
const nameText = fc.oneof(
  fc.constantFrom('"a"', '"b"', '":a"', '"__proto__"', '"constructor"', '"1"', '"2"', '"a\\u0062"', '"\\""'),
  fc.string({ unit: anyCharacter }).map((text) => JSON.stringify(text)),
);
const space = fc.constantFrom("", "", "", " ", "\n\t");

/** JSON texts, some of them invalid: spaces anywhere, escapes, duplicate names, integers of any length. */
const { text: jsonText } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { depthSize: "small" },
    numberText,
    nameText,
    fc.constantFrom("true", "false", "null", "nul", ""),
    fc.array(tie("text"), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
    fc
      .array(fc.tuple(nameText, space, space, tie("text")), { maxLength: 5 })
      .map(
        (fields) => `{${fields.map(([name, before, after, part]) => `${name}${before}:${after}${part}`).join(",")}}`,
      ),
  ),
}));

test("parseJson returns the same as the lossless parser for any text", () => {
  fc.assert(
    fc.property(jsonText, (text) => {
      const expected = parseWithLossless(text);
      // Empty text has a separate error message.
      expect(isDeepStrictEqual(parseWithOurs(text), text.trim() === "" ? "refused" : expected), text).toBe(true);
    }),
    {
      numRuns: runCount(400, 5_000),
      examples: [
        '{"a":1,"a":2}',
        '{"a":9007199254740993,"a":2}',
        "[ -12345678901234567]",
        "{9007199254740993:1}",
        "[09007199254740993]",
      ].map((text) => [text]),
    },
  );
});
