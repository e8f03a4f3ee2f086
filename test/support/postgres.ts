// Starts a temporary PostgreSQL server of the installed version (Debian package: postgresql) on a loopback port.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { freePort } from "./free-port.ts";
import { CODE_CACHE } from "./mcp.ts";
import { findChildren, waitForExit } from "./process.ts";

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

/** Folder of the PostgreSQL programs, and the user id that runs them if it is not this process's. */
export const postgresBin = findBin();
export const postgresUser = findUserId();

export const postgresMissing =
  postgresBin === undefined
    ? "PostgreSQL is not installed"
    : process.getuid?.() === 0 && postgresUser === undefined
      ? "root may not run PostgreSQL, and there is no user postgres"
      : undefined;

/** Creates a separate folder for servers. Throws Error if PostgreSQL is not installed. */
export function createPostgresInstallation() {
  if (postgresBin === undefined) throw new Error(postgresMissing);
  const folder = mkdtempSync(join(tmpdir(), "mic-mcp-postgres-"));
  if (postgresUser !== undefined) chownSync(folder, postgresUser, -1);
  const as = { uid: postgresUser, cwd: folder, stdio: "ignore" } as const;

  /** Creates a server that can be started repeatedly on the same data and port. */
  async function createServer(name: string, settings: readonly string[]) {
    const [data, port] = [join(folder, name), await freePort()];
    const parameters = ["listen_addresses=127.0.0.1", ...settings].flatMap((setting) => ["-c", setting]);
    let server: ChildProcess | undefined;
    const url = (database = "postgres") => `postgres://mic@127.0.0.1:${port}/${database}`;
    const query = (sql: string) => queryPostgres(url(), sql);
    /** Sends a signal to the server and all its children (Linux only). */
    const signal = (signalName: NodeJS.Signals): void => {
      if (server?.pid === undefined) return;
      // If the server has already ended, its children have ended with it.
      for (const each of [server.pid, ...findChildren(server.pid)])
        try {
          process.kill(each, signalName);
        } catch {}
    };
    return {
      ...{ name, data, port, url, query, signal },
      isRunning: () => server !== undefined,
      async start(): Promise<void> {
        const started = spawn(
          join(postgresBin ?? "", "postgres"),
          ["-D", data, "-p", String(port), "-k", "", ...parameters],
          as,
        );
        server = started;
        for (let tries = 0; ; tries++) {
          const error = await query("SELECT 1").then(
            () => undefined,
            (reason: unknown) => reason,
          );
          if (error === undefined) return;
          if (tries > 100 || started.exitCode !== null) throw error;
          await sleep(100);
        }
      },
      /** Ends the server at once; SIGKILL: with all its children. An orderly shutdown would take 1 min on a busy disk. */
      async end(signalName: "SIGQUIT" | "SIGKILL"): Promise<void> {
        if (server && server.exitCode === null && server.signalCode === null) {
          if (signalName === "SIGKILL") signal(signalName);
          else server.kill(signalName);
          await waitForExit(server);
        }
        server = undefined;
      },
    };
  }

  const run = (program: string, args: readonly string[]): void =>
    void execFileSync(join(postgresBin, program), args, as);
  const initdb = (data: string, ...options: readonly string[]): void =>
    run("initdb", ["-D", data, "-A", "trust", "-U", "mic", "--no-sync", ...options]);
  const copy = (from: string, to: string) => execFileSync("cp", ["-a", from, to]);

  return {
    createServer,
    run,
    initdb,
    /**
     * Creates the data of a new server with the user mic. The first call in this clone keeps a copy for the others, because initdb takes
     * 1 s of CPU time. So all these servers have the same system identifier.
     */
    initialize(data: string): void {
      const kept = join(CODE_CACHE, `postgres-${postgresUser}${postgresBin.replaceAll("/", "-")}`);
      if (existsSync(kept)) {
        copy(kept, data);
        return;
      }
      initdb(data);
      mkdirSync(CODE_CACHE, { recursive: true });
      const unfinished = `${kept}.${process.pid}`;
      copy(data, unfinished);
      try {
        renameSync(unfinished, kept);
      } catch {
        // Another worker was faster.
        rmSync(unfinished, { recursive: true });
      }
    },
    remove() {
      // The folder has thousands of files, so the test does not wait for the deletion.
      spawn("rm", ["-rf", folder], { detached: true, stdio: "ignore" }).unref();
    },
  };
}
export type PostgresNode = Awaited<ReturnType<ReturnType<typeof createPostgresInstallation>["createServer"]>>;

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

export async function startPostgres(settings: readonly string[] = NON_DURABLE_SETTINGS) {
  const installation = createPostgresInstallation();
  const server = await installation.createServer("data", settings);
  installation.initialize(server.data);
  await server.start();
  let databases = 0;
  return {
    async createDatabase() {
      const name = `journal${++databases}`;
      await server.query(`CREATE DATABASE ${name}`);
      return server.url(name);
    },
    cutConnections: () =>
      server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mic-mcp'"),
    run: async (sql: string) => void (await server.query(sql)),
    signal: server.signal,
    /** Kills all its processes at once and restarts it (Linux only). */
    crash: () => server.end("SIGKILL").then(server.start),
    stop: () => server.end("SIGQUIT").then(installation.remove),
  };
}
export type PostgresServer = Awaited<ReturnType<typeof startPostgres>>;
