// Tests an instance behind pgbouncer in transaction mode with TLS.

import { chownSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { opensslMissing } from "../support/certificate.ts";
import { emulatorForTest } from "../support/emulator.ts";
import { freePort } from "../support/free-port.ts";
import { countExecutions, LOAD_OPERATION_ID } from "../support/load.ts";
import { postgresMissing, postgresUser, queryPostgres } from "../support/postgres.ts";
import { launchProcess, missingProgram, waitForPort } from "../support/process.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { testUnless } from "../support/unless.ts";
import { connectCaller, createCaller, environmentForTest, instanceForTest } from "./deployment.ts";
import { tlsPostgresForTest } from "./services.ts";

const CALLERS = 6;
const ACTIONS = 10;

/** Starts pgbouncer in front of the server of a URL, with fewer connections than callers. Returns the URL through it. */
async function startPgbouncer(
  target: string,
  { cert, key }: Readonly<Record<"cert" | "key", string>>,
): Promise<string> {
  const { port, pathname } = new URL(target);
  const folder = await folderForTest();
  const [listenPort, path, users] = [await freePort(), join(folder, "pgbouncer.ini"), join(folder, "users.txt")];
  const config = [
    "[databases]",
    `${pathname.slice(1)} = host=127.0.0.1 port=${port}`,
    "[pgbouncer]",
    ...["listen_addr = 127.0.0.1", `listen_port = ${listenPort}`, "unix_socket_dir ="],
    ...["auth_type = trust", `auth_file = ${users}`, "pool_mode = transaction", "default_pool_size = 3"],
    ...["server_tls_sslmode = verify-full", `server_tls_ca_file = ${cert}`],
    ...["client_tls_sslmode = require", `client_tls_cert_file = ${cert}`, `client_tls_key_file = ${key}`],
  ];
  writeFileSync(path, `${config.join("\n")}\n`);
  writeFileSync(users, '"mic" ""\n');
  // pgbouncer does not run as root.
  if (postgresUser !== undefined) for (const each of [folder, path, users]) chownSync(each, postgresUser, -1);
  const user = postgresUser === undefined ? [] : ["-u", "postgres"];
  const running = launchProcess(["pgbouncer", ...user, path], { cwd: folder });
  onTestFinished(() => running.kill());
  await waitForPort(listenPort, running);
  const url = new URL(target);
  url.port = String(listenPort);
  url.searchParams.set("sslrootcert", cert);
  return url.href;
}

testUnless(
  postgresMissing ?? missingProgram("pgbouncer") ?? opensslMissing,
  "callers behind pgbouncer in transaction mode with TLS act once each, and the instance is ready",
  async () => {
    const { server, ...certificate } = await tlsPostgresForTest();
    const emulator = await emulatorForTest({ clients: 1 });
    const place = await environmentForTest(server, emulator);
    const page = readFileSync("docs/operate/managed-postgresql.md", "utf8");
    await queryPostgres(place.url, /```sql\n(ALTER ROLE mic [^`]+)```/.exec(page)?.[1] ?? "");
    const instance = await instanceForTest({ ...place, url: await startPgbouncer(place.url, certificate) });
    const callers = await Promise.all(
      Array.from({ length: CALLERS }, (_, at) => connectCaller(instance, createCaller(`caller-${at}`, ["reds"]))),
    );
    const act = async (caller: (typeof callers)[number], at: number) => {
      const action = {
        inputKind: "M4_FILE",
        referenceId: emulator.fileIds[0],
        idempotencyKey: `action-number-${at}`,
      };
      for (const replayed of [false, true]) {
        const result = await caller.callTool("register_input", action);
        expect(result).toMatchObject({ isError: false, action: { replayed } });
      }
    };
    for (let at = 0; at < ACTIONS; at++) await Promise.all(callers.map((caller) => act(caller, at)));
    expect(await countExecutions(emulator.baseUrl, LOAD_OPERATION_ID)).toBe(CALLERS * ACTIONS);
    expect(await instance.databaseCheck()).toMatchObject({ status: expect.stringMatching(/^(ok|degraded)$/) });
  },
);
