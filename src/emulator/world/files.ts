// Creates the workspace's files with real bytes, and defines the outcome of a job that reads one of them.
import { createHash } from "node:crypto";
import { ID_PREFIX } from "../assumptions.ts";
import { listDistricts, readCatalogue } from "../catalogue.ts";
import { encodeUtf8 } from "../http/response.ts";
import { type IdGenerator, sha256 } from "../ids.ts";

export type JobOutcome = "succeeds" | "fails at CHURN, retryably" | "fails at SIFT" | "waits for review" | "pauses";

export interface StoredFile {
  readonly id: string;
  readonly name: string;
  /** Describes the rows if the file's name does not; otherwise empty. */
  readonly about: string;
  readonly bytes: Uint8Array;
  readonly sha256: string;
  /** Number of lines below the header; 0 for a binary file. */
  readonly rows: number;
  readonly classification: string;
  readonly scan: "clean" | "pending" | "infected";
  readonly outcome: JobOutcome;
}

const DISTRICTS_FILE = "lgd-districts.csv";

/** Lines of CSV (RFC 4180). No name of a state or district contains a comma or a quotation mark. */
const districtLines = (): readonly string[] => [
  "stateCode,lgdDistrictCode,name,mandalCount",
  ...listDistricts().map(({ stateCode, code, name, mandalCount }) => [stateCode, code, name, mandalCount].join(",")),
];

const stateLines = (): readonly string[] => [
  "code,lgdCode,name",
  ...readCatalogue().states.states.map(({ code, lgdCode, name }) => [code, lgdCode, name].join(",")),
];

type FileRow = readonly [
  name: string,
  outcome: JobOutcome,
  scan: StoredFile["scan"],
  /** The lines of a CSV file, or bytes. */
  content: readonly string[] | Uint8Array,
];

/** In the order of `fileIds`; docs/use/emulator.md lists the outcomes. */
const createFileRows = (ids: IdGenerator): readonly FileRow[] => [
  [DISTRICTS_FILE, "succeeds", "clean", districtLines()],
  [
    "survey-overloaded.csv",
    "fails at CHURN, retryably",
    "clean",
    ["district,surveyed,households", "Nizamabad,2026-03-04,1180", "Adilabad,2026-03-05,940", "Medak,2026-03-09,1322"],
  ],
  // Each row violates the schema of the divisions recipes; lifecycle.ts contains the errors.
  [
    "divisions-broken.csv",
    "fails at SIFT",
    "clean",
    ["code,name,mandalCount", "501,Nizamabad,thirty-three", ",Adilabad,-21"],
  ],
  [
    "जिले-for-review.csv",
    "waits for review",
    "clean",
    ["जिला,राज्य,note", 'वाराणसी,उत्तर प्रदेश,"renamed, see gazette"', 'प्रयागराज,उत्तर प्रदेश,"renamed, see gazette"'],
  ],
  ["survey-held.csv", "pauses", "clean", ["district,surveyed", "Kolkata,2026-04-01"]],
  ["upload-not-scanned.csv", "succeeds", "pending", ["district,mandals", "Mahe,1"]],
  ["upload-infected.csv", "succeeds", "infected", ["stands for an infected file"]],
  ["lgd-states.csv", "succeeds", "clean", stateLines()],
  [
    "signed-archive.bin",
    "succeeds",
    "clean",
    createHash("shake256", { outputLength: 300 * 1024 })
      .update(ids.hashFor("archive"))
      .digest(),
  ],
];

export const createFiles = (ids: IdGenerator): readonly StoredFile[] =>
  createFileRows(ids).map(([name, outcome, scan, content]) => {
    const isText = !(content instanceof Uint8Array);
    const bytes = isText ? encodeUtf8(content.map((line) => `${line}\r\n`).join("")) : content;
    return {
      name,
      outcome,
      scan,
      bytes,
      about: name === DISTRICTS_FILE ? "divisions" : "",
      id: ids.next(isText ? ID_PREFIX.file : ID_PREFIX.signedFile),
      sha256: sha256(bytes),
      rows: isText ? content.length - 1 : 0,
      classification: isText ? "TABULAR" : "ARCHIVE",
    };
  });
