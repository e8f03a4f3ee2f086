// Accepted forms of arguments (docs/interface.md, "Accepted forms"): each is the same action as the exact form, a value that was valid
// stays as it is, and what is refused is explained.
import fc from "fast-check";
import { expect, test } from "vitest";
import { tools } from "../../tools/index.ts";
import { runCount } from "../support/thorough.ts";
import { Listed } from "./accepted-forms.ts";
import type { Args, Bench } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

/** A value in its exact form, and another form of it that is accepted. */
interface Pair {
  readonly exact: unknown;
  readonly form: unknown;
}

/** An argument that is absent in the exact form. */
const ABSENT = Symbol("absent");

const BLANKS = ["", " ", "\n", "\t ", "\u00a0"];
const padded = (text: string) =>
  fc.tuple(fc.constantFrom(...BLANKS), fc.constantFrom(...BLANKS)).map(([before, after]) => before + text + after);

const inMixedCase = (text: string) =>
  fc.infiniteStream(fc.boolean()).map((isUpper) => {
    const cases = isUpper[Symbol.iterator]();
    return [...text]
      .map((letter) => (cases.next().value === true ? letter.toUpperCase() : letter.toLowerCase()))
      .join("");
  });

const RESOURCES: Readonly<Record<string, readonly string[]>> = {
  jobId: ["mic://jobs/", "https://api.example.org/sandbox/v1/mic/jobs/"],
  jobIds: ["mic://jobs/", "http://127.0.0.1:8080/sandbox/v1/mic/jobs/"],
  inputId: ["mic://inputs/", "https://api.example.org/v1/mic/inputs/"],
  operationId: ["mic://operations/"],
  requestId: ["mic://processing-requests/"],
  versionId: ["mic://recipes/", "https://api.example.org/sandbox/v1/mic/recipe-versions/"],
  recipeVersionId: ["mic://recipes/", "https://api.example.org/sandbox/v1/mic/recipe-versions/"],
};
const ALIASES: Readonly<Record<string, string>> = {
  referenceId: "assetId",
  assetId: "referenceId",
  versionId: "recipeVersionId",
  recipeVersionId: "versionId",
};
const EXACT_TEXTS: Readonly<Record<string, readonly string[]>> = {
  state: ["TG", "Andhra Pradesh", "36"],
  states: ["TG", "Andhra Pradesh", "36"],
};
const IDS = ["micjob_1", "a", "9.a:b-c", "MICJOB_A", "é", ".."];

function idPair(name: string): fc.Arbitrary<Pair> {
  return fc.constantFrom(...IDS).chain((exact) => {
    const uris = (RESOURCES[name] ?? []).map((prefix) => fc.constant(`${prefix}${encodeURIComponent(exact)}`));
    return fc.oneof(fc.constant(exact), padded(exact), ...uris).map((form) => ({ exact, form }));
  });
}

/** Date-times that the API accepts only in UTC. */
const UTC_DATES: Readonly<Record<string, string>> = { expiresAt: "2026-11-20T04:30:00.5Z" };

function textPair(name: string, { enum: options, format }: Listed): fc.Arbitrary<Pair> {
  const known = options ?? EXACT_TEXTS[name];
  if (known !== undefined)
    return fc
      .constantFrom(...known)
      .chain((exact) =>
        (options === undefined ? fc.constant(exact) : inMixedCase(exact))
          .chain(padded)
          .map((form) => ({ exact, form })),
      );
  if (format === "date-time")
    return fc.constantFrom("2026-11-20T00:00:00Z", UTC_DATES[name] ?? "2026-11-20T10:00:00.5+05:30").chain((exact) => {
      const dates = exact.endsWith("T00:00:00Z") ? [fc.constant("2026-11-20")] : [];
      const inIndia =
        name in UTC_DATES && exact === UTC_DATES[name] ? [fc.constant("2026-11-20T10:00:00.5+05:30")] : [];
      return fc.oneof(padded(exact), ...dates, ...inIndia).map((form) => ({ exact, form }));
    });
  if (/Ids?$|^port$|Hash$/.test(name)) return idPair(name);
  // Free text, keys and cursors stay as they are.
  return fc.oneof(fc.string({ unit: "grapheme" }), fc.string().chain(padded)).map((exact) => ({ exact, form: exact }));
}

const capped = new Set(["limit", "perState", "waitSeconds"]);

function numberPair(name: string, { minimum = -1000, maximum = minimum + 2000 }: Listed): fc.Arbitrary<Pair> {
  const within = fc
    .integer({ min: minimum, max: maximum })
    .chain((exact) => fc.oneof(fc.constant(exact), padded(String(exact))).map((form) => ({ exact, form })));
  if (!capped.has(name)) return within;
  const above = fc.integer({ min: maximum + 1, max: 10 ** 15 });
  return fc.oneof(
    within,
    fc.oneof(above, above.map(String)).map((form) => ({ exact: maximum, form })),
  );
}

function listPair(name: string, { items = {} }: Listed): fc.Arbitrary<Pair> {
  const list = fc.array(pairOf(name, items), { minLength: 1, maxLength: 3 });
  return list.chain((pairs) => {
    const exact = pairs.map((pair) => pair.exact);
    const form = pairs.map((pair) => pair.form);
    const [only] = form;
    const isSingle = pairs.length === 1 && !(typeof only === "string" && only.trimStart().startsWith("["));
    const forms = [form, JSON.stringify(form), ...(isSingle ? [only] : [])];
    return fc.constantFrom(...forms).map((one) => ({ exact, form: one }));
  });
}

function objectPair({ properties }: Listed): fc.Arbitrary<Pair> {
  if (properties === undefined)
    return fc
      .dictionary(fc.string(), fc.jsonValue())
      .map((object) => JSON.stringify(object))
      .chain((text) =>
        fc.constantFrom<unknown>(JSON.parse(text), text).map((form) => ({ exact: JSON.parse(text), form })),
      );
  return argumentsPair(properties).chain(({ exact, form }) =>
    fc.constantFrom<unknown>(form, JSON.stringify(form)).map((one) => ({ exact, form: one })),
  );
}

function pairOf(name: string, schema: Listed): fc.Arbitrary<Pair> {
  if (schema.type === "array") return listPair(name, schema);
  if (schema.type === "object") return objectPair(schema);
  if (schema.type === "integer" || schema.type === "number") return numberPair(name, schema);
  if (schema.type === "boolean")
    return fc
      .boolean()
      .chain((exact) =>
        fc.constantFrom<unknown>(exact, String(exact), ` ${exact}`.toUpperCase()).map((form) => ({ exact, form })),
      );
  return textPair(name, schema);
}

function argumentsPair(properties: Readonly<Record<string, Listed>>): fc.Arbitrary<Pair> {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const alias = ALIASES[name];
    const names = alias === undefined || Object.hasOwn(properties, alias) ? [name] : [name, alias];
    // A note of the caller may be null: then null is its value.
    const absent = name === "clientReference" ? [] : [fc.constant({ exact: ABSENT, form: null })];
    return fc.tuple(
      fc.constant(name),
      fc.constantFrom(...names),
      fc.oneof(fc.constant({ exact: ABSENT, form: ABSENT }), pairOf(name, schema), ...absent),
    );
  });
  return fc.tuple(...fields).map((all) => ({
    exact: Object.fromEntries(all.flatMap(([name, , { exact }]) => (exact === ABSENT ? [] : [[name, exact]]))),
    form: Object.fromEntries(all.flatMap(([, name, { form }]) => (form === ABSENT ? [] : [[name, form]]))),
  }));
}

const asArguments = (value: unknown): Args => Object(value);

for (const tool of tools) {
  const properties = Listed.parse(tool.inputSchema()).properties ?? {};
  test(`${tool.name}: each accepted form has the arguments of the exact form, which stays as it is`, () => {
    fc.assert(
      fc.property(argumentsPair(properties), ({ exact, form }) => {
        expect(tool.toExact(asArguments(exact)).arguments).toEqual(exact);
        expect(tool.toExact(asArguments(form)).arguments).toEqual(exact);
      }),
      { numRuns: runCount(60, 1000) },
    );
  });
}

const keyOf = (structured: unknown): unknown => Object(Object(structured).action).idempotencyKey;

async function expectReplay(bench: Bench, tool: string, exact: Args, forms: readonly Args[]): Promise<void> {
  const first = await bench.ok(tool, exact);
  for (const form of forms) {
    const again = await bench.ok(tool, form);
    expect(again.structured, JSON.stringify(form)).toMatchObject({ action: { replayed: true } });
    expect(keyOf(again.structured)).toBe(keyOf(first.structured));
  }
}

describeLatestRevision((bench) => {
  test("submit_job: an accepted form is the same action as the exact form", async () => {
    const { idempotencyKey: _, ...exact } = await bench().argumentsFor("createMicJob");
    const { recipeVersionId, inputBindings, parameterValues, workspaceId } = exact;
    const binding = asArguments([inputBindings].flat()[0]);
    await expectReplay(bench(), "submit_job", exact, [
      { ...exact, recipeVersionId: ` ${recipeVersionId}\n`, idempotencyKey: null },
      { versionId: recipeVersionId, inputBindings, parameterValues, workspaceId },
      { ...exact, recipeVersionId: `mic://recipes/${recipeVersionId}` },
      { ...exact, inputBindings: JSON.stringify(inputBindings) },
      { ...exact, inputBindings: binding },
      { ...exact, inputBindings: [{ ...binding, inputId: `mic://inputs/${binding["inputId"]}` }] },
      { ...exact, parameterValues: JSON.stringify(parameterValues) },
    ]);
  });

  test("retry_job, cancel_job and register_input: an accepted form is the same action as the exact form", async () => {
    const retry = await bench().argumentsFor("retryMicJob");
    await expectReplay(bench(), "retry_job", retry, [
      { ...retry, jobId: `mic://jobs/${retry["jobId"]}`, retryMode: "safe_resume" },
      { ...retry, jobId: `https://api.example.org/sandbox/v1/mic/jobs/${retry["jobId"]}`, idempotencyKey: null },
    ]);
    const cancel = await bench().argumentsFor("cancelMicJob");
    await expectReplay(bench(), "cancel_job", cancel, [
      { ...cancel, jobId: ` ${cancel["jobId"]} `, resourceVersion: null },
    ]);
    const { referenceId, ...register } = await bench().argumentsFor("createMicPublicInput");
    await expectReplay(bench(), "register_input", { ...register, referenceId }, [
      { ...register, assetId: `${referenceId} `, inputKind: "m4_file", clientReference: null },
    ]);
  });

  test("run_job: a file's id as inputId is its referenceId", async () => {
    const { idempotencyKey: _, inputBindings, ...order } = await bench().argumentsFor("createMicJob");
    const { port } = asArguments([inputBindings].flat()[0]);
    const { referenceId } = await bench().argumentsFor("createMicPublicInput");
    const exact = { ...order, clientReference: "by file", inputs: [{ port, referenceId }] };
    const options = bench().withAdvancingClock();
    const first = await bench().ok("run_job", exact, options);
    const again = await bench().ok("run_job", { ...exact, inputs: { port, inputId: referenceId } }, options);
    expect(Object(again.structured["data"]).id).toBe(Object(first.structured["data"]).id);
  });

  test("a call with only a key may have null for every other argument", async () => {
    const args = await bench().newAction("createMicJob");
    const first = await bench().ok("submit_job", args);
    const nulls = Object.fromEntries(Object.keys(args).map((name) => [name, null]));
    const again = await bench().ok("submit_job", {
      ...nulls,
      clientReference: null,
      idempotencyKey: args["idempotencyKey"],
    });
    expect(keyOf(again.structured)).toBe(keyOf(first.structured));
    expect(again.structured).toMatchObject({ action: { replayed: true } });
  });

  test("a date without a time is that day in UTC, and a lowered maximum is reported", async () => {
    const args = { workspaceId: bench().workspaceId };
    const { structured } = await bench().ok("list_jobs", { ...args, createdSince: "2026-11-22", limit: 500 });
    expect(structured["summary"]).toMatch(
      /^createdSince 2026-11-22 was read as 2026-11-22T00:00:00Z\. limit 500 was lowered to 100, the maximum\. /,
    );
    const { jobId } = await bench().argumentsFor("getMicJob");
    const job = await bench().ok("get_job", { jobId, waitSeconds: "60" }, bench().withAdvancingClock());
    expect(job.structured["summary"]).toMatch(/^waitSeconds 60 was lowered to 45, the maximum\. /);
  });

  const refusals: readonly (readonly [string, Args, string, RegExp])[] = [
    [
      "run_job",
      { inputs: [{ port: "p", fileId: "f" }] },
      "/inputs/0/fileId",
      /known: port, inputId, referenceId, inputKind$/,
    ],
    ["run_job", { inputs: [{ port: "p", inputId: "a", referenceId: "devfile_b" }] }, "/inputs/0", /give one of them$/],
    ["run_job", { inputs: "none" }, "/inputs", /^must be a list, not a string$/],
    ["register_input", { assetId: "devfile_a", referenceId: "devfile_b" }, "/assetId", /^unknown argument; known: /],
  ];
  test.each(refusals)("%s %j: the refusal of %s is explained", async (tool, args, pointer, message) => {
    const { fieldErrors = [], text, next } = await bench().refuses(tool, args, pointer);
    const messages = fieldErrors.filter((error) => error.pointer === pointer).map((error) => error.message);
    expect(messages, text).toEqual([expect.stringMatching(message)]);
    expect(next).toBeUndefined();
  });

  test("an id that the API does not know is explained by what looks wrong with it", async () => {
    const { jobId } = await bench().argumentsFor("getMicJob");
    const { inputId } = await bench().argumentsFor("getMicPublicInput");
    const hints: readonly (readonly [string, Args, RegExp])[] = [
      ["get_job", { jobId: String(jobId).toUpperCase() }, /^jobId has capitals: /],
      [
        "get_job",
        { jobId: String(jobId).slice(0, -1) },
        /^jobId has 31 hex digits after micjob_, not 32\. Check jobId/,
      ],
      ["get_job", { jobId: String(jobId).slice("micjob_".length) }, /^jobId does not begin with micjob_, as /],
      ["get_job", { jobId: inputId }, /^jobId is an input's id\. get_input reads it\.$/],
      ["get_input", { inputId: jobId }, /^inputId is a job's id\. get_job reads it\.$/],
    ];
    for (const [tool, args, hint] of hints) expect((await bench().fails(tool, args, "not_found")).next).toMatch(hint);
    const whole = await bench().fails("get_job", { jobId: `micjob_${"0".repeat(32)}` }, "not_found");
    expect(whole.next).toMatch(/^Check jobId/);
  });

  test("a huge or deep value in another form is refused, and the server keeps running", async () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    for (const inputs of [deep, `"${"x".repeat(100_000)}"`, "[".repeat(100_000)])
      await bench().refuses("run_job", { inputs });
    await bench().refuses("wait_for_jobs", { jobIds: JSON.stringify(Array(100_000).fill("micjob_1")) }, "/jobIds");
    await bench().ok("list_states");
  });
});
