// Tests a journal that cannot be used: actions are refused with advice, nothing is sent, and reads continue.
import { execFileSync } from "node:child_process";
import { chmod, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openSqlite } from "../../src/actions/store/sqlite.ts";
import { createJob, enveloped, job } from "../contract/samples.ts";
import { inProcessServerForTest, type RawClient, startServer } from "../support/server.ts";
import { answer, refusingBaseUrl, type Stub } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { posixMissing, testUnless } from "../support/unless.ts";
import { benchForTest } from "./bench.ts";

const FILE = "actions.sqlite";

async function startInProcess(environment: Readonly<Record<string, string>>) {
  const { stub, env } = await benchForTest(environment);
  return { stub, server: await inProcessServerForTest(env) };
}

/** Starts the server as a process under the command `under`. */
async function startProcess(environment: Readonly<Record<string, string>>, under: readonly string[] = []) {
  const { stub, env } = await benchForTest(environment);
  return { stub, server: await startServer({ env, under }) };
}

/**
 * Expects that POSTs are refused before anything is sent, that the outcome of an earlier call stays unknown, and that reads
 * continue.
 */
async function expectRefused(stub: Stub, server: RawClient, message: RegExp, next: RegExp): Promise<void> {
  const requestsBefore = stub.requests.length;
  for (const key of [undefined, "a-key-of-the-agent"]) {
    const result = await server.call("submit_job", { ...createJob, ...(key && { idempotencyKey: key }) });
    expect(result.error).toMatchObject({ kind: "internal", sideEffect: "unknown", retryable: true });
    expect(result.error?.idempotencyKey).toBe(key);
    expect(result.error?.message).toMatch(/journal.*without it no action is sent/);
    expect(result.error?.message).toContain(
      "This call sent nothing; without the journal it is unknown whether an earlier identical call took effect.",
    );
    expect(result.error?.message).toMatch(message);
    expect(result.error?.next).toMatch(next);
    expect(result.text).not.toContain("Nothing was changed");
  }
  expect(stub.requests).toHaveLength(requestsBefore);
  const listed = await server.call("list_actions", {});
  expect(listed.error).toMatchObject({ kind: "internal", sideEffect: "none" });
  expect(listed.error?.next).toMatch(next);
  stub.expect(answer(200, enveloped(job)));
  expect((await server.call("get_job", { jobId: "job-1" })).error).toBeUndefined();
}

async function expectAccepted(stub: Stub, server: RawClient): Promise<void> {
  stub.expect(answer(202, enveloped(job)));
  const result = await server.call("submit_job", { ...createJob, clientReference: "again" });
  expect(result.error, result.text).toBeUndefined();
}

/**
 * Runs the rest of the command after `mount` in a separate mount namespace, which ends with the process. Other users become root
 * in it.
 */
const mountCommand = (mount: string): readonly string[] => {
  const flags = process.getuid?.() === 0 ? "-m" : "-rm";
  return ["unshare", flags, "sh", "-c", `${mount} && exec "$@"`, "sh"];
};
/** Reason to skip tests with mounts; undefined if the machine can run them. */
const mountsMissing = ((): string | undefined => {
  const [command = "", ...args] = [...mountCommand("mount -t tmpfs tmpfs /mnt"), "true"];
  try {
    execFileSync(command, args, { stdio: "ignore" });
    return undefined;
  } catch {
    return "no mount namespaces here";
  }
})();

test("actions are refused if the state folder is a file", async () => {
  const stateDir = join(await folderForTest(), "state");
  await writeFile(stateDir, "");
  const { stub, server } = await startInProcess({ MIC_STATE_DIR: stateDir });
  await expectRefused(stub, server, /ENOTDIR|EEXIST/, /MIC_STATE_DIR/);
  await rm(stateDir);
  await expectAccepted(stub, server);
});

const remountReadOnly = (folder: string) => `mount --bind ${folder} ${folder} && mount -o remount,ro,bind ${folder}`;
const createJournalIn = async (folder: string) => await (await openSqlite(folder)).close();
const nothing = async () => undefined;
for (const [what, prepare, mount, message, next] of [
  ["a read-only disk", nothing, remountReadOnly, /EROFS|read-?only/i, /writable|MIC_STATE_DIR/],
  [
    "a disk with a journal that is now read-only",
    createJournalIn,
    remountReadOnly,
    /EROFS|read-?only/i,
    /writable|MIC_STATE_DIR/,
  ],
  [
    "a full disk",
    nothing,
    (folder: string) => `mount -t tmpfs -o size=16k tmpfs ${folder}`,
    /full|ENOSPC|I\/O/i,
    /^Ask the user to free space/,
  ],
] as const)
  testUnless(mountsMissing, `actions are refused on ${what}`, async () => {
    const stateDir = await folderForTest();
    await prepare(stateDir);
    const { stub, server } = await startProcess({ MIC_STATE_DIR: stateDir }, mountCommand(mount(stateDir)));
    await expectRefused(stub, server, message, next);
  });

testUnless(mountsMissing, "actions are refused on a disk that fills up", async () => {
  const stateDir = await folderForTest();
  const under = mountCommand(`mount -t tmpfs -o size=256k tmpfs ${stateDir}`);
  const { stub, server } = await startProcess({ MIC_STATE_DIR: stateDir }, under);
  stub.respond(() => answer(202, enveloped(job)));
  let accepted = 0;
  for (; accepted < 200; accepted++) {
    const { error } = await server.call("submit_job", { ...createJob, parameterValues: { year: accepted } });
    if (!error) continue;
    expect(error).toMatchObject({ sideEffect: "none", retryable: true });
    expect(error.next).toMatch(/^Ask the user to free space/);
    break;
  }
  expect(accepted).toBeGreaterThan(0);
  expect(accepted).toBeLessThan(200);
  expect(stub.requests, "what was refused was not sent").toHaveLength(accepted);
});

test("actions are refused if the journal file is not a database", async () => {
  const stateDir = await folderForTest();
  await writeFile(join(stateDir, FILE), "no database at all\n".repeat(500));
  const { stub, server } = await startInProcess({ MIC_STATE_DIR: stateDir });
  await expectRefused(stub, server, /not a database/, /[Mm]ove the damaged/);
  expect(await readFile(join(stateDir, FILE), "utf8"), "it is evidence").toMatch(/^no database/);
  await rm(join(stateDir, FILE));
  await expectAccepted(stub, server);
});

test("actions are refused if the journal is damaged", async () => {
  const stateDir = await folderForTest();
  const { stub, server } = await startInProcess({ MIC_STATE_DIR: stateDir });
  stub.respond(() => answer(202, enveloped(job)));
  for (let n = 0; n < 5; n++) await server.call("submit_job", { ...createJob, clientReference: `job ${n}` });
  await server.end();
  const database = await openSqlite(stateDir);
  await database.query("PRAGMA wal_checkpoint(TRUNCATE)");
  await database.close();
  const bytes = await readFile(join(stateDir, FILE));
  await writeFile(join(stateDir, FILE), bytes.fill(0xab, 4096));
  const next = await startInProcess({ MIC_STATE_DIR: stateDir });
  await expectRefused(next.stub, next.server, /malformed|corrupt/, /[Mm]ove the damaged/);
});

test("actions are refused if the journal has a later version", async () => {
  const stateDir = await folderForTest();
  const database = await openSqlite(stateDir);
  await database.query("CREATE TABLE journal_version (version INTEGER NOT NULL)");
  await database.query("INSERT INTO journal_version (version) VALUES (99)");
  await database.close();
  const { stub, server } = await startInProcess({ MIC_STATE_DIR: stateDir });
  await expectRefused(stub, server, /version 99/, /^Ask the user to run the latest mic-mcp/);
});

test("actions are refused while another process locks the journal, and accepted once it is unlocked", async () => {
  const stateDir = await folderForTest();
  const { stub, server } = await startInProcess({ MIC_STATE_DIR: stateDir });
  const database = await openSqlite(stateDir);
  onTestFinished(() => database.close());
  await database.query("BEGIN EXCLUSIVE");
  const refused = server.call("submit_job", createJob);
  // While it waits for the lock, other calls continue.
  stub.expect(answer(200, enveloped(job)));
  expect((await server.call("get_job", { jobId: "job-1" })).error).toBeUndefined();
  expect((await refused).error).toMatchObject({ kind: "internal", sideEffect: "unknown", retryable: true });
  expect((await refused).error?.message).toContain("locked");
  expect((await refused).error?.next).toMatch(/call again in a few seconds/);
  expect(stub.requests).toHaveLength(1);
  await database.query("ROLLBACK");
  await expectAccepted(stub, server);
});

test("actions are refused if the PostgreSQL server is unreachable", async () => {
  const { port } = new URL(await refusingBaseUrl());
  const { stub, server } = await startProcess({
    MIC_JOURNAL_URL: `postgres://mic:pass-word-123@127.0.0.1:${port}/journal`,
  });
  await expectRefused(stub, server, /ECONNREFUSED/, /MIC_JOURNAL_URL/);
  expect(server.stderr()).not.toContain("pass-word-123");
});

test("a read that concerns no action does not create a journal", async () => {
  const stateDir = join(await folderForTest(), "state");
  const { stub, server } = await startInProcess({ MIC_STATE_DIR: stateDir });
  stub.expect(answer(200, { data: [], meta: { requestId: "r-1" }, page: { nextCursor: null, hasMore: false } }));
  await server.call("list_jobs", { workspaceId: "micws_1" });
  await expect(stat(stateDir)).rejects.toThrow("ENOENT");
});

testUnless(posixMissing, "only the owner may read the journal: the folder is 0700, the files are 0600", async () => {
  const stateDir = join(await folderForTest(), "deep", "state");
  const { stub, server } = await startInProcess({ MIC_STATE_DIR: stateDir });
  await expectAccepted(stub, server);
  const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
  expect(await mode(stateDir)).toBe("700");
  for (const suffix of ["", "-wal", "-shm"]) expect(await mode(join(stateDir, `${FILE}${suffix}`))).toBe("600");
});

testUnless(posixMissing, "a journal file that others could read is restricted to its owner", async () => {
  const stateDir = await folderForTest();
  await mkdir(stateDir, { recursive: true });
  await writeFile(join(stateDir, FILE), "", { mode: 0o644 });
  await chmod(join(stateDir, FILE), 0o644);
  await (await openSqlite(stateDir)).close();
  expect((await stat(join(stateDir, FILE))).mode & 0o777).toBe(0o600);
});
