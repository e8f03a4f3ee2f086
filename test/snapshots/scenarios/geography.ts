// Scenarios of the geography tools: matches, ambiguous names and missing data.
import { PLAYGROUND_CONTRACT } from "../../../src/contract/playground.ts";
import type { Args, Recorder, Scenario } from "../recorder.ts";
import { recordReadFailures } from "./failures.ts";

const recordListStates: Scenario = async (recorder) => {
  await recorder.record("All states");
  await recorder.restart();
  const body = JSON.stringify({ contract: PLAYGROUND_CONTRACT, states: [] });
  await recorder.service.injectFault({ kind: "body", body }, { operationId: "listPlaygroundStates" });
  await recorder.record("None, and no vintage stated");
  await recordReadFailures(recorder, "listPlaygroundStates", {}, { state: "TG" });
};

const recordListDistricts: Scenario = async (recorder) => {
  const args = { state: "TG" };
  await recorder.record("A state's districts", args);
  await recorder.record("By the state's name", { state: "Goa" });
  await recorder.record("By a former code", { state: "OR" });
  await recorder.record("Where the catalogue lists none", { state: "WB" });
  await recorder.record("No such state", { state: "ZZ" }, "not_found");
  await recorder.record("No such state by name", { state: "Atlantis" }, "not_found");
  await recordReadFailures(recorder, "listPlaygroundDistricts", args, { state: "T1" }, "INVALID");
};

const recordGetGeographyOpenapi: Scenario = async (recorder) => {
  await recorder.record("The document");
  await recordReadFailures(recorder, "getPlaygroundOpenApi", {}, { version: "3.1" });
};

const injectDistrictErrors = (recorder: Recorder, ...codes: readonly string[]) =>
  recorder.service.admin("POST", "geography", {
    districts: Object.fromEntries(codes.map((code) => [code, { status: 502 }])),
  });

const recordFindDistrict: Scenario = async (recorder) => {
  await recorder.record("Exact", { name: "Nizamabad" });
  await recorder.record("Ambiguous: in more than one state", { name: "Hamirpur" });
  await recorder.record("By a former name", { name: "Allahabad" });
  await recorder.record("By the town it is governed from", { name: "Panaji" });
  await recorder.record("Misspelt", { name: "Nizambad" });
  await recorder.record("A former name, misspelt", { name: "Alahabad" });
  await recorder.record("In an Indian script, with district and state", { name: "जिला पटना, बिहार" });
  await recorder.record("In one state", { name: "Bilaspur", state: "Chhattisgarh" });
  await recorder.record("Where the catalogue lists none", { name: "Kolkata" });
  await recorder.record("With its state in the name", { name: "Patna, Bihar" });
  await recorder.record("With another state in the name", { name: "Lucknow, Bihar" });
  await recorder.record("The name of a state", { name: "Kerala" });
  await recorder.record("Several names", { names: ["Nizamabad", "Allahabad", "Hamirpur", "Nowhereville"] });
  await recorder.record("Name and names", { name: "Nizamabad", names: ["Nizamabad"] }, "invalid_arguments CONFLICT");
  await recorder.record("Not found", { name: "Nowhereville" });
  await recorder.record("Abolished", { name: "Anupgarh" });
  await recorder.record("Part of names", { name: "Nagar", limit: 3 });
  await recorder.record("Not found in one state", { name: "Nizamabad", state: "goa" });
  await recorder.record("No such state", { name: "Nizamabad", state: "Atlantis" }, "not_found");
  await recorder.restart();
  await injectDistrictErrors(recorder, "TG", "UP");
  await recorder.record("Found, though not everything could be read", { name: "Hamirpur" });
  await recorder.record("Not found, and not everything could be read", { name: "Nizamabad" });
  await recorder.service.admin("DELETE", "geography");
  await recorder.restart({ MIC_GEOGRAPHY_RATE_LIMIT: "28" });
  await recorder.record("Nothing read yet", { name: "Nowhereville", waitSeconds: 0 });
  await recorder.call("rank_divisions", { level: "district", by: "mandalCount", waitSeconds: 5 });
  await recorder.record("Not everything read yet: the rate", { name: "Nowhereville" });
  await recorder.record("Found, and not everything read yet", { name: "Nizamabad" });
  await recorder.record("Several names, and not everything read yet", { names: ["Nizamabad", "Nowhereville"] });
  await recordReadFailures(
    recorder,
    "listPlaygroundStates",
    { name: "Nizamabad" },
    { name: "N", limit: 50 },
    "INVALID",
  );
};

const recordRankDivisions: Scenario = async (recorder) => {
  const top: Args = { level: "district", by: "mandalCount", limit: 3 };
  await recorder.record("The top districts", top);
  await recorder.record("States by their districts", { level: "state", by: "districtCount", limit: 5 });
  await recorder.record("All states", { level: "state", by: "districtCount", limit: 36 });
  await recorder.record("All states by a ratio", { level: "state", by: "mandalsPerDistrict", limit: 36 });
  await recorder.record("75 districts of the country", { ...top, limit: 75 });
  await recorder.record("Three districts of each state", { level: "district", by: "name", perState: 3 });
  const bounded = { ...top, states: ["TG", "Goa"], min: 10, max: 25, order: "asc" };
  await recorder.record("In some states, within bounds", bounded);
  await recorder.record("Nothing within the bounds", { ...top, min: 1000 });
  await recorder.record("The next page", { ...top, offset: 3 });
  await recorder.record("Beyond the last page", { ...top, offset: 900 });
  await recorder.record("The first of each state", { ...top, limit: 5, perState: 1 });
  await recorder.record("Names that begin so", { level: "district", by: "name", startsWith: "bij" });
  await recorder.record("New and restored districts of a state", { ...top, states: ["AS"], createdSince: 2022 });
  await recorder.record("Created since a year before the record", { ...top, states: ["UK"], createdSince: 2000 });
  await recorder.record("A near miss of an argument", { ...top, limit: 1, state: "Telangana" });
  await recorder.record(
    "A near miss and the argument",
    { ...top, state: "Telangana", states: ["Goa"] },
    "invalid_arguments UNKNOWN_ARGUMENT",
  );
  await recorder.record("No such state", { ...top, states: ["Atlantis"] }, "not_found");
  await recorder.record(
    "A figure that districts have not",
    { ...top, by: "districtCount" },
    "invalid_arguments CONFLICT",
  );
  await recorder.restart();
  await injectDistrictErrors(recorder, "UP", "LD");
  await recorder.record("Not everything could be read", top);
  await recorder.service.admin("DELETE", "geography");
  await recorder.restart({ MIC_GEOGRAPHY_RATE_LIMIT: "28" });
  await recorder.record("Exact before everything is read: the rate", top);
  await recorder.record("Not exact yet: the rate", { ...top, order: "asc" });
  await recordReadFailures(
    recorder,
    "listPlaygroundStates",
    top,
    { level: "village", by: "mandalCount" },
    "INVALID_VALUE",
  );
};

const recordSaveTable: Scenario = async (recorder) => {
  const goa: Args = { source: "list_districts", arguments: { state: "Goa" }, fileName: "goa.csv" };
  const ranking: Args = { source: "rank_divisions", arguments: { level: "district", by: "mandalCount" } };
  await recorder.record("The districts of a state", goa);
  await recorder.record("The name is taken", goa, "invalid_arguments ALREADY_EXISTS");
  await recorder.record("A ranking", { ...ranking, fileName: "districts.csv" });
  const jobs = { source: "list_jobs", arguments: { workspaceId: recorder.workspaceId }, fileName: "jobs.csv" };
  await recorder.record("The jobs of a workspace", jobs);
  await recorder.record(
    "Wrong arguments of the listing call",
    { ...goa, arguments: {}, fileName: "none.csv" },
    "invalid_arguments REQUIRED",
  );
  await recorder.restart();
  await injectDistrictErrors(recorder, "UP", "LD");
  await recorder.record("Not everything could be read", { ...ranking, fileName: "more.csv" }, "upstream_unavailable");
  await recorder.service.admin("DELETE", "geography");
  await recorder.restart({ MIC_GEOGRAPHY_RATE_LIMIT: "28" });
  await recorder.record("Not everything read yet: the rate", { ...ranking, fileName: "more.csv" }, "rate_limited");
};

export const geographyScenarios = {
  list_states: recordListStates,
  list_districts: recordListDistricts,
  get_geography_openapi: recordGetGeographyOpenapi,
  find_district: recordFindDistrict,
  rank_divisions: recordRankDivisions,
  save_table: recordSaveTable,
} as const;
