// Tasks with questions about India's districts; the expected answers come from the emulator's tables.
import { type DistrictFacts, listDistricts, readCatalogue } from "../../src/emulator/catalogue.ts";
import { answerManyDistricts, answerQuestions } from "../scripted/geography.ts";
import type { Task } from "./task.ts";

const districts = listDistricts();
const states = new Map(readCatalogue().states.states.map(({ code, name }) => [code, name]));

const districtsInState = (code: string): readonly DistrictFacts[] =>
  districts.filter(({ stateCode }) => stateCode === code);
const sortByMandals = (rows: readonly DistrictFacts[]): readonly DistrictFacts[] =>
  [...rows].sort((a, b) => b.mandalCount - a.mandalCount);
const sumMandals = (rows: readonly DistrictFacts[]): number =>
  rows.reduce((sum, { mandalCount }) => sum + mandalCount, 0);
const toNames = (rows: readonly DistrictFacts[]): string[] => rows.map(({ name }) => name);
const findByName = (name: string): readonly DistrictFacts[] => districts.filter((row) => row.name === name);

function median(rows: readonly DistrictFacts[]): number {
  const sorted = sortByMandals(rows).map(({ mandalCount }) => mandalCount);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] ?? 0) + (sorted[Math.floor(half)] ?? 0)) / 2;
}

const mostDistricts =
  [...states].sort(([a], [b]) => districtsInState(b).length - districtsInState(a).length)[0]?.[1] ?? "";

/** Each question with the values that its answer must contain. */
const questions: readonly (readonly [question: string, ...answer: (string | number)[]])[] = [
  ["How many mandals has the district Nizamabad?", sumMandals(findByName("Nizamabad"))],
  ["In which state is the district Bastar?", "Chhattisgarh"],
  ["What is the district Allahabad called now?", "Prayagraj"],
  ["In which states is there a district Hamirpur?", "Himachal Pradesh", "Uttar Pradesh"],
  ["Which 3 districts have the most mandals?", ...toNames(sortByMandals(districts).slice(0, 3))],
  ["Which state has the most districts?", mostDistricts],
  ["How many districts and mandals are there in all?", districts.length, sumMandals(districts)],
  [
    "How many mandals have Telangana and Andhra Pradesh together?",
    sumMandals([...districtsInState("TG"), ...districtsInState("AP")]),
  ],
  [
    "How many districts of Bihar have more than 20 mandals?",
    districtsInState("BR").filter(({ mandalCount }) => mandalCount > 20).length,
  ],
  ["What is the median of mandals in the districts of Kerala?", median(districtsInState("KL"))],
  ["Which district of Telangana has the fewest mandals?", ...toNames(sortByMandals(districtsInState("TG")).slice(-1))],
  [
    "Which district has the most mandals in each of Karnataka, Kerala, Tamil Nadu?",
    ...["KA", "KL", "TN"].flatMap((code) => toNames(sortByMandals(districtsInState(code)).slice(0, 1))),
  ],
  [
    "Which districts have names that begin with Siddh?",
    ...toNames(districts).filter((name) => name.startsWith("Siddh")),
  ],
  ["Which districts has Sikkim?", ...toNames(districtsInState("SK"))],
  [
    "How many mandals has each of the districts Nizamabad, Adilabad, Medak?",
    ...["Nizamabad", "Adilabad", "Medak"].map((name) => sumMandals(findByName(name))),
  ],
];

const geographyQuestions: Task = {
  id: "14",
  script: answerQuestions,
  title: "15 geography questions",
  before: { calls: 15, tokens: 5238 },
  world: { clockRate: 0 },
  prepare: async () => ({
    request: questions.map(([question], at) => `${at + 1}. ${question}`).join("\n"),
    async verdict(answer) {
      const answers = answer.split("\n");
      return questions.map(([question, ...expected], at) => {
        const missing = expected.filter((each) => !answers[at]?.includes(String(each)));
        return missing.length > 0 && `${question} ${missing.join()} is not in: ${answers[at]}`;
      });
    },
  }),
};

/** Districts whose name is unique. */
const uniquelyNamed = districts.filter(({ name }) => findByName(name).length === 1);
const requestedDistricts = uniquelyNamed
  .filter((_row, at) => at % Math.floor(uniquelyNamed.length / 75) === 0)
  .slice(0, 75);

const manyDistricts: Task = {
  id: "14b",
  script: answerManyDistricts,
  title: "75 districts by name, a comparison, a sum",
  before: { calls: 108, tokens: 23500 },
  world: { clockRate: 0 },
  prepare: async () => ({
    request: `How many mandals has each of these districts, which of them has the most, and how many have they together? ${toNames(requestedDistricts).join("; ")}`,
    async verdict(answer) {
      return [
        requestedDistricts.some(({ name, mandalCount }) => !answer.includes(`${name}: ${mandalCount}`)) &&
          `not all are right: ${answer}`,
        !answer.includes(`Together: ${sumMandals(requestedDistricts)}`) && "the sum is wrong",
        !toNames(sortByMandals(requestedDistricts).slice(0, 1)).some((name) =>
          answer.includes(`Most mandals: ${name}`),
        ) && "another has the most",
      ];
    },
  }),
};

export const geography: readonly Task[] = [geographyQuestions, manyDistricts];
