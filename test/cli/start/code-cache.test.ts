// V8's code cache: made by the first session, used by the next, and never taken from where another user could have put it.
import { chmod, chown, cp, lstat, readdir, readFile, rename, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { callMessage, initialize, start } from "../../mcp/stdio/child.ts";
import { folderForTest } from "../../support/home.ts";

const isPosix = process.platform !== "win32";

async function place() {
  const home = await folderForTest();
  const folder = join(home, "mic-mcp");
  return {
    home,
    folder,
    async file(): Promise<string> {
      const [name = "", ...others] = await readdir(folder);
      expect(others).toEqual([]);
      return join(folder, name);
    },
  };
}

/** One session with a call, to its end. */
async function session(home: string, env: Readonly<Record<string, string>> = {}, entry?: string): Promise<void> {
  const program = start(["serve"], {
    env: { XDG_CACHE_HOME: home, MIC_STATE_DIR: join(home, "state"), ...env },
    ...(entry !== undefined && { entry }),
  });
  await initialize(program);
  program.send(callMessage(2, "list_actions"));
  expect(await program.next()).toMatchObject({ id: 2, result: { structuredContent: { actions: [] } } });
  program.process.stdin.end();
  expect(await program.exit).toEqual({ code: 0, signal: null });
  expect(program.stderr()).toBe("");
}

const LONG_AGO = new Date(0);
/** Whether a session replaced the file: it does so when it could not use it. */
async function isReplaced(file: string, home: string): Promise<boolean> {
  await utimes(file, LONG_AGO, LONG_AGO);
  await session(home);
  return (await stat(file)).mtimeMs !== LONG_AGO.getTime();
}

test("a session leaves it for the next, for the user's eyes only", async () => {
  const { home, folder, file } = await place();
  await session(home);
  const path = await file();
  expect(path).toContain(process.version);
  if (isPosix) {
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  }
  expect(await isReplaced(path, home)).toBe(false);
});

test("one that a short command left is replaced by the first session, and that one's stays", async () => {
  const { home, file } = await place();
  const program = start(["--version"], { env: { XDG_CACHE_HOME: home } });
  expect(await program.exit).toEqual({ code: 0, signal: null });
  const path = await file();
  const { size } = await stat(path);
  expect(await isReplaced(path, home)).toBe(true);
  expect((await stat(path)).size).toBeGreaterThan(2 * size);
  expect(await isReplaced(path, home)).toBe(false);
});

test("one that is damaged or cut is not used, and replaced", async () => {
  const { home, file } = await place();
  await session(home);
  const path = await file();
  const whole = await readFile(path);
  const flipped = Buffer.from(whole);
  for (let at = 4_000; at < flipped.length; at += 1_000) flipped[at] = 255 - (flipped[at] ?? 0);
  for (const bytes of [flipped, whole.subarray(0, whole.length / 2), Buffer.from("no code"), Buffer.alloc(0)]) {
    await writeFile(path, bytes);
    expect(await isReplaced(path, home)).toBe(true);
  }
});

test.skipIf(!isPosix)("one that others can write is not used (needs POSIX)", async () => {
  const { home, file } = await place();
  await session(home);
  const path = await file();
  await chmod(path, 0o666);
  expect(await isReplaced(path, home)).toBe(true);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test.skipIf(process.getuid?.() !== 0)("one that belongs to another user is not used (needs root)", async () => {
  const { home, file } = await place();
  await session(home);
  const path = await file();
  await chown(path, 65_534, 65_534);
  expect(await isReplaced(path, home)).toBe(true);
  expect((await stat(path)).uid).toBe(0);
});

test.skipIf(!isPosix)("a link is not followed (needs POSIX)", async () => {
  const { home, file } = await place();
  await session(home);
  const path = await file();
  const elsewhere = join(home, "elsewhere");
  await rename(path, elsewhere);
  await symlink(elsewhere, path);
  await session(home);
  expect((await lstat(path)).isSymbolicLink()).toBe(false);
});

test("one of another build is not used, and replaced", async () => {
  const { home, file } = await place();
  await session(home);
  const path = await file();
  const dist = await folderForTest();
  await cp("dist", join(dist, "dist"), { recursive: true });
  await symlink(resolve("node_modules"), join(dist, "node_modules"));
  const start = join(dist, "dist", "start.js");
  const text = await readFile(start, "utf8");
  const [hash = ""] = /(?<=loadCached\("main\.js",")[0-9a-f]{32}/.exec(text) ?? [];
  expect(hash).not.toBe("");
  await writeFile(start, text.replace(hash, "0".repeat(32)));
  await utimes(path, LONG_AGO, LONG_AGO);
  await session(home, {}, join(dist, "dist", "cli.js"));
  expect((await stat(path)).mtimeMs).not.toBe(LONG_AGO.getTime());
});

test("where there can be none, the server works without", async () => {
  const { home, folder } = await place();
  await writeFile(folder, "a file where the folder should be");
  await session(home);
  await session(home, { NODE_DISABLE_COMPILE_CACHE: "1", XDG_CACHE_HOME: join(home, "other") });
  await expect(stat(join(home, "other"))).rejects.toThrow("ENOENT");
});
