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
  await stage.show("No such state", { state: "ZZ" });
  const reading = { operationId: "listPlaygroundDistricts", args, wrong: { state: "Telangana" } };
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
  await stage.show("Misspelt", { name: "Nizambad" });
  await stage.show("In one state", { name: "Bilaspur", state: "Chhattisgarh" });
  await stage.show("Not found", { name: "Nowhereville" });
  await stage.show("Not found in one state", { name: "Nizamabad", state: "goa" });
  await stage.show("No such state", { name: "Nizamabad", state: "Atlantis" });
  await stage.startAnew();
  await failStates(stage, "TG", "UP");
  await stage.show("Found, though not everything could be read", { name: "Hamirpur" });
  await stage.show("Not found, and not everything could be read", { name: "Nizamabad" });
  await stage.service.admin("DELETE", "geography");
  await stage.startAnew({ MIC_GEOGRAPHY_RATE: "28" });
  await stage.show("Not everything read yet: the rate", { name: "Nowhereville", waitSeconds: 0 });
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
  await stage.show("No such state", { ...top, states: ["Atlantis"] });
  await stage.show("A figure that districts have not", { ...top, by: "districtCount" });
  await stage.startAnew();
  await failStates(stage, "UP", "LD");
  await stage.show("Not everything could be read", top);
  await stage.service.admin("DELETE", "geography");
  await stage.startAnew({ MIC_GEOGRAPHY_RATE: "28" });
  await stage.show("Exact before everything is read: the rate", top);
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
