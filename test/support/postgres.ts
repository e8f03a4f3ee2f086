// Starts a temporary PostgreSQL server of the installed version (Debian package: postgresql) on a loopback port.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { freePort } from "./free-port.ts";
import { waitForExit } from "./process.ts";

const ROOT = "/usr/lib/postgresql";

function findBin(): string | undefined {
  if (!existsSync(ROOT)) return undefined;
  return readdirSync(ROOT)
    .map((version) => join(ROOT, version, "bin"))
    .findLast((bin) => existsSync(join(bin, "initdb")));
}

/** PostgreSQL refuses to run as root, so root runs it as the user that the Debian package creates. */
function findUserId(): number | undefined {
  if (process.getuid?.() !== 0) return undefined;
  try {
    return Number(execFileSync("id", ["-u", "postgres"], { encoding: "utf8" }));
  } catch {
    return undefined;
  }
}

const bin = findBin();
const uid = findUserId();

/** Folder of the PostgreSQL programs, and the user id that runs them if it is not this process's. */
export const postgresBin = bin;
export const postgresUser = uid;

/** Reason why there is no PostgreSQL; undefined if there is one. */
export const postgresMissing =
  bin === undefined
    ? "PostgreSQL is not installed"
    : process.getuid?.() === 0 && uid === undefined
      ? "root may not run PostgreSQL, and there is no user postgres"
      : undefined;

export interface PostgresServer {
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  /** Breaks off the connections of all clients. */
  cutConnections(): Promise<void>;
  run(sql: string): Promise<void>;
  /** Sends a signal to all its processes (Linux only). */
  signal(name: NodeJS.Signals): void;
  /** Kills all its processes at once and restarts it (Linux only). */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

/** Runs PostgreSQL's own programs as a permitted user in a separate folder. Throws Error if PostgreSQL is not installed. */
export function createPostgresInstallation() {
  if (bin === undefined) throw new Error(postgresMissing);
  const folder = mkdtempSync(join(tmpdir(), "mic-mcp-postgres-"));
  const identity = uid === undefined ? {} : { uid };
  if (uid !== undefined) chownSync(folder, uid, -1);
  return {
    folder,
    /** Runs a program and waits until it ends. */
    run(program: string, args: readonly string[]): void {
      execFileSync(join(bin, program), args, { ...identity, cwd: folder, stdio: "ignore" });
    },
    /** Starts a server on this data folder. */
    serve: (data: string, port: number, settings: readonly string[]): ChildProcess =>
      spawn(
        join(bin, "postgres"),
        [
          ...["-D", data, "-p", String(port), "-k", ""],
          ...["listen_addresses=127.0.0.1", ...settings].flatMap((setting) => ["-c", setting]),
        ],
        { ...identity, cwd: folder, stdio: "ignore" },
      ),
    remove() {
      // The folder has thousands of files, so the test does not wait for the deletion.
      spawn("rm", ["-rf", folder], { detached: true, stdio: "ignore" }).unref();
    },
  };
}

/** Sends a signal to a server and all its children (Linux only). */
export function signalAll(server: ChildProcess, name: NodeJS.Signals): void {
  const pid = server.pid ?? 0;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
  // If the server has already ended, its children have ended with it.
  for (const each of [pid, ...children])
    try {
      process.kill(each, name);
    } catch {}
}

/** Ends a server at once, with SIGQUIT, or SIGKILL for all its children. An orderly shutdown would take 1 min on a busy disk. */
export async function stopServer(server: ChildProcess, signalName: "SIGQUIT" | "SIGKILL"): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  if (signalName === "SIGKILL") signalAll(server, signalName);
  else server.kill(signalName);
  await waitForExit(server);
}

/** Waits until the server answers. Throws the last error if it does not within 10 s or has ended. */
export async function waitUntilReady(server: ChildProcess, probe: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await probe();
      return;
    } catch (error) {
      if (tries > 100 || server.exitCode !== null) throw error;
    }
    await sleep(100);
  }
}

/** Runs one statement on a separate connection. */
export async function queryPostgres(url: string, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const sql = postgres(url, { max: 1, fetch_types: false, connect_timeout: 10, onnotice: () => undefined });
  try {
    return await sql.unsafe<Readonly<Record<string, unknown>>[]>(text);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Settings for tests that do not depend on the disk after a crash. The program sets synchronous_commit itself. */
const NON_DURABLE_SETTINGS = [
  ...["fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum=off"],
  "max_connections=300",
];

/** Starts a server. `settings`: as after -c. */
export async function startPostgres(settings: readonly string[] = NON_DURABLE_SETTINGS): Promise<PostgresServer> {
  const installation = createPostgresInstallation();
  const data = join(installation.folder, "data");
  installation.run("initdb", ["-D", data, "-A", "trust", "-U", "mic", "--no-sync"]);
  const port = await freePort();
  const start = () => installation.serve(data, port, settings);
  let server = start();
  const url = (name: string) => `postgres://mic@127.0.0.1:${port}/${name}`;
  const runStatement = async (sql: string): Promise<void> => void (await queryPostgres(url("postgres"), sql));
  const waitForServer = () => waitUntilReady(server, () => runStatement("SELECT 1"));
  await waitForServer();
  let databases = 0;
  return {
    async createDatabase() {
      const name = `journal${++databases}`;
      await runStatement(`CREATE DATABASE ${name}`);
      return url(name);
    },
    cutConnections: () =>
      runStatement("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mic-mcp'"),
    run: runStatement,
    signal: (name) => signalAll(server, name),
    async crash() {
      await stopServer(server, "SIGKILL");
      server = start();
      await waitForServer();
    },
    async stop() {
      await stopServer(server, "SIGQUIT");
      installation.remove();
    },
  };
}
