// Tests that names of downloaded files are plain names on every platform, whatever an agent requests or the API sends.
import { join, posix, win32 } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { fileNameSchema, nameFromHeader } from "../../src/api-client/new-file.ts";
import { anyCharacter } from "../support/any-character.ts";
import { words } from "../support/words.ts";

// Windows: "Naming Files, Paths, and Namespaces", and the two names of the console.
const DEVICES = [
  ..."con prn aux nul conin$ conout$".split(" "),
  ...["com", "lpt"].flatMap((port) => [..."0123456789¹²³"].map((digit) => port + digit)),
];

/** Independent rules, written here without the code under test. */
function isSafe(name: string): boolean {
  const stem = (name.split(".")[0] ?? "").trimEnd().toLowerCase();
  return (
    name.length > 0 &&
    Buffer.byteLength(name) <= 230 &&
    name === win32.basename(name) &&
    name === posix.basename(name) &&
    win32.parse(name).root === "" &&
    join("/downloads", name) === `/downloads/${name}` &&
    !/[<>:"|?*\\/]/.test(name) &&
    ![...name].some((char) => /\p{Cc}/u.test(char)) &&
    !/^[. ]|[. ]$/.test(name) &&
    !DEVICES.includes(stem)
  );
}

const hostile = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 300 }),
  fc
    .array(fc.constantFrom(...words(`.. / \\ %2f C: ~ . CON nul.txt a é " ; * '`), " ", "\u202e", "\u0000"), {
      maxLength: 30,
    })
    .map((parts) => parts.join("")),
);

const accepted = (name: string): boolean => fileNameSchema.safeParse(name).success;

test("a file name in a download call is either refused or safe", () => {
  fc.assert(
    fc.property(hostile, (name) => !accepted(name) || isSafe(name)),
    { numRuns: 2000 },
  );
});

test("a file name in a download call is accepted if it is plain on every platform, and otherwise refused", () => {
  for (const name of [
    ...words("report.csv données.tsv जिले.csv a a.b.c console.log com.example nullable.csv 🍨.png -rf COM10 lpt"),
    "Telangana districts (2026).csv",
    "x".repeat(200),
  ])
    expect([name, isSafe(name), accepted(name)]).toEqual([name, true, true]);
  for (const name of [
    ...words(String.raw`. .. ../a a/b /etc/passwd ..\a C:a C:\a \\host\share .hidden a. a:stream a? a* a"b <a> a|b`),
    ...["", " ", " a", "a ", "a\u0000b", "a\nb", "a\u007fb", "a\u202egnp.exe", "a\u200b", "a\ud800"],
    ...["x".repeat(201), "ज".repeat(67), "NUL.tar.gz", "nul .txt"],
    ...DEVICES.flatMap((device) => [device, `${device.toUpperCase()}.txt`]),
  ])
    expect([name, accepted(name)]).toEqual([name, false]);
});

test("a file name from a header is safe for every header and asset id", () => {
  const quote = (name: string) => `attachment; filename="${name.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  const extended = (name: string) => `attachment; filename*=UTF-8''${encodeURIComponent(name)}`;
  const header = fc.oneof(
    hostile,
    hostile.map(quote),
    hostile.map((name) => `attachment; filename=${name}`),
    hostile.filter((name) => !/\p{Surrogate}/u.test(name)).map(extended),
  );
  fc.assert(
    fc.property(fc.option(header, { nil: undefined }), hostile, (disposition, assetId) => {
      expect(isSafe(nameFromHeader(disposition, assetId))).toBe(true);
    }),
    { numRuns: 2000 },
  );
});

test.each([
  ['attachment; filename="districts.csv"', "districts.csv"],
  ["ATTACHMENT; FileName=districts.csv; size=3", "districts.csv"],
  ["attachment; filename=\"plain.csv\"; filename*=UTF-8''donn%C3%A9es.csv", "données.csv"],
  ['attachment; filename="a \\"b\\".csv"', "a _b_.csv"],
  ['inline; filename="C:\\\\Users\\\\me\\\\report.csv"', "report.csv"],
  ['attachment; filename="../../etc/passwd"', "passwd"],
  ["attachment; filename*=UTF-8''%E0%A4%A; filename=\"good.csv\"", "good.csv"],
  ["attachment; filename*=iso-8859-1''donn%E9es; filename=fine.csv", "données"],
  ['attachment; filename="CON.txt"', "asset-1"],
  ['attachment; filename=""', "asset-1"],
  ["", "asset-1"],
  [undefined, "asset-1"],
])("a header gives the file name: %s", (header, name) => expect(nameFromHeader(header, "asset-1")).toBe(name));

test("an unusable file name is replaced with a fixed name, and a name that is too long keeps its extension", () => {
  for (const assetId of ["../..", "nul"]) expect(nameFromHeader(undefined, assetId)).toBe("asset");
  const name = nameFromHeader(`attachment; filename="${"é".repeat(500)}.csv"`, "a");
  expect(name).toMatch(/^é+\.csv$/);
  expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200);
});
