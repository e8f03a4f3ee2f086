// Runs the commands of the pages for operators from empty machines to a restored backup: each block, in its order, in a new folder. Addresses of this machine stand in for other machines: 127.0.0.21 to 127.0.0.23 for the PostgreSQL servers. SUBSTITUTES lists
// all differences from what an operator types; programs that need systemd, ssh or a password store are replaced by small scripts.
import { execFile } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, onTestFinished } from "vitest";
import { startEmulator } from "../../src/emulator/index.ts";
import { startHaproxy } from "../support/balancers.ts";
import { deploymentMissing } from "../support/deployment.ts";
import { freePort, freeShortPort } from "../support/free-port.ts";
import { startIdentityProvider } from "../support/identity-provider.ts";
import { countExecutions, LOAD_OPERATION_ID } from "../support/load.ts";
import { connectHttp, type TestClient } from "../support/mcp.ts";
import { postgresBin, postgresUser } from "../support/postgres.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { testUnless, thoroughMissing } from "../support/unless.ts";

const execute = promisify(execFile);
const SETUP = "docs/operate/teams.md";
const FOLDER = "docs/operate";
const PAGES = readdirSync(FOLDER).map((name) => join(FOLDER, name));
const UNITS = "deploy/systemd";
const TIMEOUT_MS = 400_000;

/** Stands in for ssh: MACHINE is the address of the machine on which a command runs. */
const SSH = `#!/bin/bash
MACHINE=\${1#root@} PGHOST=$SERVERS/\${1#root@} exec bash -c "\${*:2}"
`;

/** Stands in for runuser if the test does not run as root. */
const RUNUSER = `#!/bin/bash
exec "\${@:4}"
`;

/**
 * Stands in for systemctl: starts, stops and kills the PostgreSQL server of MACHINE, and starts and stops other units as their files say.
 * It ignores timers.
 */
const SYSTEMCTL = `#!/bin/bash
set -e
for unit in "\${@:2}"; do
  case $unit in
    -* | *.timer) continue ;;
    postgresql@*)
      files=$SERVERS/$MACHINE
      control() { runuser -u postgres -- pg_ctl --pgdata="$files/main" --wait "$@" >>"$files/control.log"; }
      options="-c port=$PGPORT -c listen_addresses=$MACHINE -c unix_socket_directories=$files -c hba_file=$files/etc/pg_hba.conf -c fsync=off -c ssl=on -c ssl_cert_file=$SERVERS/tls.pem -c ssl_key_file=$SERVERS/tls.key"
      pid=$(head -n 1 "$files/main/postmaster.pid" 2>/dev/null || true)
      case $1 in
        kill) kill -KILL "$pid" $(ps -o pid= --ppid "$pid") ;;
        stop) [[ -z $pid ]] || ! kill -0 "$pid" 2>/dev/null || control stop --mode=fast ;;
        restart) control restart --mode=fast --options="$options" --log="$files/server.log" ;;
        start) control start --options="$options" --log="$files/server.log" ;;
      esac
      continue ;;
  esac
  port=\${unit#*@}; pidfile=$DRILL/$unit.pid; file=$DRILL/units/\${unit/@*/@}.service
  if [[ $1 == stop ]]; then
    kill -TERM "$(cat "$pidfile")"
    while kill -0 "$(cat "$pidfile")" 2>/dev/null; do sleep 0.1; done
    continue
  fi
  value() { sed -n "s/^$1=//p" "$file" | sed "s/%i/$port/g; s#%d#$DRILL/credentials#g; s/%%/%/g; s/[$][$]/$/g"; }
  run() { while IFS= read -r command; do eval "$command" </dev/null; done < <(value "$1"); }
  mkdir -p "$DRILL/credentials" "$SERVERS/backup"
  ! IFS=: read -r name from < <(value LoadCredential) || cp "$from" "$DRILL/credentials/$name"
  while IFS= read -r line; do [[ $line == [A-Z]*=* ]] && export "$line"; done < <(value Environment; cat "$(value EnvironmentFile)")
  run ExecStartPre
  if [[ $(value Type) == oneshot ]]; then
    run ExecStart
  else
    setsid $(eval echo "$(value ExecStart)") >>"$DRILL/$unit.log" 2>&1 &
    echo $! >"$pidfile"
  fi
  run ExecStartPost
done
`;

const PASS = `#!/bin/bash
cat "$DRILL/secret"
`;

const SECTIONS = PAGES.map((page) => readFileSync(page, "utf8"))
  .join("\n")
  .split(/^##? (?:\d\. )?/m);

const blocksIn = (section: string): readonly string[] =>
  [...section.matchAll(/^( *)```(?:sh|sql)\n(.*?)^ *```/gms)].map(([, indentation = "", block = ""]) =>
    // Blocks in a list are indented.
    block.replaceAll(new RegExp(`^${indentation}`, "gm"), ""),
  );

const unread = new Set(SECTIONS.flatMap(blocksIn));
function readBlocks(heading: string): readonly string[] {
  const blocks = blocksIn(SECTIONS.find((text) => text.startsWith(`${heading}\n`)) ?? "");
  for (const block of blocks) unread.delete(block);
  return blocks;
}

/** The beginnings of the blocks that this test does not run, and why. */
const NOT_RUN = {
  "CREATE ROLE mic_app": "../teams/commands.test.ts runs it",
  "SELECT team, to_timestamp": "../teams/monitoring.test.ts runs it",
  "ALTER ROLE mic SET": "../teams/pgbouncer.test.ts runs it",
  MIC_AUTH_ISSUER: "../teams/chaos/providers.test.ts signs in with these settings, if the provider can be installed",
  MIC_RESTORE_GAP: "../teams/restored-journal.test.ts sets it",
  OTEL_: "../telemetry/ sets these variables",
  'psql "host=db': "needs a managed service",
  kubectl: "needs a cluster; files.test.ts checks the manifests",
  "echo 'ARGS=": "needs the package of node_exporter",
};

const MACHINES = ["127.0.0.21", "127.0.0.22", "127.0.0.23"];

async function createServers(): Promise<string> {
  const servers = mkdtempSync(join(tmpdir(), "mic-mcp-servers-"));
  const runAs = { uid: postgresUser, cwd: servers };
  if (postgresUser !== undefined) chownSync(servers, postgresUser, -1);
  const [first = "", ...others] = MACHINES.map((machine) => join(servers, machine));
  const main = join(first, "main");
  await execute(join(postgresBin ?? "", "initdb"), ["-D", main, "-U", "postgres", "-A", "trust", "--no-sync"], runAs);
  mkdirSync(join(first, "etc"));
  writeFileSync(join(first, "etc/pg_hba.conf"), "local all all trust\n");
  // The package of Debian creates a certificate, too.
  const certificate = ["-keyout", join(servers, "tls.key"), "-out", join(servers, "tls.pem"), "-subj", "/CN=localhost"];
  await execute("openssl", ["req", "-x509", "-nodes", "-newkey", "rsa:2048", ...certificate], runAs);
  for (const other of others) await execute("cp", ["-a", first, other], runAs);
  return servers;
}

/** Machines with PostgreSQL, an identity provider, an API and an empty folder instead of the system's folders. */
async function setUp() {
  const folder = await folderForTest();
  for (const name of ["bin", "etc", "units"]) mkdirSync(join(folder, name), { recursive: true });
  const servers = await createServers();
  const databasePort = await freePort();
  const emulator = await startEmulator();
  onTestFinished(() => emulator.close());
  const provider = await startIdentityProvider({ groupsOf: () => ["mic-red"] });
  onTestFinished(() => provider.stop());
  const first = await freeShortPort(8931);
  const ports = [first, await freeShortPort(first + 1)] as const;
  const origin = `http://127.0.0.1:${await freePort()}`;
  const { stdout } = await execute("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder]);
  const [client] = emulator.clients;
  if (!client) throw new Error("the emulator has no client");
  const SUBSTITUTES: readonly (readonly [string, string])[] = [
    // This build instead of the published package, and folders of the test instead of the system's.
    ["npm install --global mic-mcp", `npm install --global ${join(folder, stdout.trim())}`],
    ["/etc/mic-mcp", join(folder, "etc/mic-mcp")],
    ["/etc/postgresql/15/main", "$SERVERS/$MACHINE/etc"],
    ["/var/lib/postgresql/15/main", "$SERVERS/$MACHINE/main"],
    ["/var/lib/mic-mcp-backup", "$SERVERS/backup"],
    ["PASSWORD '…'", "PASSWORD 'secret'"],
    ["password=…", "password=secret"],
    ["PASSWORD=…", "PASSWORD=secret"],
    ...[1, 2, 3].map((at) => [`mic:…@10.0.0.2${at}`, `mic:secret@127.0.0.2${at}:${databasePort}`] as const),
    ["10.0.0.2", "127.0.0.2"],
    ["10.0.0.0/24", "127.0.0.0/24"],
    // Addresses of this machine, without TLS.
    ["https://mic.example.org", origin],
    ["https://login.example.org", provider.issuer],
    ["https://api.example.com", emulator.baseUrl],
    ["10.0.0.10", "127.0.0.1"],
    ["10.0.0.11:8931", `127.0.0.1:${ports[0]}`],
    ["mic-mcp@8931", `mic-mcp@${ports[0]}`],
    // The team's credentials, which the page abbreviates.
    ["micclient_…", client.clientId],
    ["micws_…", client.workspaceId],
  ];
  const substitute = (text: string): string =>
    SUBSTITUTES.reduce((result, [from, to]) => result.replaceAll(from, to), text);

  const programs = {
    ...{ systemctl: SYSTEMCTL, pass: PASS, ssh: SSH },
    ...(postgresUser === undefined && { runuser: RUNUSER }),
  };
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(folder, "bin", name), text, { mode: 0o755 });
  writeFileSync(join(folder, "secret"), client.clientSecret);
  for (const name of readdirSync(UNITS))
    writeFileSync(join(folder, "units", name), substitute(readFileSync(join(UNITS, name), "utf8")));
  const env = {
    // Settings of the test run are not settings of the machine.
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(MIC|OTEL)_/.test(name))),
    PATH: [join(folder, "bin"), join(folder, "usr/local/bin"), postgresBin, process.env["PATH"]].join(":"),
    DRILL: folder,
    SERVERS: servers,
    PGPORT: String(databasePort),
    PGUSER: "postgres",
    npm_config_prefix: join(folder, "usr/local"),
    // A deployment uses neither the keychain nor SQLite, so they are not downloaded.
    npm_config_omit: "optional",
  };
  let functions = "export PGHOST=$SERVERS/$MACHINE\n";
  /** Types a block into a shell that stops at the first error. Resolves with its stdout. */
  async function type(block: string, variables: Readonly<Record<string, string>> = {}): Promise<string> {
    const path = join(folder, "block.sh");
    writeFileSync(path, `set -e -o pipefail\n${functions}${substitute(block)}`);
    functions += block
      .split("\n")
      .filter((line) => /^\w+\(\) \{/.test(line))
      .map(substitute)
      .join("\n");
    functions += "\n";
    const options = { env: { ...env, ...variables }, cwd: folder };
    const { stdout } = await execute("bash", [path], options).catch((error: unknown) => {
      throw new Error(`${block}\n${Object(error).stdout}${Object(error).stderr}`);
    });
    return stdout;
  }
  onTestFinished(async () => {
    for (const unit of [...ports.map((port) => `mic-mcp@${port}`), "mic-mcp-wal"])
      await type(`systemctl stop ${unit}`).catch(() => undefined);
  });
  onTestFinished(async () => {
    for (const MACHINE of MACHINES) await type("systemctl kill postgresql@15-main", { MACHINE }).catch(() => undefined);
    rmSync(servers, { recursive: true, force: true, maxRetries: 5 });
  });
  for (const MACHINE of MACHINES) await type("systemctl start postgresql@15-main", { MACHINE });
  return { folder, emulator, provider, ports, origin, substitute, type };
}

/** Registers one input after another until `stop`, and repeats each call until it succeeds. */
function startCalling(client: TestClient, emulator: { readonly fileIds: readonly string[] }) {
  let isStopping = false;
  let succeeded = 0;
  let latestAt = performance.now();
  let longestMs = 0;
  async function run(): Promise<void> {
    for (let n = 1; !isStopping; n++) {
      const args = { inputKind: "M4_FILE", referenceId: emulator.fileIds[0], idempotencyKey: `drill-call-${n}` };
      // During the drill, some calls fail; an identical call resumes the action.
      while (
        await client.callTool("register_input", args).then(
          ({ isError }) => isError,
          () => true,
        )
      )
        await sleep(100);
      longestMs = Math.max(longestMs, performance.now() - latestAt);
      latestAt = performance.now();
      succeeded += 1;
    }
  }
  const running = run();
  return {
    /** Waits for more successful calls. Resolves with the longest time between two since the last time, in seconds. */
    async waitForMore(): Promise<string> {
      const before = succeeded;
      await expect.poll(() => succeeded, { timeout: 60_000 }).toBeGreaterThan(before + 3);
      const seconds = (longestMs / 1_000).toFixed(1);
      longestMs = 0;
      return seconds;
    },
    async stop(): Promise<number> {
      isStopping = true;
      await running;
      return succeeded;
    },
  };
}

/** The status of a response; 503 without a response. */
const readStatus = (url: string): Promise<number> =>
  fetch(url).then(
    ({ status }) => status,
    () => 503,
  );
const waitUntilReady = (port: number) => expect.poll(() => readStatus(`http://127.0.0.1:${port}/readyz`)).toBe(200);
/** HAProxy answers 503 until its health check has found an instance. */
const waitUntilBalanced = (origin: string) => expect.poll(() => readStatus(`${origin}/mcp`)).not.toBe(503);

testUnless(
  thoroughMissing ?? deploymentMissing,
  "the commands of the pages set up two instances, switch the primary twice, and restore a backup to a point in time",
  async () => {
    const machine = await setUp();
    const { folder, emulator, provider, ports, origin, substitute, type } = machine;
    const [install = ""] = readBlocks("Install");
    // The second line is the alternative with Docker.
    await type(install.split("\n")[0] ?? "");
    const [access = "", primary = "", replica = ""] = readBlocks("PostgreSQL");
    const [one = "", two = "", three = ""] = MACHINES;
    const addReplica = (MACHINE: string, name: string) =>
      type(replica.replace("name=mic_b", `name=${name}`), { MACHINE });
    for (const MACHINE of MACHINES) await type(access, { MACHINE });
    await type(primary, { MACHINE: one });
    await addReplica(two, "mic_b");
    await addReplica(three, "mic_c");
    for (const block of readBlocks("Keys")) await type(block);
    const [variables = ""] = readBlocks("Variables");
    const settings = join(folder, "etc/mic-mcp/teams.env");
    writeFileSync(settings, substitute(variables), { mode: 0o600 });
    const [teams = ""] = readBlocks("Teams");
    expect(await type(teams)).toMatch(/All checks passed/);

    const start = (port: number) => type(`systemctl enable --now mic-mcp@${port}`);
    expect(readFileSync(SETUP, "utf8")).toContain("`systemctl enable --now mic-mcp@8931`");
    for (const port of ports) {
      await start(port);
      await waitUntilReady(port);
    }
    const instances = ports.map((port) => `http://127.0.0.1:${port}`);
    const balancer = await startHaproxy(instances, { port: Number(new URL(origin).port) });
    onTestFinished(() => balancer.stop());
    await waitUntilBalanced(origin);
    const token = await provider.issueToken(`${origin}/mcp`, { seconds: 3_600 });
    const client = await connectHttp("v2-modern", `${origin}/mcp`, { token });
    onTestFinished(() => client.close());
    const act = (at: number, key = {}) =>
      client.callTool("register_input", { inputKind: "M4_FILE", referenceId: emulator.fileIds[at], ...key });
    expect((await act(0)).isError).toBe(false);
    const [startBackups = "", restore = "", startAgain = ""] = readBlocks("Backup and restore");
    const BACKUPS = { MACHINE: "127.0.0.24" };
    await type(startBackups, BACKUPS);

    const [firstSteps = ""] = readBlocks("Runbook");
    expect(await type(firstSteps.replace(/^journalctl.*\n/m, ""))).toMatch(/"status":"ok"(?:.*\n)+All checks passed/);
    const [listUnknown = ""] = readBlocks("MicUnknownActions");
    expect(await type(listUnknown)).toBe("No actions with state unknown.\n");
    const [compare = ""] = readBlocks("MicDatabaseDegraded");
    expect(await type(`runuser -u postgres -- psql -At <<'END'\n${compare}END`, { MACHINE: two })).toMatch(
      /^\w+\/\w+\|\d{4}-/,
    );
    const [functions = "", kill = "", promote = "", follow = "", back = ""] = readBlocks("Failover drill");
    const calling = startCalling(client, emulator);
    await calling.waitForMore();
    await type(functions);
    await type(kill);
    const [receivedTwo = "", receivedThree = ""] = (await type(promote.replace(/^sql .*\n/m, ""))).split("\n");
    const numberOf = (lsn: string): bigint =>
      lsn.split("/").reduce((sum, part) => (sum << 32n) + BigInt(`0x${part}`), 0n);
    const isSwapped = numberOf(receivedThree) > numberOf(receivedTwo);
    /** The page promotes 10.0.0.22; here the other replica may have received more. */
    const onBest = (block: string) => (isSwapped ? block.replaceAll("10.0.0.22", "10.0.0.23") : block);
    await type(onBest(promote));
    const listReplicas = (block: string) =>
      expect.poll(() => type(block).then((text) => text.trim().split("\n").sort()));
    const [best, bestName, other] = isSwapped ? [three, "mic_c", "mic_b"] : [two, "mic_b", "mic_c"];
    await listReplicas(onBest(follow)).toEqual([`${other}|streaming`]);
    const seconds = { killed: await calling.waitForMore() };
    await addReplica(one, "mic_a");
    await listReplicas(onBest(follow)).toEqual(["mic_a|streaming", `${other}|streaming`]);
    const added = { first: await calling.waitForMore() };
    const [stop = "", promoteFirst = "", list = ""] = onBest(back).trim().split("\n");
    await type(stop);
    await type(promoteFirst);
    await listReplicas(list).toEqual([`${other}|streaming`]);
    const switched = await calling.waitForMore();
    await addReplica(best, bestName);
    await listReplicas(list).toEqual(["mic_b|streaming", "mic_c|streaming"]);
    console.info("seconds without success:", {
      ...seconds,
      switched,
      added: [added.first, await calling.waitForMore()],
    });
    const calls = await calling.stop();
    expect(await countExecutions(emulator.baseUrl, LOAD_OPERATION_ID)).toBe(calls + 1);
    for (const instance of instances) {
      const { checks } = Object(await (await fetch(`${instance}/readyz`)).json());
      expect(checks.database.status).not.toBe("failed");
      expect(checks.database).not.toHaveProperty("restoreGap");
    }

    // A new password: the second role acts as the first one, which keeps the tables.
    const [secondRole = ""] = readBlocks("Keys and passwords");
    await type(secondRole, { MACHINE: one });
    const oldSettings = readFileSync(settings, "utf8");
    writeFileSync(settings, oldSettings.replaceAll("//mic:secret@", "//mic_2:secret@"));
    for (const port of ports) {
      await type(`systemctl stop mic-mcp@${port}`);
      await start(port);
      await waitUntilReady(port);
      await waitUntilBalanced(origin);
    }
    await type(`runuser -u postgres -- psql -c 'ALTER ROLE mic PASSWORD NULL'`, { MACHINE: one });
    expect((await act(1)).isError).toBe(false);

    // Recovery, from a backup before both switches, to the time between two actions, while the instances run.
    const time = await type(`runuser -u postgres -- psql -At -c 'SELECT clock_timestamp()'`, { MACHINE: one });
    expect((await act(2, { idempotencyKey: "after-the-backup" })).isError).toBe(false);
    const executions = await countExecutions(emulator.baseUrl, LOAD_OPERATION_ID);
    for (const MACHINE of MACHINES) await type("systemctl stop postgresql@15-main", { MACHINE });
    const [listBackups = ""] = restore.split("\n");
    const [base = ""] = /^base-.*$/m.exec(await type(listBackups, { MACHINE: one })) ?? [];
    const chosen = restore.replace(/base-2.*/, base).replace("2026-07-28 09:30:00+00", time.trim());
    await type(chosen, { MACHINE: one });
    await addReplica(two, "mic_b");
    await addReplica(three, "mic_c");
    for (const [at, port] of ports.entries()) {
      await waitUntilReady(port);
      const readGap = async () => Object(await (await fetch(`${instances[at]}/readyz`)).json()).checks.database;
      // A slow check reports the range only when it has ended.
      await expect.poll(readGap).toHaveProperty("restoreGap");
    }
    await waitUntilBalanced(origin);
    expect((await client.callTool("list_actions", {})).text).toMatch(/restored/);
    // The journal lacks the action. The API recognizes its key.
    expect((await act(2, { idempotencyKey: "after-the-backup" })).isError).toBe(false);
    expect(await countExecutions(emulator.baseUrl, LOAD_OPERATION_ID)).toBe(executions);
    expect((await act(3, { idempotencyKey: "after-the-restore" })).isError).toBe(false);
    await type(startAgain, BACKUPS);
    expect([...unread].filter((block) => !Object.keys(NOT_RUN).some((start) => block.startsWith(start)))).toEqual([]);
  },
  TIMEOUT_MS,
);
