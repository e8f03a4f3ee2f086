// Runs the commands of docs/operate/teams.md from an empty machine to a restored backup: each block of the page, in its order, in a new
// folder. The machine has PostgreSQL with two replicas, an identity provider and the (emulated) API. SUBSTITUTES lists all differences
// from what an operator types; three programs that need a running systemd or a password store are replaced by small scripts.
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished } from "vitest";
import { startEmulator } from "../../src/emulator/index.ts";
import { startHaproxy } from "../support/balancers.ts";
import { deploymentMissing } from "../support/deployment.ts";
import { freePort } from "../support/free-port.ts";
import { startIdentityProvider } from "../support/identity-provider.ts";
import { connectHttp } from "../support/mcp.ts";
import { postgresBin, queryPostgres, startPostgres } from "../support/postgres.ts";
import { startPostgresPair } from "../support/postgres-pair.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { testUnless, thoroughMissing } from "../support/unless.ts";

const execute = promisify(execFile);
const PAGE = "docs/operate/teams.md";
const UNIT = "deploy/systemd/mic-mcp@.service";
const TIMEOUT_MS = 300_000;

/** Stands in for systemd-run: runs a program with the variables of an EnvironmentFile. */
const SYSTEMD_RUN = `#!/bin/bash
while [[ $1 == --* ]]; do [[ $1 == --property=EnvironmentFile=* ]] && file=\${1#*EnvironmentFile=}; shift; done
while IFS= read -r line; do [[ $line == [A-Z]*=* ]] && export "$line"; done <"$file"
exec "$@"
`;

/** Stands in for systemctl: starts and stops a unit as its file says. */
const SYSTEMCTL = `#!/bin/bash
set -e
port=\${!#}; port=\${port#*@}; pidfile=$DRILL/$port.pid
if [[ $1 == stop ]]; then
  kill -TERM "$(cat "$pidfile")"
  while kill -0 "$(cat "$pidfile")" 2>/dev/null; do sleep 0.1; done
  exit
fi
value() { sed -n "s/^$1=//p" "$DRILL/unit" | sed "s/%i/$port/g; s#%d#$DRILL/credentials#g"; }
mkdir -p "$DRILL/credentials"
IFS=: read -r name from <<<"$(value LoadCredential)"
cp "$from" "$DRILL/credentials/$name"
while IFS= read -r line; do [[ $line == [A-Z]*=* ]] && export "$line"; done < <(cat "$(value EnvironmentFile)"; value Environment)
setsid $(value ExecStart) >>"$DRILL/$port.log" 2>&1 &
echo $! >"$pidfile"
`;

const PASS = `#!/bin/bash
cat "$DRILL/secret"
`;

/** The fenced blocks of a section of the page. */
function readBlocks(heading: string, language: "sh" | "sql"): readonly string[] {
  const section = readFileSync(PAGE, "utf8")
    .split(/^## (?:\d\. )?/m)
    .find((text) => text.startsWith(`${heading}\n`));
  const blocks = [...(section ?? "").matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))];
  return blocks.map(([, block = ""]) => block);
}

/** A free port of four digits, because the unit puts a 1 before it for the metrics. `from`: the first candidate. */
async function shortPort(from: number): Promise<number> {
  const isFree = await new Promise<boolean>((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen(from, "0.0.0.0", () => server.close(() => resolve(true)));
  });
  return isFree ? from : shortPort(from + 1);
}

/** A machine with PostgreSQL, an identity provider, an API and an empty folder instead of its system folders. */
async function setUp() {
  const folder = await folderForTest();
  for (const name of ["bin", "etc", "usr/bin"]) mkdirSync(join(folder, name), { recursive: true });
  const servers = await startPostgresPair(2);
  onTestFinished(() => servers.stop());
  await servers.setSynchronous(false);
  const [administrator = "", ...replicas] = (await servers.createDatabase()).split(",");
  const emulator = await startEmulator();
  onTestFinished(() => emulator.close());
  const provider = await startIdentityProvider({ groupsOf: () => ["mic-red"] });
  onTestFinished(() => provider.stop());
  const restored = await startPostgres();
  onTestFinished(() => restored.stop());
  const first = await shortPort(8931);
  const ports = [first, await shortPort(first + 1)] as const;
  const origin = `http://127.0.0.1:${await freePort()}`;
  const { stdout } = await execute("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder]);
  const [client] = emulator.clients;
  if (!client) throw new Error("the emulator has no client");
  const hostOf = (url: string) => new URL(url).host;
  const [primaryHost = "", replicaHost = ""] = [administrator, ...replicas].map(hostOf);

  const SUBSTITUTES: readonly (readonly [string, string])[] = [
    // This build instead of the published package, and folders of the test instead of the system's.
    ["npm install --global mic-mcp", `npm install --global ${join(folder, stdout.trim())}`],
    ["/etc/mic-mcp", join(folder, "etc/mic-mcp")],
    ["/usr/bin/mic-mcp", join(folder, "usr/bin/mic-mcp")],
    // The replicas of the test are named b and c, and its superuser is named mic.
    ["replica_a, replica_b", "b, c"],
    ["ROLE mic ", "ROLE operator "],
    ["OWNER mic", "OWNER operator"],
    ["postgres://mic:…@10.0.0.21", `postgres://operator@${primaryHost}`],
    ["postgres://mic:…@10.0.0.22", `postgres://operator@${replicaHost}`],
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

  const programs = { "systemd-run": SYSTEMD_RUN, systemctl: SYSTEMCTL, pass: PASS };
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(folder, "bin", name), text, { mode: 0o755 });
  writeFileSync(join(folder, "secret"), client.clientSecret);
  writeFileSync(join(folder, "unit"), substitute(readFileSync(UNIT, "utf8")));
  const env = {
    // Settings of the test run are not settings of the machine.
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(MIC|OTEL)_/.test(name))),
    PATH: [join(folder, "bin"), join(folder, "usr/bin"), postgresBin, process.env["PATH"]].join(":"),
    DRILL: folder,
    npm_config_prefix: join(folder, "usr/local"),
    // A deployment uses neither the keychain nor SQLite, so they are not downloaded.
    npm_config_omit: "optional",
  };
  let aliases = "shopt -s expand_aliases\n";
  /** Types a block into a shell that stops at the first error. Resolves with its stdout. */
  async function type(block: string, variables: Readonly<Record<string, string>> = {}): Promise<string> {
    const path = join(folder, "block.sh");
    writeFileSync(path, `set -e -o pipefail\n${aliases}${substitute(block)}`);
    aliases += block
      .split("\n")
      .filter((line) => line.startsWith("alias "))
      .map(substitute)
      .join("\n");
    aliases += "\n";
    const options = { env: { ...env, ...variables }, cwd: folder };
    const { stdout } = await execute("bash", [path], options).catch((error: unknown) => {
      throw new Error(`${block}\n${Object(error).stdout}${Object(error).stderr}`);
    });
    return stdout;
  }
  onTestFinished(async () => {
    for (const port of ports) await type(`systemctl stop mic-mcp@${port}`).catch(() => undefined);
  });
  return { folder, administrator, emulator, provider, restored, ports, origin, substitute, type };
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
  "the commands of the page lead from an empty machine to two instances and a restored backup",
  async () => {
    const machine = await setUp();
    const { folder, administrator, emulator, provider, restored, ports, origin, substitute, type } = machine;
    const [install = "", alias = ""] = readBlocks("Install", "sh");
    // The second line is the alternative with Docker.
    await type(install.split("\n")[0] ?? "");
    for (const statement of readBlocks("PostgreSQL", "sql").flatMap((block) => block.trim().split(";\n")))
      await queryPostgres(administrator, substitute(statement));
    for (const block of readBlocks("Keys", "sh")) await type(block);
    const [variables = ""] = readBlocks("Variables", "sh");
    const settings = join(folder, "etc/mic-mcp/teams.env");
    writeFileSync(settings, substitute(variables), { mode: 0o600 });
    await type(alias);
    const [teams = ""] = readBlocks("Teams", "sh");
    expect(await type(teams)).toMatch(/All checks passed/);

    const start = (port: number) => type(`systemctl enable --now mic-mcp@${port}`);
    expect(readFileSync(PAGE, "utf8")).toContain("`systemctl enable --now mic-mcp@8931`");
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
    const act = (at: number) =>
      client.callTool("register_input", { inputKind: "M4_FILE", referenceId: emulator.fileIds[at] });
    expect((await act(0)).isError).toBe(false);

    // The page's drill: a backup, an action that it does not contain, and a restore into an empty server.
    const [drill = ""] = readBlocks("Backup and restore", "sh");
    const [backup = "", ...steps] = drill.trim().split("\n");
    const url = /^MIC_DATABASE_URL=([^,]*)/m.exec(substitute(variables))?.[1] ?? "";
    await type(backup, { MIC_DATABASE_URL: url });
    expect((await act(1)).isError).toBe(false);
    const restoredUrl = await restored.createDatabase();
    const newSettings = readFileSync(settings, "utf8").replace(/^(MIC_DATABASE_URL)=.*$/m, `$1=${restoredUrl}`);
    let readiness = "";
    for (const step of steps) {
      if (step.startsWith("systemctl stop")) await type(`systemctl stop mic-mcp@${ports[1]}`);
      if (step.startsWith("systemctl start")) writeFileSync(settings, `${newSettings}MIC_DATABASE_DURABILITY=local\n`);
      if (step.startsWith("curl")) await waitUntilReady(ports[0]);
      readiness = await type(step, { RESTORED_DATABASE_URL: restoredUrl });
    }
    expect(JSON.parse(readiness)).toMatchObject({ checks: { database: { restoredAt: expect.anything() } } });
    await waitUntilBalanced(origin);
    // The restored instance does not know the second action, and says so.
    const listed = await client.callTool("list_actions", {});
    expect(listed.text).toMatch(/restored/);
  },
  TIMEOUT_MS,
);
