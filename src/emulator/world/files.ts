// Creates the workspace's files with real bytes, and defines the outcome of a job that reads one of them.
import { createHash } from "node:crypto";
import { once } from "../../core/once.ts";
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

/** Lines of CSV (RFC 4180) with the columns of the divisions recipes. No name contains a comma or a quotation mark. */
const divisionLines = (...rows: readonly (readonly [code: string, name: string, mandalCount: number])[]) => [
  "code,name,mandalCount",
  ...rows.map((row) => row.join(",")),
];

type FileRow = readonly [
  name: string,
  outcome: JobOutcome,
  scan: StoredFile["scan"],
  /** The lines of a CSV file, or bytes. */
  content: readonly string[] | Uint8Array,
];

/** The first of `fileIds`, in this order; docs/use/emulator.md lists the outcomes. */
const createTextRows = (): readonly FileRow[] => [
  [
    DISTRICTS_FILE,
    "succeeds",
    "clean",
    divisionLines(...listDistricts().map(({ code, name, mandalCount }) => [code, name, mandalCount] as const)),
  ],
  [
    "survey-overloaded.csv",
    "fails at CHURN, retryably",
    "clean",
    divisionLines(["516", "Nizamabad", 33], ["501", "Adilabad", 21], ["513", "Medak", 21]),
  ],
  // Each row violates the schema of the divisions recipes; lifecycle.ts contains the errors.
  [
    "divisions-broken.csv",
    "fails at SIFT",
    "clean",
    ["code,name,mandalCount", "501,Nizamabad,thirty-three", ",Adilabad,-21"],
  ],
  ["जिले-for-review.csv", "waits for review", "clean", divisionLines(["187", "वाराणसी", 3], ["120", "प्रयागराज", 8])],
  ["survey-held.csv", "pauses", "clean", divisionLines(["315", "Kolkata", 0])],
  ["upload-not-scanned.csv", "succeeds", "pending", divisionLines(["598", "Karaikal", 2])],
  ["upload-infected.csv", "succeeds", "infected", ["stands for an infected file"]],
  [
    "lgd-states.csv",
    "succeeds",
    "clean",
    divisionLines(
      ...readCatalogue().states.states.map(({ code, name, mandalCount }) => [code, name, mandalCount] as const),
    ),
  ],
];

function createFile([name, outcome, scan, content]: FileRow) {
  const isText = !(content instanceof Uint8Array);
  const bytes = isText ? encodeUtf8(content.map((line) => `${line}\r\n`).join("")) : content;
  return {
    name,
    outcome,
    scan,
    bytes,
    about: name === DISTRICTS_FILE ? "divisions" : "",
    sha256: sha256(bytes),
    rows: isText ? content.length - 1 : 0,
    classification: isText ? "TABULAR" : "ARCHIVE",
  };
}

/** For all emulators of this process. */
const createTextFiles = once(() => createTextRows().map(createFile));

export function createFiles(ids: IdGenerator): readonly StoredFile[] {
  const hash = createHash("shake256", { outputLength: 300 * 1024 }).update(ids.hashFor("archive"));
  const archive = createFile(["signed-archive.bin", "succeeds", "clean", hash.digest()]);
  return [
    ...createTextFiles().map((file) => ({ ...file, id: ids.next(ID_PREFIX.file) })),
    { ...archive, id: ids.next(ID_PREFIX.signedFile) },
  ];
}
