// Tests a journal that cannot be used: actions are refused with advice, nothing is sent, and reads continue.
import { execFileSync } from "node:child_process";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openSqlite } from "../../src/store/sqlite.ts";
import { createJob, enveloped, job } from "../contract/samples.ts";
import { inProcessServerForTest, type RawClient, startServer } from "../support/server.ts";
import { answer, refusingBaseUrl, type Stub } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { testUnless } from "../support/unless.ts";
import { benchForTest } from "./bench.ts";

const FILE = "actions.sqlite";

async function startInProcess(stateDir: string) {
  const { stub, env } = await benchForTest({ MIC_STATE_DIR: stateDir });
  return { stub, server: await inProcessServerForTest(env) };
}

async function expectRefused(stub: Stub, server: RawClient, message: RegExp, next: RegExp): Promise<void> {
  const requestsBefore = stub.requests.length;
  for (const key of [undefined, "a-key-of-the-agent"]) {
    const result = await server.call("submit_job", { ...createJob, ...(key && { idempotencyKey: key }) });
    expect(result.error).toMatchObject({
      ...{ kind: "unavailable", sideEffect: "unknown", retryable: true, next: expect.stringMatching(next) },
      message: expect.stringMatching(message),
    });
    expect(result.error?.idempotencyKey).toBe(key);
    expect(result.error?.message).toMatch(/journal.*without it no action is sent.*This call sent nothing/s);
    expect(result.text).not.toContain("Nothing was changed");
  }
  expect(stub.requests).toHaveLength(requestsBefore);
  const listed = await server.call("list_actions", {});
  expect(listed.error).toMatchObject({ sideEffect: "none", next: expect.stringMatching(next) });
  stub.expect(answer(200, enveloped(job)));
  expect((await server.call("get_job", { jobId: "job-1" })).error).toBeUndefined();
}

async function expectAccepted(stub: Stub, server: RawClient): Promise<void> {
  stub.expect(answer(202, enveloped(job)));
  const result = await server.call("submit_job", { ...createJob, clientReference: "again" });
  expect(result.error, result.text).toBeUndefined();
}

/** Runs the rest of the command after `mount` in a separate mount namespace, in which other users become root. */
const mountCommand = (mount: string): readonly string[] => {
  const flags = process.getuid?.() === 0 ? "-m" : "-rm";
  return ["unshare", flags, "sh", "-c", `${mount} && exec "$@"`, "sh"];
};
const mountsMissing = ((): string | undefined => {
  const [command = "", ...args] = [...mountCommand("mount -t tmpfs tmpfs /mnt"), "true"];
  try {
    execFileSync(command, args, { stdio: "ignore" });
    return undefined;
  } catch {
    return "no mount namespaces here";
  }
})();

const remountReadOnly = (folder: string) => `mount --bind ${folder} ${folder} && mount -o remount,ro,bind ${folder}`;
const smallDisk = (size: string) => (folder: string) => `mount -t tmpfs -o size=${size} tmpfs ${folder}`;
const createJournalIn = async (folder: string, ...statements: readonly string[]) => {
  const database = await openSqlite(folder);
  for (const statement of statements) await database.query(statement);
  await database.close();
};
const VERSION_99 = [
  "CREATE TABLE journal_version (version INTEGER NOT NULL)",
  "INSERT INTO journal_version (version) VALUES (99)",
];

interface UnavailableJournal {
  readonly what: string;
  readonly prepare?: (folder: string) => Promise<unknown>;
  readonly mount?: (folder: string) => string;
  readonly message: RegExp;
  readonly next: RegExp;
}
const readOnly = { mount: remountReadOnly, message: /EROFS|read-?only/i, next: /writable|MIC_STATE_DIR/ };
const unavailableJournals: readonly UnavailableJournal[] = [
  { what: "on a read-only disk", ...readOnly },
  { what: "on a disk with a journal that is now read-only", prepare: createJournalIn, ...readOnly },
  {
    what: "on a full disk",
    mount: smallDisk("16k"),
    message: /full|ENOSPC|I\/O/i,
    next: /^Ask the user to free space/,
  },
  {
    what: "if the state folder is a file",
    prepare: (folder) => rm(folder, { recursive: true }).then(() => writeFile(folder, "")),
    message: /ENOTDIR|EEXIST/,
    next: /MIC_STATE_DIR/,
  },
  {
    what: "if the journal file is not a database",
    prepare: (folder) => writeFile(join(folder, FILE), "no database at all\n".repeat(500)),
    message: /not a database/,
    next: /[Mm]ove the damaged/,
  },
  {
    what: "if the journal is damaged",
    async prepare(folder) {
      await createJournalIn(folder, ...VERSION_99, "PRAGMA wal_checkpoint(TRUNCATE)");
      const bytes = await readFile(join(folder, FILE));
      await writeFile(join(folder, FILE), bytes.fill(0xab, 4096));
    },
    message: /malformed|corrupt/,
    next: /[Mm]ove the damaged/,
  },
  {
    what: "if the journal has a later version",
    prepare: (folder) => createJournalIn(folder, ...VERSION_99),
    message: /version 99/,
    next: /^Ask the user to run the version of mic-mcp that changed them/,
  },
];
for (const { what, prepare, mount, message, next } of unavailableJournals)
  testUnless(mount && mountsMissing, `actions are refused ${what}`, async () => {
    const stateDir = await folderForTest();
    await prepare?.(stateDir);
    const { stub, env } = await benchForTest({ MIC_STATE_DIR: stateDir });
    if (mount)
      return await expectRefused(stub, await startServer({ env, under: mountCommand(mount(stateDir)) }), message, next);
    const server = await inProcessServerForTest(env);
    const readJournal = () => readFile(join(stateDir, FILE)).catch(() => undefined);
    const before = await readJournal();
    await expectRefused(stub, server, message, next);
    expect(await readJournal(), "it is evidence").toEqual(before);
    await rm(stateDir, { recursive: true });
    await expectAccepted(stub, server);
  });

testUnless(mountsMissing, "actions are refused on a disk that fills up", async () => {
  const stateDir = await folderForTest();
  const under = mountCommand(smallDisk("256k")(stateDir));
  const { stub, env } = await benchForTest({ MIC_STATE_DIR: stateDir });
  const server = await startServer({ env, under });
  stub.respond(() => answer(202, enveloped(job)));
  const submit = (year: number) => server.call("submit_job", { ...createJob, parameterValues: { year } });
  let accepted = 0;
  let { error } = await submit(0);
  while (!error && ++accepted < 200) ({ error } = await submit(accepted));
  const next = expect.stringMatching(/^Ask the user to free space/);
  expect(error).toMatchObject({
    kind: "unavailable",
    sideEffect: "none",
    retryable: true,
    retryAfterSeconds: 30,
    next,
  });
  expect(accepted).toBeGreaterThan(0);
  expect(stub.requests, "what was refused was not sent").toHaveLength(accepted);
});

test("actions are refused while another process locks the journal, and accepted once it is unlocked", async () => {
  const stateDir = await folderForTest();
  const { stub, server } = await startInProcess(stateDir);
  const database = await openSqlite(stateDir);
  onTestFinished(() => database.close());
  await database.query("BEGIN EXCLUSIVE");
  const refused = server.call("submit_job", createJob);
  // While it waits for the lock, other calls continue.
  stub.expect(answer(200, enveloped(job)));
  expect((await server.call("get_job", { jobId: "job-1" })).error).toBeUndefined();
  expect((await refused).error).toMatchObject({
    ...{ kind: "unavailable", sideEffect: "unknown", retryable: true, message: expect.stringContaining("locked") },
    next: expect.stringMatching(/call again in a few seconds/),
  });
  expect(stub.requests).toHaveLength(1);
  await database.query("ROLLBACK");
  await expectAccepted(stub, server);
});

test("actions are refused if the PostgreSQL server is unreachable", async () => {
  const { port } = new URL(await refusingBaseUrl());
  const { stub, env } = await benchForTest({
    MIC_JOURNAL_URL: `postgres://mic:pass-word-123@127.0.0.1:${port}/journal`,
  });
  const server = await startServer({ env });
  await expectRefused(stub, server, /ECONNREFUSED/, /MIC_JOURNAL_URL/);
  expect(server.stderr()).not.toContain("pass-word-123");
});

test("a read that concerns no action does not create a journal", async () => {
  const stateDir = join(await folderForTest(), "state");
  const { stub, server } = await startInProcess(stateDir);
  stub.expect(answer(200, { data: [], meta: { requestId: "r-1" }, page: { nextCursor: null, hasMore: false } }));
  await server.call("list_jobs", { workspaceId: "micws_1" });
  await expect(stat(stateDir)).rejects.toThrow("ENOENT");
});
