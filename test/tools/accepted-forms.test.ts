// Tests accepted forms of arguments (docs/interface.md, "Accepted forms"): each is rewritten to the exact form of the same action.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tools } from "../../tools/index.ts";
import { runCount } from "../support/thorough.ts";
import { words } from "../support/words.ts";
import { type Args, type Bench, factsIn } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

const exactOf = (tool: string, args: Args) => tools.find(({ name }) => name === tool)?.toExact(args).arguments;
const none = (...names: readonly string[]): Args => Object.fromEntries(names.map((name) => [name, null]));

/** The forms of one argument: its exact value, and others with the same meaning. */
type Forms = readonly [tool: string, argument: string, exact: unknown, ...forms: readonly unknown[]];

const jobs = "https://api.example.org/v1/mic/jobs";
const recipe = `micrecipev_${"0".repeat(32)}`;
const usualId = `micjob_${"a".repeat(32)}`;
const file = "devfile_0";
const bindings = [{ port: "p", inputId: "micinput_1" }];
const values = { year: 2026, deep: { list: ["1", " a ", null] } };

const midnight = { createdSince: "2026-11-22T00:00:00Z" };
const byMandals = { level: "district", by: "mandalCount" };
const acquisition = { inputKind: "ACQUISITION", referenceId: "b" };
const unretried = { unretried: false };

const forms: readonly Forms[] = [
  ["get_job", "jobId", "micjob_1", " micjob_1 ", "micjob_1\n", "\u00a0micjob_1"],
  ["get_job", "jobId", "micjob_1", "mic://jobs/micjob_1", `${jobs}/micjob_1`],
  ["get_job", "jobId", usualId, usualId.toUpperCase()],
  ["wait_for_jobs", "jobIds", [usualId], [usualId, usualId.toUpperCase()]],
  ["get_job", "jobId", "9.a:b-c", "mic://jobs/9.a%3Ab-c"],
  ["get_job", "waitSeconds", 45, "45", " 45 ", 60, "60", 10 ** 15],
  ["get_job", "view", "full", "FULL", " Full\t"],
  ["wait_for_jobs", "jobIds", ["a"], "a", " a", "mic://jobs/a", [" a"], '["a"]', '["mic://jobs/a"]'],
  ["wait_for_jobs", "jobIds", ["a", "b"], '["a","b"]', ["a ", `${jobs}/b`]],
  ["get_file_processing_request", "requestId", "r", "mic://processing-requests/r"],
  ["get_recipe", "versionId", recipe, `mic://recipes/${recipe}`, `https://h/v1/mic/recipe-versions/${recipe}`],
  ["list_jobs", "limit", 5, "5", " 5 "],
  ["list_jobs", "limit", 100, 101, 5000, "500"],
  ["list_jobs", "states", ["FAILED"], "FAILED", ["failed"], "Failed", '["FAILED"]'],
  ["list_jobs", "states", ["FAILED", "PAUSED"], '["FAILED","PAUSED"]', ["Failed", " paused"]],
  ["list_jobs", "unretried", true, "true", "TRUE", " True"],
  ["list_jobs", "createdSince", "2026-11-22T00:00:00Z", "2026-11-22", " 2026-11-22 "],
  ["list_jobs", "createdSince", "2020-01-01T00:00:00Z", 2020, "2020", " 2020 "],
  ["list_jobs", "createdBefore", "2026-11-22T00:00:00Z", "2026-11-22"],
  ["list_jobs", "updatedSince", "2020-01-01T00:00:00Z", 2020],
  ["list_jobs", "recipeVersionId", recipe, `mic://recipes/${recipe}`],
  ["rank_divisions", "createdSince", 2020, "2020", "2020-05-01", "2020-05-01T10:00:00Z"],
  ["retry_jobs", "createdSince", "2020-01-01T00:00:00Z", 2020],
  ["rank_divisions", "order", "desc", "descending", "DESC"],
  ["rank_divisions", "order", "asc", "Ascending"],
  ["list_jobs", "states", ["CANCELLED"], "CANCELED", ["canceled"]],
  ["list_jobs", "createdSince", "2026-11-22T09:30:00Z", "2026-11-22T09:30:00", "2026-11-22 09:30"],
  ["list_jobs", "createdSince", "2026-11-22T05:30:00+05:30", " 2026-11-22T05:30:00+05:30"],
  ["list_actions", "state", "unknown", " unknown", "UNKNOWN"],
  ["get_usage", "window", "DAY", "day", " DAY", "Day"],
  ["list_districts", "state", "36", 36, " 36 "],
  ["find_district", "limit", 20, "20", 50],
  ["find_district", "names", ["Pune"], "Pune", '["Pune"]'],
  ["find_district", "names", ["Lucknow, UP"], "Lucknow, UP"],
  ["find_district", "name", "490", 490],
  ["find_district", "names", ["490", "Pune"], [490, "Pune"]],
  ["rank_divisions", "by", "mandalCount", "MandalCount", "MANDALCOUNT", "tehsils", "Taluks", "mandals"],
  ["rank_divisions", "level", "district", "districts"],
  ["rank_divisions", "level", "state", "States"],
  ["run_job", "inputs", [{ port: "p", referenceId: file }], { p: file }, [{ port: "p", fileId: file }]],
  ["run_job", "inputs", [{ port: "p", inputId: "micinput_1" }], { p: "micinput_1" }],
  ["run_job", "inputs", [{ referenceId: file }], file, [file]],
  ["run_job", "inputs", [{ inputId: "micinput_1" }, { referenceId: file }], ["micinput_1", file]],
  ["run_jobs", "files", [file], [file, ` ${file}`], file],
  ["rank_divisions", "states", ["36"], 36, [36], "36"],
  ["list_jobs", "states", ["FAILED", "PAUSED"], "failed, PAUSED"],
  ["rank_divisions", "min", 1, "1"],
  ["save_table", "source", "list_districts", "LIST_DISTRICTS"],
  ["save_table", "arguments", { state: "GA" }, '{"state":"GA"}'],
  ["submit_job", "recipeVersionId", recipe, ` ${recipe}\n`, `mic://recipes/${recipe}`],
  ["submit_job", "inputBindings", bindings, JSON.stringify(bindings), bindings[0], [JSON.stringify(bindings[0])]],
  ["submit_job", "inputBindings", bindings, [{ port: " p", inputId: "mic://inputs/micinput_1" }]],
  ["submit_job", "parameterValues", values, JSON.stringify(values)],
  ["retry_job", "retryMode", "SAFE_RESUME", "safe_resume", "resume"],
  ["register_input", "inputKind", "M4_FILE", "m4_file"],
  ["request_file_processing", "expiresAt", "2026-11-20T04:30:00.5Z", "2026-11-20T10:00:00.5+05:30"],
];

describe("argument forms", () => {
  const cases = forms.map(([tool, argument, ...values]) => ({ tool, argument, values }));
  test.each(cases)("$tool: each accepted form of $argument becomes $values.0", ({ tool, argument, values }) => {
    for (const form of values) expect(exactOf(tool, { [argument]: form })).toEqual({ [argument]: values[0] });
  });

  test.each([
    ["get_recipe", { recipeVersionId: recipe }, { versionId: recipe }],
    ["submit_job", { versionId: recipe }, { recipeVersionId: recipe }],
    ["download_asset", { referenceId: " a" }, { assetId: "a" }],
    ["register_input", { assetId: "devfile_1 " }, { referenceId: "devfile_1", inputKind: "M4_FILE" }],
    ["register_input", { fileId: "devsignfile_1" }, { referenceId: "devsignfile_1", inputKind: "M4_FILE" }],
    ["register_input", { fileId: "dataset" }, { referenceId: "dataset" }],
    ["run_jobs", { fileIds: [file] }, { files: [file] }],
    ["run_jobs", { recipe, file, parameters: {} }, { recipeVersionId: recipe, files: [file], parameterValues: {} }],
    ["get_job", { id: "micjob_1" }, { jobId: "micjob_1" }],
    ["get_job", { jobIds: ["micjob_1"] }, { jobId: "micjob_1" }],
    ["get_recipe", { id: recipe }, { versionId: recipe }],
    ["wait_for_jobs", { job_id: "micjob_1" }, { jobIds: ["micjob_1"] }],
    ["wait_for_jobs", { ids: ["micjob_1", "micjob_2"] }, { jobIds: ["micjob_1", "micjob_2"] }],
    ["list_jobs", none("limit", "cursor", "states", "createdSince", "unretried", "view"), {}],
    ["find_district", none("names", "state", "limit", "waitSeconds"), {}],
    ["rank_divisions", { states: "all" }, {}],
    ["rank_divisions", { states: ["All"] }, {}],
    ["find_district", { state: "ALL" }, {}],
    ["list_jobs", { states: "all" }, {}],
    ["list_districts", { state: "all" }, { state: "all" }],
    ["submit_job", none("clientReference", "idempotencyKey"), { clientReference: null }],
    ["list_jobs", { cursor: "", states: [], createdSince: "", view: "", workspaceId: "", unretried: false }, unretried],
    ["list_jobs", { limit: 0, states: ["null"], status: "", since: [], unretried: false }, unretried],
    ["find_district", { name: "Pune", names: ["undefined", ""], state: "" }, { name: "Pune" }],
    ["rank_divisions", { ...byMandals, states: [], startsWith: "", min: "", max: 0 }, { ...byMandals, max: 0 }],
    ["download_asset", { assetId: "a", fileName: "" }, { assetId: "a" }],
    ["list_actions", { state: "" }, {}],
    ["register_input", { ...acquisition, alias: "", clientReference: "", workspaceId: "" }, acquisition],
    ["submit_job", { clientReference: "" }, {}],
    // The key of an action is never left out, nor what the action is about.
    ["register_input", { ...acquisition, idempotencyKey: "" }, { ...acquisition, idempotencyKey: "" }],
    ["retry_jobs", { jobIds: [], createdSince: "" }, { jobIds: [], createdSince: "" }],
    ["run_jobs", { port: "" }, { port: "" }],
    ["get_job", { jobId: "" }, { jobId: "" }],
  ])("%s: %j has the exact form %j", (tool, form, exact) => {
    expect(exactOf(tool, form)).toEqual(exact);
  });

  test("free text, keys, cursors, file names and parameterValues are never changed", () => {
    const names = words("reason purpose clientReference alias idempotencyKey cursor fileName");
    const texts = fc.oneof(
      fc.string({ unit: "grapheme", minLength: 1 }),
      fc.constantFrom(" 5 ", "TRUE", "[1]", "mic://jobs/a"),
    );
    const property = fc.property(texts, fc.dictionary(fc.string(), fc.jsonValue()), (text, object) => {
      const parameterValues = JSON.parse(JSON.stringify(object));
      const args = { ...Object.fromEntries(names.map((name) => [name, text])), parameterValues };
      for (const tool of tools) {
        const own = Object.fromEntries(Object.entries(args).filter(([name]) => tool.argumentNames.includes(name)));
        expect(tool.toExact(own).arguments).toEqual(own);
      }
    });
    fc.assert(property, { numRuns: runCount(60, 1000) });
  });
});

/** Names that are not arguments of a read, and the arguments that they are read as (docs/interface.md, "Near misses"). */
const nearMisses: readonly (readonly [tool: string, given: Args, exact: Args])[] = [
  ["list_jobs", { state: "failed" }, { states: ["FAILED"] }],
  ["list_jobs", { status: ["FAILED", "paused"] }, { states: ["FAILED", "PAUSED"] }],
  ["list_jobs", { since: "2026-11-22T00:00:00Z" }, { createdSince: "2026-11-22T00:00:00Z" }],
  [
    "list_jobs",
    { recipe, endedSince: "2026-11-22T00:00:00Z" },
    { recipeVersionId: recipe, updatedSince: "2026-11-22T00:00:00Z" },
  ],
  ["list_jobs", { workspace_id: "w", "Created-Since": "2026-11-22T00:00:00Z" }, { workspaceId: "w", ...midnight }],
  ["list_jobs", { state: null, states: ["FAILED"] }, { states: ["FAILED"] }],
  ["list_actions", { status: "Unknown" }, { state: "unknown" }],
  ["list_actions", { states: ["rejected"] }, { state: "rejected" }],
  ["list_districts", { states: ["GA"] }, { state: "GA" }],
  ["list_districts", { stateCode: 36 }, { state: "36" }],
  ["find_district", { query: "Pune" }, { name: "Pune" }],
  ["find_district", { lgdCode: 490 }, { name: "490" }],
  ["find_district", { district: ["Pune", "Goa"] }, { names: ["Pune", "Goa"] }],
  ["find_district", { district_name: "Pune", states: "MH" }, { name: "Pune", state: "MH" }],
  ["rank_divisions", { ...byMandals, state: "Telangana" }, { ...byMandals, states: ["Telangana"] }],
  [
    "rank_divisions",
    { ...byMandals, since: "2020", prefix: "A" },
    { ...byMandals, createdSince: 2020, startsWith: "A" },
  ],
  ["rank_divisions", { ...byMandals, per_state: "1" }, { ...byMandals, perState: 1 }],
  ["show_divisions", { level: "district", state: "GA" }, { level: "district", states: ["GA"] }],
  ["show_actions", { status: "unknown" }, { state: "unknown" }],
];

/** Both names of one argument, and the argument to keep by the refusal. */
const givenTwice: readonly (readonly [tool: string, given: Args, pointer: string, kept: string])[] = [
  ["list_jobs", { state: "FAILED", states: ["PAUSED"] }, "/state", "states"],
  ["list_jobs", { state: "FAILED", status: "FAILED" }, "/status", "states"],
  ["list_jobs", { ...midnight, created_since: "2026-11-20" }, "/created_since", "createdSince"],
  ["list_districts", { state: "GA", states: ["TG"] }, "/states", "state"],
  ["find_district", { name: "Pune", names: ["Goa"], query: "Goa" }, "/query", "name"],
  ["rank_divisions", { ...byMandals, states: ["TG"], state: "TG" }, "/state", "states"],
];

/** Wrong arguments, the text of the refusal, and the same call after the change that the text asks for. */
type Refused = readonly [tool: string, wrong: Args, text: RegExp, right: Args];

const jobId = "micjob_1";
const noDate = /^\/createdSince: must be a date or a date-time, for example/;
const noName = /^\/name: give either name or names$/;
const noSource =
  /^\/source: must be list_jobs, list_districts or rank_divisions; for list_states use rank_divisions with level state$/;
const noList = /^\/inputs: must be a list, not a string$/;
const oneOfTwo = /^\/inputs\/0: .*give one of them$/;
const goa = { source: "list_districts", arguments: { state: "GA" }, fileName: "a" };
const ids = { inputs: [{ port: "p", inputId: "a" }], recipeVersionId: recipe, parameterValues: {} };

const retry = { retryMode: "SAFE_RESUME", reason: "again" };
const retryOne = { ...retry, jobIds: [jobId], waitSeconds: 0 };
const eitherOr = /^\/jobIds: give either jobIds or createdSince$/;
const withIds = /^\/jobIds: excludes createdBefore, failureCode and limit, which go with createdSince$/;
const noRestart = /^\/retryMode: must be SAFE_RESUME with createdSince; RESTART needs jobIds$/;
const wholeWait = /^\/waitSeconds: must be a whole number from 0 to 45$/;
const fileRule =
  /^\/(referenceId|files\/0|inputs\/0\/referenceId): must be the id of a file \(M4_FILE\), which begins with/;
const onlyForFiles = /^\/inputs\/0\/inputKind: is only for a referenceId$/;
const samePort = { ...ids, inputs: [...ids.inputs, { port: "p", inputId: "b" }] };
const sameInput = { ...ids, inputs: [...ids.inputs, { port: "q", inputId: "a" }] };
const submission = { recipeVersionId: recipe, inputBindings: bindings, parameterValues: {} };
const noRecipe = /^\/recipeVersionId: must be micrecipev_ followed by/;
const manyFiles = { recipeVersionId: recipe, parameterValues: {}, files: [file] };

const absentText = (name: string, text = "null"): RegExp =>
  new RegExp(`^/${name}: must not be the text "${text}"; leave it out if there is none$`);

const refused: readonly Refused[] = [
  ["retry_jobs", retry, eitherOr, retryOne],
  ["retry_jobs", { ...retryOne, ...midnight }, eitherOr, retryOne],
  ["submit_job", { ...submission, recipeVersionId: "Normalize" }, noRecipe, submission],
  ["retry_jobs", { ...retryOne, limit: 5 }, withIds, retryOne],
  ["retry_jobs", { ...retry, ...midnight, retryMode: "RESTART" }, noRestart, { ...retry, ...midnight, waitSeconds: 0 }],
  ["retry_jobs", { ...retryOne, waitSeconds: "soon" }, wholeWait, retryOne],
  ["run_job", { ...ids, inputs: [{ port: "p" }] }, /^\/inputs\/0: must have inputId or referenceId$/, ids],
  ["run_job", { ...ids, inputs: [{ port: "p", inputId: "a", inputKind: "M4_FILE" }] }, onlyForFiles, ids],
  ["run_job", { ...ids, inputs: [{ port: "p", referenceId: "b" }] }, fileRule, ids],
  ["run_job", samePort, /^\/inputs: must have unique ports$/, ids],
  ["run_job", sameInput, /^\/inputs: must name each input once$/, ids],
  ["run_job", { ...ids, inputs: [] }, /^\/inputs: must have at least 1 item$/, ids],
  ["run_jobs", { ...manyFiles, files: [] }, /^\/files: must have at least 1 item$/, manyFiles],
  ["run_jobs", { ...manyFiles, files: ["b"] }, fileRule, manyFiles],
  ["register_input", { inputKind: "M4_FILE", referenceId: "b" }, fileRule, acquisition],
  ["register_input", { ...acquisition, idempotencyKey: "null" }, absentText("idempotencyKey"), acquisition],
  ["register_input", { ...acquisition, alias: "undefined" }, absentText("alias", "undefined"), acquisition],
  ["download_asset", { assetId: "a", fileName: "null" }, absentText("fileName"), { assetId: "a" }],
  ["find_district", { name: "null" }, absentText("name"), { name: "Pune" }],
  ["list_jobs", { cursor: "undefined" }, absentText("cursor", "undefined"), {}],
  ["cancel_job", { jobId, reason: "" }, /^\/reason: must be 1 to 1000 characters long$/, { jobId, reason: "done" }],
  ["cancel_job", { jobId, reason: "x", idempotencyKey: "" }, /^\/idempotencyKey: /, { jobId, reason: "x" }],
  ["list_districts", { state: "!!" }, /^\/state: must be a state's code, name or LGD code$/, { state: "GA" }],
  ["find_district", { names: ["a"] }, /^\/names\/0: must be at least 2 characters long$/, { names: ["Goa"] }],
  ["rank_divisions", { ...byMandals, offset: 10 ** 7 }, /^\/offset: must be at most \d+$/, byMandals],
  ["save_table", { ...goa, fileName: "../a" }, /^\/fileName: /, { ...goa, fileName: "b" }],
  ["cancel_job", { jobId, reason: " " }, /^\/reason: must not be blank$/, { jobId, reason: "done" }],
  ["list_jobs", { limit: -1 }, /^\/limit: must be at least 1$/, { limit: 1 }],
  ["list_jobs", { limit: 1.5 }, /^\/limit: must be a whole number, not a number$/, { limit: 2 }],
  ["list_jobs", { limit: "ten" }, /^\/limit: must be a (whole )?number, not a string$/, { limit: 10 }],
  ["list_jobs", { unretried: "maybe" }, /^\/unretried: must be true/, { unretried: true }],
  ["list_jobs", { states: ["BROKEN"] }, /^\/states\/0: must be .*FAILED/, { states: ["FAILED"] }],
  ["list_jobs", { view: "short" }, /^\/view: must be summary or full$/, { view: "summary" }],
  ["list_jobs", { createdSince: "2026-13-45" }, noDate, midnight],
  ["get_job", {}, /^\/jobId: is missing$/, { jobId }],
  ["cancel_job", { id: jobId, reason: "done" }, /^\/id: unknown argument; use jobId$/, { jobId, reason: "done" }],
  ["cancel_job", { jobIds: [jobId], reason: "x" }, /^\/jobIds: unknown argument; use jobId$/, { jobId, reason: "x" }],
  ["get_job", { identifier: jobId }, /^\/identifier: unknown argument; known: jobId/, { jobId }],
  ["get_job", { jobId: 5 }, /^\/jobId: must be a string, not a number$/, { jobId }],
  ["get_job", { jobId, waitSeconds: -5 }, /^\/waitSeconds: must be at least 0$/, { jobId, waitSeconds: 0 }],
  ["wait_for_jobs", { jobIds: [] }, /^\/jobIds: must have at least 1 item$/, { jobIds: [jobId], waitSeconds: 0 }],
  ["find_district", {}, noName, { name: "Pune" }],
  ["find_district", { town: "Pune" }, /^\/town: unknown argument; known: name, names, /, { name: "Pune" }],
  ["list_jobs", { recipe: "x" }, /^\/recipeVersionId: must be micrecipev_ followed by/, { recipe }],
  ["list_jobs", { failureCode: "x" }, /^\/failureCode: .* states \["FAILED"\] groups jobs by .*; known: /, {}],
  ["list_jobs", { state: "BROKEN" }, /^\/states\/0: must be .*FAILED/, { states: ["FAILED"] }],
  ["find_district", { name: "Pune", names: ["Goa"] }, noName, { names: ["Goa"] }],
  ["find_district", { name: "P".repeat(81) }, /^\/name: must be at most 80 characters long$/, { name: "Pune" }],
  ["rank_divisions", { ...byMandals, by: "population" }, /^\/by: .* no population/, byMandals],
  ["rank_divisions", { ...byMandals, level: "town" }, /^\/level: .* the catalog/, byMandals],
  ["rank_divisions", { ...byMandals, by: "districtCount" }, /^\/by: /, byMandals],
  ["save_table", { source: "list_states" }, noSource, goa],
  ["run_job", { ...ids, inputs: "none" }, noList, ids],
  ["run_job", { ...ids, inputs: [{ port: "p", inputId: "a", referenceId: "devfile_b" }] }, oneOfTwo, ids],
  ["run_job", { ...ids, inputs: [{ port: "p", fileId: "f" }] }, fileRule, ids],
  ["register_input", { assetId: "a", referenceId: "b" }, /^\/assetId: unknown argument; known: /, acquisition],
];

async function expectReplay(bench: Bench, tool: string, exact: Args, ...others: readonly Args[]): Promise<void> {
  const { idempotencyKey } = Object((await bench.ok(tool, exact)).structured["action"]);
  const action = { idempotencyKey, replayed: true };
  for (const form of others) expect((await bench.ok(tool, form)).structured).toMatchObject({ action });
}

const inWorkspace = (tool: string, workspaceId: string, args: Args): Args =>
  tools.find(({ name }) => name === tool)?.argumentNames.includes("workspaceId") ? { workspaceId, ...args } : args;

describeLatestRevision((bench) => {
  test.each(nearMisses)("%s reads the near misses %j as %j, and reports them", async (tool, given, exact) => {
    expect(exactOf(tool, given)).toEqual(exact);
    const { workspaceId } = bench();
    const asked = inWorkspace(tool, workspaceId, given);
    const renamed = Object.keys(given).filter((name) => !Object.hasOwn(exact, name) && given[name] !== null);
    const answer = await bench().call(tool, {
      ...asked,
      ...(renamed.includes("workspace_id") && { workspaceId: null, workspace_id: workspaceId }),
    });
    expect(answer.error, answer.text).toBeUndefined();
    for (const name of renamed) expect(answer.structured?.["summary"]).toContain(`"${name}" was read as "`);
  });

  test.each(givenTwice)(
    "%s refuses %j, because %s is another name of an argument that is also given",
    async (tool, given, pointer, kept) => {
      const { text } = await bench().refuses(tool, inWorkspace(tool, bench().workspaceId, given), pointer);
      expect(text).toContain(`unknown argument; remove it, because ${kept} is also given`);
    },
  );

  test.each(refused)(
    "%s %j is refused with one plain sentence, and the requested change makes the arguments valid",
    async (tool, wrong, text, right) => {
      const { workspaceId } = bench();
      const call = inWorkspace(tool, workspaceId, wrong);
      const { fieldErrors = [] } = await bench().expectNothingSent(() => bench().refuses(tool, call));
      const texts = fieldErrors.map(({ pointer, message }) => `${pointer}: ${message}`);
      expect(
        texts.filter((each) => text.test(each)),
        texts.join("; "),
      ).toHaveLength(1);
      expect(factsIn(texts).filter((each) => /Too |Invalid |expected/.test(each))).toEqual([]);
      const fixed = await bench().call(tool, inWorkspace(tool, workspaceId, right), bench().withAdvancingClock());
      expect(fixed.error?.kind, fixed.text).not.toBe("invalid_arguments");
    },
  );

  test("a call with an accepted form of its arguments, or with only the key, is the same action as the exact call", async () => {
    const job = await bench().newAction("createMicJob");
    const onlyKey = { ...none(...Object.keys(job)), idempotencyKey: job["idempotencyKey"] };
    const inputBindings = JSON.stringify(job["inputBindings"]);
    await expectReplay(bench(), "submit_job", job, { ...job, inputBindings }, onlyKey);
    const cancel = await bench().argumentsFor("cancelMicJob");
    const otherForm = { ...cancel, jobId: ` ${cancel["jobId"]} `, resourceVersion: null };
    await expectReplay(bench(), "cancel_job", cancel, otherForm);
  });

  test("a date without a time is read as the start of that day in UTC, and a lowered limit is reported", async () => {
    const args = { workspaceId: bench().workspaceId, createdSince: "2026-11-22", limit: 500 };
    expect((await bench().ok("list_jobs", args)).structured["summary"]).toMatch(
      /^createdSince 2026-11-22 was read as 2026-11-22T00:00:00Z\. limit 500 was lowered to 100, the maximum\. /,
    );
  });

  test("today and yesterday are days in UTC", () => {
    for (const [word, daysAgo] of [
      ["today", 0],
      ["Yesterday", 1],
    ] as const) {
      const dayOf = (ms: number) => `${new Date(ms - daysAgo * 86_400_000).toISOString().slice(0, 10)}T00:00:00Z`;
      const before = dayOf(Date.now());
      const exact = exactOf("retry_jobs", { createdSince: word })?.["createdSince"];
      expect([before, dayOf(Date.now())]).toContain(exact);
    }
  });

  test("the error for an id that the API does not have explains what looks wrong with the id", async () => {
    const { jobId } = await bench().argumentsFor("getMicJob");
    const { inputId } = await bench().argumentsFor("getMicPublicInput");
    const hints: readonly (readonly [string, Args, RegExp, RegExp])[] = [
      ["get_job", { jobId: String(jobId).slice(0, -1) }, / jobId has 31 hex digits after micjob_, not 32\.$/, /^Check/],
      [
        "get_job",
        { jobId: String(jobId).slice("micjob_".length) },
        / jobId needs 32 hex digits after micjob_\.$/,
        /^Check/,
      ],
      ["get_job", { jobId: inputId }, / jobId is an input's id\.$/, /^Read it with get_input\.$/],
      ["get_job", { jobId: `micjob_${"0".repeat(32)}` }, /"\.$/, /^Check jobId/],
      ["get_input", { inputId: jobId }, / inputId is a job's id\.$/, /^Read it with get_job\.$/],
    ];
    for (const [tool, args, message, next] of hints) {
      const error = await bench().fails(tool, args, "not_found");
      expect(error.message).toMatch(message);
      expect(error.next).toMatch(next);
    }
  });

  test("a huge or deep value in another form is refused, and the server keeps running", async () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    for (const inputs of [deep, `"${"x".repeat(100_000)}"`, "[".repeat(100_000)])
      await bench().refuses("run_job", { inputs });
    await bench().refuses(
      "wait_for_jobs",
      { jobIds: JSON.stringify(Array.from({ length: 100_000 }, (_, at) => `micjob_${at}`)) },
      "/jobIds",
    );
    await bench().ok("list_states");
  });
});

describeLatestRevision(
  (bench) => {
    test("the workspace given as workspace_id is used instead of the default workspace", async () => {
      const workspaceId = bench().workspaceId;
      const summary = expect.stringMatching(/^"workspace_id" was read as "workspaceId"\. /);
      const args = { workspace_id: workspaceId, state: "FAILED" };
      expect((await bench().ok("list_jobs", args)).structured).toMatchObject({ summary });
      const saved = { source: "list_jobs", arguments: args, fileName: "all.csv" };
      expect((await bench().ok("save_table", saved)).structured).toMatchObject({ summary });
      await bench().fails("list_jobs", {}, "forbidden");
    });
  },
  { env: { MIC_WORKSPACE_ID: "micws_00000000000000000000000000000000" } },
);
