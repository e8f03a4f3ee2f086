// Tests the code cache with real processes: nothing in the folder may end the program or make it run other code.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  chown,
  copyFile,
  mkdir,
  readdir,
  readFile,
  rename,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { initialize, run, start } from "../mcp/stdio/child.ts";
import { entryArguments } from "../support/mcp.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { posixMissing, testUnless } from "../support/unless.ts";

const [entry = ""] = entryArguments();
const isRoot = process.getuid?.() === 0;
const OTHER_USER = 65_534;

/** `main save` ends after the time at which the code is saved; `main second` loads a second part before. Each prints `answer`. */
const mainText = (answer: string): string => `
const functions = [${Array.from({ length: 30 }, (_, n) => `function f${n}(a, b) { return [a, b, "f${n}", ${n}].join(); }`).join()}];
exports.main = async ([command]) => {
  for (const each of functions) each(1, 2);
  process.stdout.write(${JSON.stringify(answer)});
  if (command === "second") process.stdout.write(require("./second.js").answer);
  if (command !== undefined) await new Promise((resolve) => setTimeout(resolve, 2_200));
  return 0;
};`;

async function programForTest(answer = "one") {
  const home = await folderForTest();
  const folder = join(home, "mic-mcp");
  const program = join(home, "program");
  await mkdir(program);
  await chmod(home, 0o755);
  for (const file of ["cli.js", "package.json"]) await copyFile(join(dirname(entry), file), join(program, file));
  await writeFile(join(program, "second.js"), 'exports.answer = " two";');
  const write = async (content: string) => await writeFile(join(program, "main.js"), mainText(content));
  await write(answer);

  async function runProgram(command?: "save" | "second", env: Readonly<Record<string, string>> = {}, uid?: number) {
    const args = [join(program, "cli.js"), ...(command === undefined ? [] : [command])];
    const child = spawn(process.execPath, args, {
      env: { HOME: home, XDG_CACHE_HOME: home, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      uid,
      gid: uid,
    });
    const exited = once(child, "close");
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect(await exited).toEqual([0, null]);
    expect(stderr).toBe("");
    return stdout;
  }

  const files = async (part: string) => (await readdir(folder)).filter((file) => file.startsWith(`${part}-`));
  async function save(): Promise<string> {
    await runProgram("save");
    const [file = ""] = await files("main");
    return join(folder, file);
  }
  return { home, folder, program, write, run: runProgram, files, save };
}

test("the first start saves the compiled code so that only the user can read it, and later starts run that code", async () => {
  const { folder, write, run: runProgram, files, save } = await programForTest("one");
  const file = await save();
  expect(file).toContain(process.version);
  if (posixMissing === undefined) {
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  }
  const { mtimeMs } = await stat(file);
  expect(await runProgram("save")).toBe("one");
  expect((await stat(file)).mtimeMs).toBe(mtimeMs);

  await write("two");
  expect(await runProgram("save")).toBe("two");
  const other = (await files("main")).map((name) => join(folder, name)).find((path) => path !== file) ?? "";
  // V8 accepts the code of a text with the same length: this shows that the file is used.
  await copyFile(file, other);
  expect(await runProgram()).toBe("one");
});

test("a changed program with the same length does not run the cached code of the previous program", async () => {
  const { write, run: runProgram, save } = await programForTest("one");
  await save();
  await write("two");
  expect(await runProgram()).toBe("two");
});

test("the first use of a program part saves the compiled code of all parts again", async () => {
  const { run: runProgram, files, save } = await programForTest();
  const file = await save();
  const { mtimeMs } = await stat(file);
  expect(await runProgram("second")).toBe("one two");
  expect(await files("second")).toHaveLength(1);
  expect((await stat(file)).mtimeMs).toBeGreaterThan(mtimeMs);
});

test("a cached file that is cut, or that has a flipped bit, is deleted, and the program starts without it", async () => {
  const { run: runProgram, files, save } = await programForTest();
  const file = await save();
  const complete = await readFile(file);
  expect(complete.length).toBeGreaterThan(8 * 1024);
  for (let at = 0; at < complete.length; at += 997) {
    const flipped = Buffer.from(complete);
    flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << (at % 8)), at);
    for (const damaged of [complete.subarray(0, at), flipped]) {
      await writeFile(file, damaged);
      expect(await runProgram(), `byte ${at}`).toBe("one");
      expect(await files("main"), `byte ${at}`).toEqual([]);
    }
  }
});

test("two simultaneous first starts save one complete file", async () => {
  const { run: runProgram, files } = await programForTest();
  expect(await Promise.all([runProgram("save"), runProgram("save")])).toEqual(["one", "one"]);
  const saved = await files("main");
  expect(saved).toHaveLength(1);
  expect(await runProgram()).toBe("one");
  expect(await files("main")).toEqual(saved);
});

test("the code cache keeps the four newest files of a program part", async () => {
  const { folder, files, save } = await programForTest();
  await mkdir(folder, { mode: 0o700 });
  const names = [1, 2, 3, 4, 5].map((n) => `main-v${n}.0.0-x64-0.code`);
  for (const [n, name] of [...names, "main-v9.0.0-x64-0.code.77", "second-v1.0.0-x64-0.code", "notes.txt"].entries()) {
    await writeFile(join(folder, name), "");
    await utimes(join(folder, name), 1_000 + n, 1_000 + n);
  }
  const file = await save();
  const kept = ["main-v4.0.0-x64-0.code", "main-v5.0.0-x64-0.code", "main-v9.0.0-x64-0.code.77"];
  expect((await files("main")).map((name) => join(folder, name)).sort()).toEqual(
    [...kept.map((name) => join(folder, name)), file].sort(),
  );
  expect(await readdir(folder)).toEqual(expect.arrayContaining(["second-v1.0.0-x64-0.code", "notes.txt"]));
});

testUnless(posixMissing, "a read-only cache folder is used without an error, and stays unchanged", async () => {
  const { folder, home, run: runProgram } = await programForTest();
  await mkdir(folder);
  // Root may write to any folder.
  const uid = isRoot ? OTHER_USER : undefined;
  if (uid !== undefined) await chown(folder, uid, uid);
  await chmod(folder, 0o500);
  expect(await runProgram("save", {}, uid)).toBe("one");
  expect(await readdir(folder)).toEqual([]);
  await chmod(folder, 0o700);
  await runProgram("save", {}, uid);
  const [name = ""] = await readdir(folder);
  await writeFile(join(folder, name), "damaged");
  for (const path of [folder, home]) await chmod(path, 0o555);
  expect(await runProgram(undefined, {}, uid)).toBe("one");
  expect(await readdir(folder)).toEqual([name]);
  for (const path of [folder, home]) await chmod(path, 0o755);
});

const unusable: readonly (readonly [string, string | undefined, (folder: string) => Promise<void>])[] = [
  ["that its group can write to", posixMissing, (folder) => chmod(folder, 0o770)],
  ["that others can write to", posixMissing, (folder) => chmod(folder, 0o707)],
  [
    "that is a symbolic link",
    posixMissing,
    async (folder) => {
      await rename(folder, `${folder}-elsewhere`);
      await symlink(`${folder}-elsewhere`, folder);
    },
  ],
  ["that another user owns", isRoot ? undefined : "needs root", (folder) => chown(folder, OTHER_USER, OTHER_USER)],
];
for (const [which, missing, change] of unusable)
  testUnless(missing, `a cache folder ${which} is not used`, async () => {
    const { folder, run: runProgram } = await programForTest();
    await mkdir(folder, { mode: 0o700 });
    await change(folder);
    expect(await runProgram("save")).toBe("one");
    expect(await readdir(folder)).toEqual([]);
  });

test("a file at the path of the cache folder causes no error", async () => {
  const { folder, run: runProgram } = await programForTest();
  await writeFile(folder, "a file where the folder should be");
  expect(await runProgram("save")).toBe("one");
});

test("Node's own variables for the compile cache take precedence", async () => {
  const { home, run: runProgram } = await programForTest();
  await runProgram("save", { NODE_DISABLE_COMPILE_CACHE: "1" });
  await runProgram("save", { NODE_COMPILE_CACHE: join(home, "own") });
  expect(await readdir(home)).not.toContain("mic-mcp");
});

describe("the complete program", () => {
  async function saveCode(home: string): Promise<string> {
    const folder = join(home, "mic-mcp");
    const program = start(["serve"], { env: { XDG_CACHE_HOME: home } });
    await initialize(program);
    const find = async () => (await readdir(folder)).find((file) => file.startsWith("main-") && file.endsWith(".code"));
    await expect.poll(find).toBeDefined();
    return join(folder, (await find()) ?? "");
  }

  test("the complete program starts with its cached code, and without the code if the file is damaged", async () => {
    const home = await folderForTest();
    const env = { XDG_CACHE_HOME: home };
    const file = await saveCode(home);
    expect(await run(["--version"], { env })).toMatchObject({ code: 0, stderr: "" });
    const complete = await readFile(file);
    for (const part of [0.1, 0.5, 0.9, 0.999]) {
      const at = Math.floor(complete.length * part);
      const flipped = Buffer.from(complete);
      flipped.writeUInt8(flipped.readUInt8(at) ^ 0xff, at);
      for (const damaged of [complete.subarray(0, at), flipped]) {
        await writeFile(file, damaged);
        expect(await run(["--version"], { env })).toMatchObject({ code: 0, stderr: "" });
        expect(await readdir(dirname(file))).toEqual([]);
      }
    }
  });
});
