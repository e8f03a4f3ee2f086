// The workspace's files: real bytes, and the fate that a job bound to one of them meets.
import { createHash } from "node:crypto";
import { ID_PREFIX } from "../choices.ts";
import { readDistricts, readStates } from "../geography/load.ts";
import { bytesOf } from "../http/answer.ts";
import { type Ids, sha256 } from "../ids.ts";

/** What becomes of a job that reads this file. */
export type JobOutcome = "succeeds" | "fails at CHURN, retryably" | "fails at SIFT" | "waits for review" | "pauses";

export interface StoredFile {
  readonly id: string;
  readonly name: string;
  /** What its rows are, where the name does not say it. */
  readonly about: string;
  readonly bytes: Uint8Array;
  readonly sha256: string;
  /** Lines below the header; 0 for a binary file. */
  readonly rows: number;
  readonly classification: string;
  readonly scan: "clean" | "pending" | "infected";
  readonly outcome: JobOutcome;
}

const csvField = (value: string | number): string => {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** RFC 4180. */
const csv = (rows: readonly (readonly (string | number)[])[]): string =>
  rows.map((row) => `${row.map(csvField).join(",")}\r\n`).join("");

const districtsCsv = (): string =>
  csv([
    ["stateCode", "lgdDistrictCode", "name", "mandalCount"],
    ...readDistricts().map(({ stateCode, code, name, mandalCount }) => [stateCode, code, name, mandalCount]),
  ]);

const statesCsv = (): string =>
  csv([["code", "lgdCode", "name"], ...readStates().map(({ code, lgdCode, name }) => [code, lgdCode, name])]);

const BINARY_BYTES = 300 * 1024;

/** Bytes that nothing compresses and the seed alone decides. */
const noise = (seed: string): Uint8Array =>
  createHash("shake256", { outputLength: BINARY_BYTES }).update(seed).digest();

type FileFacts = Pick<StoredFile, "name" | "outcome" | "scan"> & {
  readonly about?: string;
  readonly content: string | Uint8Array;
};

const clean = (name: string, outcome: JobOutcome, content: string | Uint8Array): FileFacts => ({
  name,
  outcome,
  scan: "clean",
  content,
});

/** In the order of `fileIds`: the first seven have the outcomes that the emulator promises. */
const facts = (ids: Ids): readonly FileFacts[] => [
  { ...clean("lgd-districts.csv", "succeeds", districtsCsv()), about: "divisions" },
  clean(
    "survey-overloaded.csv",
    "fails at CHURN, retryably",
    csv([
      ["district", "surveyed", "households"],
      ["Nizamabad", "2026-03-04", 1180],
      ["Adilabad", "2026-03-05", 940],
      ["Medak", "2026-03-09", 1322],
    ]),
  ),
  // Each row breaks what the divisions recipes ask for: lifecycle.ts says how.
  clean(
    "divisions-broken.csv",
    "fails at SIFT",
    csv([
      ["code", "name", "mandalCount"],
      ["501", "Nizamabad", "thirty-three"],
      ["", "Adilabad", -21],
    ]),
  ),
  clean(
    "जिले-for-review.csv",
    "waits for review",
    csv([
      ["जिला", "राज्य", "note"],
      ["वाराणसी", "उत्तर प्रदेश", "renamed, see gazette"],
      ["प्रयागराज", "उत्तर प्रदेश", "renamed, see gazette"],
    ]),
  ),
  clean(
    "survey-held.csv",
    "pauses",
    csv([
      ["district", "surveyed"],
      ["Kolkata", "2026-04-01"],
    ]),
  ),
  {
    name: "upload-not-scanned.csv",
    outcome: "succeeds",
    scan: "pending",
    content: csv([
      ["district", "mandals"],
      ["Mahe", 1],
    ]),
  },
  {
    name: "upload-infected.csv",
    outcome: "succeeds",
    scan: "infected",
    content: csv([["stands for an infected file"]]),
  },
  clean("lgd-states.csv", "succeeds", statesCsv()),
  clean("signed-archive.bin", "succeeds", noise(ids.named("archive"))),
];

export function makeFiles(ids: Ids): readonly StoredFile[] {
  return facts(ids).map(({ content, about = "", ...file }) => {
    const isText = typeof content === "string";
    const bytes = isText ? bytesOf(content) : content;
    return {
      ...file,
      about,
      id: ids.next(isText ? ID_PREFIX.file : ID_PREFIX.signedFile),
      bytes,
      sha256: sha256(bytes),
      rows: isText ? content.trimEnd().split("\r\n").length - 1 : 0,
      classification: isText ? "TABULAR" : "ARCHIVE",
    };
  });
}
