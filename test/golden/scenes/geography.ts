// Geography: what was found, what is in doubt, and what could not be read.
import { PLAYGROUND_CONTRACT } from "../../../src/contract/playground.ts";
import type { Args, Scene, Stage } from "../stage.ts";
import { readFailures } from "./failures.ts";

const listStates: Scene = async (stage) => {
  await stage.show("All states");
  await stage.startAnew();
  const body = JSON.stringify({ contract: PLAYGROUND_CONTRACT, states: [] });
  await stage.service.fault({ kind: "body", body }, { operationId: "listPlaygroundStates" });
  await stage.show("None, and no vintage stated");
  const reading = { operationId: "listPlaygroundStates", args: {}, wrong: { state: "TG" } };
  await readFailures(stage, reading, () => stage.startAnew());
};

const listDistricts: Scene = async (stage) => {
  const args = { state: "TG" };
  await stage.show("A state's districts", args);
  await stage.show("By the state's name", { state: "Goa" });
  await stage.show("By a former code", { state: "OR" });
  await stage.show("Where the catalogue lists none", { state: "WB" });
  await stage.show("Saved", { state: "Goa", saveAs: "goa.csv" });
  await stage.show("Saved, and the name is taken", { state: "Goa", saveAs: "goa.csv" });
  await stage.show("No such state", { state: "ZZ" });
  await stage.show("No such state by name", { state: "Atlantis" });
  const reading = { operationId: "listPlaygroundDistricts", args, wrong: { state: "T1" } };
  await readFailures(stage, reading, () => stage.startAnew());
};

const getGeographyOpenapi: Scene = async (stage) => {
  await stage.show("The document");
  const reading = { operationId: "getPlaygroundOpenApi", args: {}, wrong: { version: "3.1" } };
  await readFailures(stage, reading, () => stage.startAnew());
};

/** States whose districts cannot be read. */
const failStates = (stage: Stage, ...codes: readonly string[]) =>
  stage.service.admin("POST", "geography", {
    districts: Object.fromEntries(codes.map((code) => [code, { status: 502 }])),
  });

const findDistrict: Scene = async (stage) => {
  await stage.show("Exact", { name: "Nizamabad" });
  await stage.show("Ambiguous: in more than one state", { name: "Hamirpur" });
  await stage.show("By a former name", { name: "Allahabad" });
  await stage.show("By the town it is governed from", { name: "Panaji" });
  await stage.show("Misspelt", { name: "Nizambad" });
  await stage.show("A former name, misspelt", { name: "Alahabad" });
  await stage.show("In an Indian script, with district and state", { name: "जिला पटना, बिहार" });
  await stage.show("In one state", { name: "Bilaspur", state: "Chhattisgarh" });
  await stage.show("Where the catalogue lists none", { name: "Kolkata" });
  await stage.show("With its state in the name", { name: "Patna, Bihar" });
  await stage.show("With another state in the name", { name: "Lucknow, Bihar" });
  await stage.show("The name of a state", { name: "Kerala" });
  await stage.show("Several names", { names: ["Nizamabad", "Allahabad", "Hamirpur", "Nowhereville"] });
  await stage.show("Name and names", { name: "Nizamabad", names: ["Nizamabad"] });
  await stage.show("Not found", { name: "Nowhereville" });
  await stage.show("Abolished", { name: "Anupgarh" });
  await stage.show("Part of names", { name: "Nagar", limit: 3 });
  await stage.show("Not found in one state", { name: "Nizamabad", state: "goa" });
  await stage.show("No such state", { name: "Nizamabad", state: "Atlantis" });
  await stage.startAnew();
  await failStates(stage, "TG", "UP");
  await stage.show("Found, though not everything could be read", { name: "Hamirpur" });
  await stage.show("Not found, and not everything could be read", { name: "Nizamabad" });
  await stage.service.admin("DELETE", "geography");
  await stage.startAnew({ MIC_GEOGRAPHY_RATE: "28" });
  await stage.show("Nothing read yet", { name: "Nowhereville", waitSeconds: 0 });
  await stage.call("rank_divisions", { level: "district", by: "mandalCount", waitSeconds: 5 });
  await stage.show("Not everything read yet: the rate", { name: "Nowhereville" });
  await stage.show("Found, and not everything read yet", { name: "Nizamabad" });
  await stage.show("Several names, and not everything read yet", { names: ["Nizamabad", "Nowhereville"] });
  await failures(stage, { name: "Nizamabad" }, { name: "N", limit: 50 });
};

const rankDivisions: Scene = async (stage) => {
  const top: Args = { level: "district", by: "mandalCount", limit: 3 };
  await stage.show("The top districts", top);
  await stage.show("States by their districts", { level: "state", by: "districtCount", limit: 5 });
  await stage.show("In some states, within bounds", {
    ...top,
    states: ["TG", "Goa"],
    min: 10,
    max: 25,
    order: "asc",
  });
  await stage.show("Nothing within the bounds", { ...top, min: 1000 });
  await stage.show("The next page", { ...top, offset: 3 });
  await stage.show("Beyond the last page", { ...top, offset: 900 });
  await stage.show("The first of each state", { ...top, limit: 5, perState: 1 });
  await stage.show("Names that begin so", { level: "district", by: "name", startsWith: "bij" });
  await stage.show("Saved", { level: "district", by: "mandalCount", saveAs: "districts.csv" });
  await stage.show("Saved, and the name is taken", { ...top, saveAs: "districts.csv" });
  await stage.show("No such state", { ...top, states: ["Atlantis"] });
  await stage.show("A figure that districts have not", { ...top, by: "districtCount" });
  await stage.startAnew();
  await failStates(stage, "UP", "LD");
  await stage.show("Not everything could be read", top);
  await stage.show("Not saved, since not everything could be read", { ...top, saveAs: "more.csv" });
  await stage.service.admin("DELETE", "geography");
  await stage.startAnew({ MIC_GEOGRAPHY_RATE: "28" });
  await stage.show("Exact before everything is read: the rate", top);
  await stage.show("Not exact yet: the rate", { ...top, order: "asc" });
  await stage.show("Not saved yet: the rate", { ...top, saveAs: "more.csv" });
  await failures(stage, top, { level: "village", by: "mandalCount" });
};

/** Of a tool that reads the whole country. */
async function failures(stage: Stage, args: Args, wrong: Args): Promise<void> {
  const operationId = "listPlaygroundStates";
  await readFailures(stage, { operationId, args, wrong }, () => stage.startAnew());
}

export const geographyScenes = {
  list_states: listStates,
  list_districts: listDistricts,
  get_geography_openapi: getGeographyOpenapi,
  find_district: findDistrict,
  rank_divisions: rankDivisions,
} as const;
