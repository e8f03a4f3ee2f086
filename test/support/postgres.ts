// A throw-away PostgreSQL server of this machine's own installation (Debian: postgresql), on a loopback port.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { freePort } from "./free-port.ts";

const ROOT = "/usr/lib/postgresql";

function findBin(): string | undefined {
  if (!existsSync(ROOT)) return undefined;
  return readdirSync(ROOT)
    .map((version) => join(ROOT, version, "bin"))
    .findLast((bin) => existsSync(join(bin, "initdb")));
}

/** PostgreSQL refuses to run as root: then it is the user that Debian's package makes. */
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

/** Where its programs are, and whom they run as where that is not this process's user. */
export const postgresBin = bin;
export const postgresUser = uid;

/** Why there is no PostgreSQL here; undefined where there is one. */
export const postgresMissing =
  bin === undefined
    ? "PostgreSQL is not installed"
    : process.getuid?.() === 0 && uid === undefined
      ? "root may not run PostgreSQL, and there is no user postgres"
      : undefined;

export interface PostgresServer {
  /** A new, empty database. */
  createDatabase(): Promise<string>;
  /** Breaks every client's connection off. */
  cutConnections(): Promise<void>;
  run(sql: string): Promise<void>;
  /** Sends all its processes a signal (Linux only). */
  signal(name: NodeJS.Signals): void;
  /** Kills all its processes at once and starts it again (Linux only). */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

async function waitForExit(server: ChildProcess): Promise<void> {
  if (server.exitCode === null && server.signalCode === null)
    await new Promise((resolve) => server.once("exit", resolve));
}

/** PostgreSQL's own programs, run as the user that may; in a folder of its own. Throws where it is not installed. */
export function createPostgresInstallation() {
  if (bin === undefined) throw new Error(postgresMissing);
  const folder = mkdtempSync(join(tmpdir(), "mic-mcp-postgres-"));
  const identity = uid === undefined ? {} : { uid };
  if (uid !== undefined) chownSync(folder, uid, -1);
  return {
    folder,
    /** Runs one to its end. */
    run(program: string, args: readonly string[]): void {
      execFileSync(join(bin, program), args, { ...identity, cwd: folder, stdio: "ignore" });
    },
    /** A server on these data. */
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
      // Thousands of files: whoever waits for it may wait for long.
      spawn("rm", ["-rf", folder], { detached: true, stdio: "ignore" }).unref();
    },
  };
}

/** Sends a server and all its children a signal (Linux only). */
export function signalAll(server: ChildProcess, name: NodeJS.Signals): void {
  const pid = server.pid ?? 0;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
  // Its children have ended by themselves where it has gone.
  for (const each of [pid, ...children])
    try {
      process.kill(each, name);
    } catch {}
}

/** Ends it at once (SIGQUIT, SIGKILL with all its children): writing down what is thrown away takes a minute on a busy disk. */
export async function stopServer(server: ChildProcess, signalName: "SIGQUIT" | "SIGKILL"): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  if (signalName === "SIGKILL") signalAll(server, signalName);
  else server.kill(signalName);
  await waitForExit(server);
}

/** When it answers. Throws what it last failed with where it does not, within ten seconds. */
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

/** Runs one statement on a connection of its own. */
export async function queryPostgres(url: string, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const sql = postgres(url, { max: 1, fetch_types: false, connect_timeout: 10, onnotice: () => undefined });
  try {
    return await sql.unsafe<Readonly<Record<string, unknown>>[]>(text);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Where no test is about what a crash leaves on disk. */
const NON_DURABLE_SETTINGS = ["fsync=off", "full_page_writes=off", "synchronous_commit=off", "autovacuum=off"];

/** `settings`: as after -c. */
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
