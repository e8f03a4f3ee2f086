// Tests the odd calls that assistants make: forms with one meaning are accepted, and each refusal says what to change, in plain words.
import { expect, test } from "vitest";
import { type Args, factsIn } from "./bench.ts";
import { describeLatestRevision } from "./revisions.ts";

/** Ids of resources that exist, and the default arguments. */
interface Known {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly inputId: string;
  readonly operationId: string;
  readonly versionId: string;
  readonly assetId: string;
}

type Accepted = (known: Known) => Readonly<Record<string, readonly Args[]>>;

const accepted: Accepted = ({ workspaceId, jobId, inputId, operationId, versionId, assetId }) => ({
  list_jobs: [
    { workspaceId, limit: null, cursor: null, states: null, createdSince: null, unretried: null, view: null },
    ...["5", " 5 ", 500, 101].map((limit) => ({ workspaceId, limit })),
    ...["FAILED", ["failed"], ["Failed", " PAUSED"], '["FAILED","PAUSED"]'].map((states) => ({ workspaceId, states })),
    ...["true", "TRUE", true].map((unretried) => ({ workspaceId, unretried })),
    ...["2026-11-22", " 2026-11-22 ", "2026-11-22T00:00:00Z", "2026-11-22T05:30:00+05:30"].map((createdSince) => ({
      workspaceId,
      createdSince,
    })),
    ...["FULL", "Summary"].map((view) => ({ workspaceId, view })),
    { workspaceId: ` ${workspaceId}\n` },
    { workspaceId, state: "FAILED" },
  ],
  get_job: [
    ...[` ${jobId} `, `${jobId}\n`, `mic://jobs/${jobId}`, `https://api.example.org/v1/mic/jobs/${jobId}`].map(
      (id) => ({
        jobId: id,
      }),
    ),
    { jobId, waitSeconds: null, view: null },
    ...["0", 60, "60"].map((waitSeconds) => ({ jobId, waitSeconds })),
    { jobId, view: "FULL" },
  ],
  wait_for_jobs: [
    ...[jobId, `mic://jobs/${jobId}`, [` ${jobId}`], JSON.stringify([jobId])].map((jobIds) => ({
      jobIds,
      waitSeconds: 0,
    })),
    { jobIds: [jobId], until: "ALL", waitSeconds: "0" },
    { jobIds: [jobId], until: null, waitSeconds: 0 },
  ],
  get_input: [` ${inputId}`, `mic://inputs/${inputId}`, `${inputId}\t`].map((id) => ({ inputId: id })),
  get_operation: [` ${operationId}`, `mic://operations/${operationId}`].map((id) => ({ operationId: id })),
  get_recipe: [
    { versionId: ` ${versionId}` },
    { recipeVersionId: versionId },
    { versionId: `mic://recipes/${versionId}` },
    { versionId, view: null },
  ],
  list_recipes: [
    { workspaceId, cursor: null, limit: null },
    { workspaceId, limit: "2" },
    { workspaceId, limit: 5000 },
  ],
  download_asset: [{ assetId: ` ${assetId}` }, { referenceId: assetId }],
  list_actions: [
    { state: null, limit: null },
    { state: "SUCCEEDED" },
    { state: " unknown" },
    { limit: "1" },
    { limit: 1000 },
  ],
  get_usage: ["day", " DAY", "Month", "entitlement"].map((window) => ({ workspaceId, window })),
  list_districts: ["Telangana ", " tg", "36", 36, "telangana", "TS"].map((state) => ({ state })),
  find_district: [
    { name: " Pune ", names: null, state: null, limit: null, waitSeconds: null },
    ...["Pune", ["Pune"], '["Pune","Goa"]', "Lucknow, UP"].map((names) => ({ names })),
    ...[50, "3", "50"].map((limit) => ({ name: "Pune", limit })),
    { name: "Pune", state: 27 },
    { name: "Pune", state: " mh" },
  ],
  rank_divisions: [
    { level: "STATE", by: "Name", limit: null, order: null, states: null, min: null, max: null },
    { level: "district", by: "MandalCount", order: "DESC", limit: "3" },
    { level: "district", by: "mandalCount", states: "GA", min: "1" },
    { level: "district", by: "mandalCount", states: 36, limit: 1000 },
    { level: "district", by: "mandalCount", states: '["GA","TG"]', createdSince: "2010" },
  ],
  save_table: [{ source: "LIST_DISTRICTS", arguments: '{"state":"GA"}', fileName: "goa.csv" }],
});

/** Wrong arguments, the text of the refusal, and the same call after the change that the text asks for. */
type Refused = readonly [tool: string, wrong: Args, text: RegExp, right: Args];

const noTimeZone = /^\/createdSince: needs a time zone, for example 2026-11-22T00:00:00Z$/;
const noDate = /^\/createdSince: must be a date or a date-time, for example/;
const noName = /^\/name: give name, or names for several$/;

/** Without the workspace, which `inWorkspace` adds. */
const refused = ({ jobId, versionId }: Known): readonly Refused[] => [
  ...[0, -1, "0"].map((limit): Refused => ["list_jobs", { limit }, /^\/limit: must be at least 1$/, { limit: 1 }]),
  ["list_jobs", { limit: 1.5 }, /^\/limit: must be a whole number, not a number$/, { limit: 2 }],
  ["list_jobs", { limit: "ten" }, /^\/limit: must be a (whole )?number, not a string$/, { limit: 10 }],
  ["list_jobs", { limit: [5] }, /^\/limit: must be a (whole )?number, not a list$/, { limit: 5 }],
  ["list_jobs", { unretried: "maybe" }, /^\/unretried: must be true/, { unretried: true }],
  ["list_jobs", { states: ["BROKEN"] }, /^\/states\/0: must be .*FAILED/, { states: ["FAILED"] }],
  ["list_jobs", { view: "short" }, /^\/view: must be summary or full$/, { view: "summary" }],
  ["list_jobs", { createdSince: "2026-11-22T00:00:00" }, noTimeZone, { createdSince: "2026-11-22T00:00:00Z" }],
  ["list_jobs", { createdSince: "2026-11-22 00:00" }, noTimeZone, { createdSince: "2026-11-22T00:00:00Z" }],
  ...["today", "22.11.2026", "2026-13-45"].map(
    (createdSince): Refused => ["list_jobs", { createdSince }, noDate, { createdSince: "2026-11-22" }],
  ),
  ["get_usage", {}, /^\/window: is missing: must be DAY, MONTH or ENTITLEMENT$/, { window: "DAY" }],
  ["get_usage", { window: "YEAR" }, /^\/window: must be DAY, MONTH or ENTITLEMENT$/, { window: "DAY" }],
  ["get_job", {}, /^\/jobId: is missing$/, { jobId }],
  ["get_job", { id: jobId }, /^\/id: unknown argument; known: jobId/, { jobId }],
  ["get_job", { jobId: 5 }, /^\/jobId: must be a string, not a number$/, { jobId }],
  ["get_job", { jobId, waitSeconds: -5 }, /^\/waitSeconds: must be at least 0$/, { jobId, waitSeconds: 0 }],
  ["get_recipe", {}, /^\/versionId: is missing$/, { versionId }],
  ["wait_for_jobs", { jobIds: [] }, /^\/jobIds: must name a job$/, { jobIds: [jobId], waitSeconds: 0 }],
  ["wait_for_jobs", { jobIds: [jobId, jobId] }, /^\/jobIds: must be unique$/, { jobIds: [jobId], waitSeconds: 0 }],
  ["wait_for_jobs", { jobIds: [jobId], until: "some" }, /^\/until: must be all or any$/, { jobIds: [jobId] }],
  ["find_district", {}, noName, { name: "Pune" }],
  ["find_district", { query: "Pune" }, noName, { name: "Pune" }],
  ["find_district", { name: "Pune", names: ["Goa"] }, /^\/name: give name or names, not both$/, { names: ["Goa"] }],
  ["find_district", { name: "P" }, /^\/name: must be at least 2 characters long$/, { name: "Pune" }],
  ["find_district", { name: "P".repeat(81) }, /^\/name: must be at most 80 characters long$/, { name: "Pune" }],
  ["find_district", { names: [] }, /^\/names: must have at least 1 item$/, { names: ["Pune"] }],
  [
    "rank_divisions",
    { level: "district", by: "population" },
    /^\/by: must be .*mandalCount.*; the catalog has no population/,
    { level: "district", by: "mandalCount" },
  ],
  [
    "rank_divisions",
    { level: "town", by: "name" },
    /^\/level: must be state or district; the catalog has no/,
    { level: "district", by: "name" },
  ],
  [
    "rank_divisions",
    { level: "district", by: "districtCount" },
    /^\/by: a district has mandalCount and name only$/,
    { level: "district", by: "mandalCount" },
  ],
  [
    "save_table",
    { source: "list_states", arguments: {} },
    /^\/source: must be list_jobs, list_districts or rank_divisions$/,
    { source: "list_districts", arguments: { state: "GA" }, fileName: "districts.csv" },
  ],
];

describeLatestRevision((bench) => {
  async function readKnown(): Promise<Known> {
    const [job, input, operation, recipe, asset] = await Promise.all(
      (
        [
          "getMicJob",
          "getMicPublicInput",
          "getMicPublicOperation",
          "getMicExecutableRecipe",
          "getMicPublicAssetContent",
        ] as const
      ).map((id) => bench().argumentsFor(id)),
    );
    const text = (args: Args | undefined, name: string): string => String(args?.[name]);
    return {
      workspaceId: bench().workspaceId,
      jobId: text(job, "jobId"),
      inputId: text(input, "inputId"),
      operationId: text(operation, "operationId"),
      versionId: text(recipe, "versionId"),
      assetId: text(asset, "assetId"),
    };
  }

  test("every form of an argument with one meaning is accepted", async () => {
    const options = bench().withAdvancingClock();
    for (const [tool, calls] of Object.entries(accepted(await readKnown())))
      for (const args of calls) {
        const { isError, text } = await bench().call(tool, args, options);
        expect(isError, `${tool} ${JSON.stringify(args)}: ${text}`).toBe(false);
      }
  });

  const inWorkspace = (tool: string, args: Args): Args =>
    ["list_jobs", "get_usage"].includes(tool) ? { workspaceId: bench().workspaceId, ...args } : args;

  test("each refusal is one plain sentence, and the change that it asks for is enough", async () => {
    for (const [tool, wrong, text, right] of refused(await readKnown())) {
      const { fieldErrors = [] } = await bench().refuses(tool, inWorkspace(tool, wrong));
      const texts = fieldErrors.map(({ pointer, message }) => `${pointer}: ${message}`);
      const call = `${tool} ${JSON.stringify(wrong)}`;
      expect(
        texts.filter((each) => text.test(each)),
        `${call}: ${texts.join("; ")}`,
      ).toHaveLength(1);
      expect(
        factsIn(texts).filter((each) => /Too |Invalid |expected/.test(each)),
        call,
      ).toEqual([]);
      const fixed = await bench().call(tool, inWorkspace(tool, right), bench().withAdvancingClock());
      expect(fixed.isError, `${tool} ${JSON.stringify(right)}: ${fixed.text}`).toBe(false);
    }
  });
});
