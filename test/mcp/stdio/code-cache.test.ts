// V8's code cache: made by the first session, used by the next, and never taken from where another user could have put it.
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { callMessage, initialize, start } from "./child.ts";

const isPosix = process.platform !== "win32";

async function place() {
  const home = await mkdtemp(join(tmpdir(), "mic-mcp-cache-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
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
async function session(home: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const program = start(["serve"], { env: { XDG_CACHE_HOME: home, MIC_STATE_DIR: join(home, "state"), ...env } });
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

test.skipIf(process.getuid?.() !== 0)(
  "one that belongs to another user is not used, nor is a folder of theirs (needs root)",
  async () => {
    const { home, folder, file } = await place();
    await session(home);
    const path = await file();
    await chown(path, 65_534, 65_534);
    expect(await isReplaced(path, home)).toBe(true);
    await rm(path);
    await chown(folder, 65_534, 65_534);
    await session(home);
    expect(await readdir(folder)).toEqual([]);
  },
);

test.skipIf(!isPosix)("a folder that others can write, or a link to one, is left alone (needs POSIX)", async () => {
  const { home, folder } = await place();
  await mkdir(folder, { mode: 0o700 });
  await chmod(folder, 0o777);
  await session(home);
  expect(await readdir(folder)).toEqual([]);
  await rm(folder, { recursive: true });
  await mkdir(join(home, "elsewhere"), { mode: 0o700 });
  await symlink(join(home, "elsewhere"), folder);
  await session(home);
  expect(await readdir(join(home, "elsewhere"))).toEqual([]);
});

test("where there can be none, the server works without", async () => {
  const { home, folder } = await place();
  await writeFile(folder, "a file where the folder should be");
  await session(home);
  await session(home, { NODE_DISABLE_COMPILE_CACHE: "1", XDG_CACHE_HOME: join(home, "other") });
  await expect(stat(join(home, "other"))).rejects.toThrow("ENOENT");
});
