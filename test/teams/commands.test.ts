// Tests `mic-mcp teams` and `mic-mcp doctor --teams`: their output and refusals, without any secret.
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { JOURNAL_VERSION } from "../../src/actions/schema.ts";
import { callerId } from "../../src/teams/caller.ts";
import { runInProcess as run } from "../support/command.ts";
import { emulatorForTest } from "../support/emulator.ts";
import type { TokenOptions } from "../support/identity-provider.ts";
import { writeKeyFile } from "../support/key-file.ts";
import { missingProgram } from "../support/process.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { testUnless } from "../support/unless.ts";
import { connectCaller, createCaller, createKeyLine, ISSUER, instanceForTest } from "./deployment.ts";
import { deploymentForTest } from "./in-process-deployment.ts";
import { databaseForTest, describeWithPostgres } from "./services.ts";

describeWithPostgres("mic-mcp teams", (postgres) => {
  async function setUp() {
    const [url, keys] = [await postgres().createDatabase(), createKeyLine("one")];
    const emulator = await emulatorForTest({ clients: 2 });
    const { baseUrl, clients } = emulator;
    const [red, blue] = clients;
    if (!red || !blue) throw new Error("the emulator has two clients");
    const env = {
      MIC_DATABASE_URL: url,
      MIC_SECRET_KEYS_FILE: writeKeyFile(keys),
      MIC_AUTH_ISSUER: ISSUER,
      MIC_BASE_URL: baseUrl,
    };
    const command = async (line: string, input = "", more: Readonly<Record<string, string>> = {}) => {
      const result = await run(line.trim().split(" "), { env: { ...env, ...more }, input });
      for (const secret of [red.clientSecret, blue.clientSecret, keys.split(" ")[1] ?? "?"])
        expect(`${result.stdout}${result.stderr}`).not.toContain(secret);
      return result;
    };
    const add = (name: string, { clientId, workspaceId, clientSecret }: typeof red, more = "--secret-stdin") =>
      command(`teams add ${name} --client-id ${clientId} --workspace-id ${workspaceId} ${more}`, `${clientSecret}\n`);
    const addRed = (more = "--claim reds") => add("red", red, `--secret-stdin ${more}`);
    async function resolveWorkspace(caller: Parameters<typeof createCaller>, withKeys = keys) {
      const instance = await instanceForTest({ url, keys: withKeys, emulator });
      return await (await instance.runtimeOf(createCaller(...caller), undefined))?.workspaceId();
    }
    const connect = async (...caller: Parameters<typeof createCaller>) =>
      connectCaller(await instanceForTest({ url, keys, emulator }), createCaller(...caller));
    const database = await databaseForTest(url);
    return {
      url,
      emulator,
      baseUrl,
      keys,
      red,
      blue,
      fileIds: red.assetIds,
      command,
      add,
      addRed,
      resolveWorkspace,
      connect,
      database,
    };
  }

  test("teams add verifies the credentials, encrypts the secret and refuses a duplicate; teams list shows all except the secret", async () => {
    const { baseUrl, red, blue, command, add, addRed, resolveWorkspace } = await setUp();
    expect(await addRed("--claim reds --member bob --member ann")).toMatchObject({
      code: 0,
      stdout: `Added team red: ${red.clientId} at ${baseUrl}, workspace ${red.workspaceId}; its secret is encrypted with the key one. Members: users with the claim "reds", "bob", "ann".\n`,
    });
    const members = [{ issuer: ISSUER, subject: "ann" }, { subject: "bob" }];
    expect(JSON.parse((await command("teams list --json")).stdout)).toMatchObject({
      teams: [{ name: "red", claim: "reds", secret: { keyId: "one" }, members }],
    });
    expect((await command("teams check")).stdout).toContain(
      "ok   red: its secret can be read, and the API accepts it for its workspace",
    );
    expect(await resolveWorkspace(["bob"])).toBe(red.workspaceId);
    const stderr = expect.stringContaining('Team "red" already uses this client');
    expect(await add("crimson", red)).toMatchObject({ code: 1, stderr });
    expect((await add("red", blue)).stderr).toContain('Team "red" already exists');
    expect(JSON.parse((await command("teams list --json")).stdout).teams).toHaveLength(1);
  });

  test.each([
    ["a secret that the API refuses", "red", "not-the-secret"],
    ["a workspace that the client may not use", "blue", undefined],
  ] as const)("teams add does not store %s", async (_what, owner, secret) => {
    const { command, add, ...clients } = await setUp();
    const { red } = clients;
    const { workspaceId } = clients[owner];
    const given = { ...red, workspaceId, clientSecret: secret ?? red.clientSecret };
    const refused = await add("red", given);
    expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("Nothing was stored.") });
    expect((await command("teams list")).stdout).toContain("No teams exist");
  });

  test("teams check reports a secret that the API refuses, and rotate-secret stores only one that it accepts", async () => {
    const { command, add, red } = await setUp();
    const file = join(await folderForTest(), "secret");
    writeFileSync(file, red.clientSecret);
    expect((await add("red", red, `--claim reds --secret-file ${file}`)).code).toBe(0);
    writeFileSync(file, "not-the-secret");
    const stdout = expect.stringMatching(/^FAIL red: /);
    expect(await command("teams check red")).toMatchObject({ code: 1, stdout });
    expect((await command("teams rotate-secret red --secret-stdin", "not-the-secret")).code).toBe(1);
    expect((await command("teams rotate-secret red --secret-stdin", red.clientSecret)).code).toBe(0);
    expect((await command("teams check red")).code).toBe(0);
  });

  test("teams remove removes members and teams", async () => {
    const { command, addRed } = await setUp();
    await addRed("");
    expect((await command("teams check")).stdout).toContain("but it has no members");
    expect((await command("teams add red --member bob --claim reds")).stdout).toBe(
      'Team red: users with the claim "reds" are members; members added: "bob".\n',
    );
    expect((await command("teams remove red --member bob")).stdout).toBe('Removed "bob" from team red.\n');
    expect((await command("teams remove red --member bob")).stdout).toContain("was not listed");
    expect((await command("teams remove red")).code).toBe(0);
    const stderr = expect.stringContaining('Team "red" does not exist.\nRun mic-mcp teams list');
    expect(await command("teams remove red")).toMatchObject({ code: 1, stderr });
  });

  test("a secret may stay in a file, and rotate-keys encrypts the other secrets with a new first key", async () => {
    const { blue, keys, command, add, addRed, resolveWorkspace } = await setUp();
    await addRed();
    const file = join(await folderForTest(), "secret");
    writeFileSync(file, `${blue.clientSecret}\n`);
    const added = await add("blue", blue, `--claim blues --secret-file ${file}`);
    expect(added.stdout).toContain(`its secret is read from ${file}`);
    const twoKeys = `${createKeyLine("two")}\n${keys}`;
    const two = { MIC_SECRET_KEYS_FILE: writeKeyFile(twoKeys) };
    expect((await command("teams rotate-keys", undefined, two)).stdout).toBe(
      "Secrets of the teams and of the deployment, encrypted with key two: 1 now, 0 before. Secrets in files: 1. Secrets that could not be decrypted: 0.\n",
    );
    expect((await command("teams rotate-keys", undefined, two)).stdout).toContain("0 now, 1 before");
    expect((await command("teams check", undefined, two)).code).toBe(0);
    // The old key cannot decrypt the secret anymore.
    const old = await command("teams check red");
    expect(old.stdout).toContain('it was encrypted with the key "two", which is not in MIC_SECRET_KEYS_FILE');
    expect((await command("teams rotate-keys")).code).toBe(1);
    expect(await resolveWorkspace(["ann", ["blues"]], twoKeys)).toBe(blue.workspaceId);
  });

  const ADD_RED = "teams add red --client-id x --workspace-id w";
  test("usage errors name the problem", async () => {
    const { command } = await setUp();
    for (const [line, problem] of [
      ["teams ad", "Did you mean add?"],
      ["teams add Red", "not a valid team name"],
      ["teams add red", "A new team requires --client-id, --workspace-id"],
      [ADD_RED, "--secret-stdin or --secret-file"],
      [`${ADD_RED} --secret-file secret`, "an absolute path"],
      [`${ADD_RED} --secret-file /s --secret-stdin`, "cannot be combined"],
      ["teams add red --claim=", "--claim must be a value"],
      ["teams rotate-secret", "requires the name of one team"],
    ] as const)
      expect(await command(line, "x")).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(problem) });
  });

  test("teams actions lists the actions of all callers of a team, without their arguments, and with --state those in one state", async () => {
    const { command, addRed, add, blue, connect, fileIds } = await setUp();
    await addRed();
    await add("blue", blue, "--secret-stdin --claim blues");
    expect(await command("teams actions red")).toMatchObject({ code: 0, stdout: "No actions.\n" });
    for (const subject of ["ann", "bob"]) {
      const client = await connect(subject, ["reds"]);
      const input = {
        inputKind: "M4_FILE",
        referenceId: fileIds[0],
        alias: "not-listed",
        idempotencyKey: "key-0123456789",
      };
      expect((await client.callTool("register_input", input)).isError).toBe(false);
    }
    const { actions } = JSON.parse((await command("teams actions red --json")).stdout);
    const action = { state: "succeeded", tool: "register_input", attempts: 1, idempotencyKey: "key-0123456789" };
    expect(actions).toMatchObject([action, action]);
    const subjects = actions.map(({ caller, subject }: { caller: string; subject: string }) => [caller, subject]);
    expect(subjects).toEqual(["bob", "ann"].map((subject) => [callerId(ISSUER, subject), subject]));
    expect(JSON.parse((await command("teams actions --json")).stdout).actions).toEqual(actions);
    const { stdout } = await command("teams actions red --state succeeded");
    expect(stdout).toMatch(/^team.*idempotencyKey\nred.*register_input/);
    expect(stdout).not.toContain("not-listed");
    for (const line of ["teams actions red --state unknown", "teams actions blue"])
      expect((await command(line)).stdout).toMatch(/^No actions/);
    expect(await command("teams actions green")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("does not exist"),
    });
    expect((await command("teams actions red --state lost")).code).toBe(2);
  });

  test("teams actions counts an action of a process that has ended as unknown, as the metric and list_actions do", async () => {
    const { command, addRed, connect, database, fileIds } = await setUp();
    await addRed();
    const client = await connect("ann", ["reds"]);
    expect(
      (await client.callTool("register_input", { inputKind: "M4_FILE", referenceId: fileIds[0] })).error,
    ).toBeUndefined();
    await database.query("UPDATE actions SET state = 'in_progress', owner = 'dead', lease_until = 1");
    const listed = JSON.parse((await command("teams actions --state unknown --json")).stdout);
    expect(listed).toMatchObject({ actions: [{ state: "unknown", subject: "ann" }] });
    expect((await command("teams actions red --state in_progress")).stdout).toMatch(/^No actions/);
    expect((await client.callTool("list_actions")).structured).toMatchObject({
      actions: [{ state: "unknown" }],
    });
  });

  test("teams resolve resolves an unknown action for its user, and sends it under the same key", async () => {
    const { command, addRed, connect, database, fileIds } = await setUp();
    await addRed();
    const client = await connect("ann", ["reds"]);
    const input = { inputKind: "M4_FILE", referenceId: fileIds[0], idempotencyKey: "key-of-ann" };
    expect((await client.callTool("register_input", input)).error).toBeUndefined();
    const [made] = await database.query("SELECT resource_id FROM actions");
    await database.query(
      "UPDATE actions SET state = 'unknown', outcome = NULL, resource_id = NULL, resolved_at = NULL",
    );
    const resolve = (more = "") => command(`teams resolve red${more}`, undefined, DOCTOR);
    expect((await resolve(" another-key")).stdout).toBe("No such action is unknown.\n");
    expect(await resolve()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^register_input of "ann", key key-of-ann:\n1 action: 1 resolved/),
    });
    expect(await database.query("SELECT state, resource_id FROM actions")).toEqual([{ state: "succeeded", ...made }]);
    const rows = await database.query("SELECT caller FROM audit WHERE event = 'action'");
    expect(rows).toEqual(Array.from({ length: 2 }, () => ({ caller: callerId(ISSUER, "ann") })));
    expect((await command("teams resolve green", undefined, DOCTOR)).code).toBe(2);
  });

  test("audit, block, export and erase concern one user", async () => {
    const { command, addRed, connect, database, fileIds } = await setUp();
    await addRed("--claim reds --member ann");
    const args = { inputKind: "M4_FILE", referenceId: fileIds[0], alias: "the note of ann" };
    const [ann, bob] = [await connect("ann", []), await connect("bob", ["reds"])];
    await ann.callTool("register_input", args);
    await bob.callTool("register_input", { ...args, alias: "the note of bob" });
    const [made] = await database.query("SELECT resource_id FROM actions WHERE arguments LIKE '%note of ann%'");
    const inputId = String(made?.["resource_id"]);
    const { audit } = JSON.parse((await command(`teams audit --job ${inputId} --json`)).stdout);
    expect(audit).toMatchObject([{ event: "action", subject: "ann", caller: callerId(ISSUER, "ann"), team: "red" }]);
    expect((await command("teams audit")).code).toBe(2);

    expect((await command("teams block bob")).stdout).toContain('Blocked "bob"');
    expect((await (await connect("bob", ["reds"])).callTool("list_jobs")).error).toMatchObject({ kind: "forbidden" });
    expect((await (await connect("ann", [])).callTool("list_jobs")).isError).toBe(false);
    await command("teams unblock bob");
    expect((await (await connect("bob", ["reds"])).callTool("list_jobs")).isError).toBe(false);

    const exported = await command("teams export ann");
    expect(JSON.parse(exported.stdout)).toMatchObject({
      ...{ subject: "ann", memberOf: ["red"], actions: [{ tool: "register_input", state: "succeeded" }] },
      audit: [{ event: "action" }],
    });
    expect(exported.stdout).toContain("the note of ann");
    expect(exported.stdout).not.toContain("the note of bob");

    expect((await command("teams erase ann")).stdout).toContain(
      "0 actions. 1 action is unresolved or younger than 20 h",
    );
    await database.query("UPDATE actions SET updated_at = updated_at - 21 * 3600000");
    expect((await command("teams erase ann")).stdout).toContain("and 1 action. The audit");
    const rest = await database.query("SELECT arguments FROM actions");
    expect(JSON.stringify(rest)).toContain("the note of bob");
    expect(JSON.stringify(rest)).not.toContain("the note of ann");
    expect(await database.query("SELECT subject FROM callers")).toEqual([{ subject: "bob" }]);
  });

  test("teams migrate creates the tables, and with MIC_MIGRATE=off no other command does", async () => {
    const { command } = await setUp();
    const list = () => command("teams list", undefined, { MIC_MIGRATE: "off" });
    expect((await list()).code).toBe(1);
    const dryRun = () => command("teams migrate --dry-run");
    expect(await dryRun()).toMatchObject({
      code: 0,
      stdout: `There are no tables; this mic-mcp uses version ${JOURNAL_VERSION}. Nothing was changed.\n`,
    });
    expect((await list()).code).toBe(1);
    expect(await command("teams migrate")).toMatchObject({
      code: 0,
      stdout: `The tables are up to date (version ${JOURNAL_VERSION}, before: none).\n`,
    });
    expect((await list()).code).toBe(0);
    expect((await dryRun()).stdout).toContain(`The tables have version ${JOURNAL_VERSION};`);
  });

  testUnless(
    missingProgram("psql"),
    "instances whose role may only add audit rows record actions on days with and without a partition",
    async () => {
      const { url, keys, emulator, database, command, addRed, fileIds } = await setUp();
      await addRed();
      expect((await command("teams migrate")).code).toBe(0);
      const [, statements = ""] =
        /```sql\n(CREATE ROLE mic_app.*?)```/s.exec(readFileSync("docs/operate/audit.md", "utf8")) ?? [];
      execFileSync("psql", [url, "--quiet"], { input: statements, stdio: ["pipe", "ignore", "ignore"] });
      const appUrl = Object.assign(new URL(url), { username: "mic_app" }).href;
      const app = await databaseForTest(appUrl);
      const role = { urls: [appUrl], pool: 4, durability: "local", migrate: false } as const;
      const instance = await instanceForTest({ url, keys, emulator }, { database: role });
      expect(await instance.databaseCheck()).toMatchObject({ status: "ok" });
      const client = await connectCaller(instance, createCaller("ann", ["reds"]));
      const today = `audit_${new Date().toISOString().slice(0, 10).replaceAll("-", "")}`;
      const act = async (at: number) => {
        const { isError } = await client.callTool("register_input", { inputKind: "M4_FILE", referenceId: fileIds[at] });
        expect(isError).toBe(false);
        return await database.query(
          "SELECT tableoid::regclass::text AS name FROM audit WHERE event = 'action' ORDER BY at",
        );
      };
      expect(await act(0)).toEqual([{ name: today }]);
      for (const sql of [
        "UPDATE audit SET caller = ''",
        "DELETE FROM audit",
        `DELETE FROM ${today}`,
        `DROP TABLE ${today}`,
      ])
        await expect(app.query(sql)).rejects.toThrow(/permission denied|must be owner/);
      // The partitions end if the command has not run for some days.
      await database.query(`DROP TABLE ${today}`);
      await database.query(
        "INSERT INTO audit (at, event, caller, team, client, outcome) VALUES (1, 'team', 'a', 'b', 'c', 'd')",
      );
      expect(await act(1)).toEqual([{ name: "audit_default" }]);
      expect((await command("teams migrate")).code).toBe(0);
      expect(await database.query("SELECT event FROM audit_default")).toEqual([{ event: "action" }]);
    },
  );

  const DOCTOR = { MIC_PUBLIC_URL: "https://mic.example.org", MIC_DATABASE_DURABILITY: "local" };

  test("doctor --teams reports the state of each part", async () => {
    const { command, addRed } = await setUp();
    await addRed();
    const more = { ...DOCTOR, MIC_AUTH_ISSUER: "http://127.0.0.1:9" };
    const { code, stdout } = await command("doctor --teams --json", undefined, more);
    expect(code).toBe(1);
    const { checks } = JSON.parse(stdout);
    for (const check of [
      { name: "database", ok: true },
      { name: "encryption", ok: true },
      { name: "replicas", ok: true },
      { name: "team red", ok: true },
      { name: "sign-in", ok: false },
    ])
      expect(checks).toContainEqual(expect.objectContaining(check));
    expect(stdout).toContain("MIC_AUTH_ISSUER");
  });

  test("doctor --teams reports parameters that apply to one URL only, and a role that cannot see replicas", async () => {
    const { url, database, command } = await setUp();
    expect((await command("teams migrate")).code).toBe(0);
    await database.query("DO 'BEGIN CREATE ROLE plain LOGIN; EXCEPTION WHEN duplicate_object THEN END'");
    await database.query("GRANT ALL ON ALL TABLES IN SCHEMA public TO plain");
    const plain = Object.assign(new URL(url), { username: "plain" }).href;
    const more = { ...DOCTOR, MIC_AUTH_ISSUER: "http://127.0.0.1:9", MIC_MIGRATE: "off" };
    const urls = { MIC_DATABASE_URL: `${plain},${plain}?sslmode=disable` };
    const { checks } = JSON.parse((await command("doctor --teams --json", undefined, { ...more, ...urls })).stdout);
    for (const [name, fix] of [
      ["encryption", "sslmode"],
      ["replicas", "GRANT pg_monitor"],
    ] as const)
      expect(checks).toContainEqual(expect.objectContaining({ name, ok: false, fix: expect.stringContaining(fix) }));
  });

  testUnless(
    process.getuid?.() === 0 ? undefined : "not run by root",
    "doctor --teams as root reports a CA file that the user of the service cannot read",
    async () => {
      const { command, addRed } = await setUp();
      await addRed();
      const folder = await folderForTest();
      const path = join(folder, "ca.pem");
      writeFileSync(path, "", { mode: 0o644 });
      const check = async () => {
        const more = { ...DOCTOR, MIC_AUTH_ISSUER: "http://127.0.0.1:9", NODE_EXTRA_CA_CERTS: path };
        const { stdout } = await command("doctor --teams --json", undefined, more);
        return JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === "private CA");
      };
      // The folder has mode 0700.
      expect(await check()).toMatchObject({ ok: false, fix: expect.stringContaining("/etc/ssl/mic-mcp") });
      chmodSync(folder, 0o755);
      expect(await check()).toMatchObject({ ok: true });
    },
  );

  test("doctor --teams --token shows the values of a token, the required values, and the resulting team and rights", async () => {
    const { provider } = await deploymentForTest();
    const { command, addRed } = await setUp();
    await addRed();
    const path = join(await folderForTest(), "token");
    async function explain(audience: string, options: TokenOptions) {
      const token = await provider.issueToken(audience, options);
      writeFileSync(path, token);
      const more = { ...DOCTOR, MIC_AUTH_ISSUER: provider.issuer };
      const { stdout } = await command(`doctor --teams --json --token ${path}`, undefined, more);
      expect(stdout).not.toContain(token);
      const checks: readonly { readonly name: string }[] = JSON.parse(stdout).checks;
      return checks.find(({ name }) => name === "token");
    }
    const own = "https://mic.example.org/mcp";
    expect(await explain(own, { groups: ["reds"], scope: "mic:read" })).toMatchObject({
      ok: true,
      detail: expect.stringContaining('groups (groups) "reds"; teams "red"; rights "read"'),
    });
    expect(await explain("https://other.example", { groups: ["greens"], scope: "email" })).toMatchObject({
      ok: false,
      detail: expect.stringMatching(
        /another server.*none of the required scopes.*in no team.*"https:\/\/other\.example".*"email".*"greens"/,
      ),
      fix: expect.stringMatching(/"https:\/\/mic\.example\.org\/mcp".*"mic:read", "mic:write"/),
    });
    const expired = await explain(own, { groups: ["reds"], seconds: -3_600 });
    expect(expired).toMatchObject({ ok: false, detail: expect.stringMatching(/has expired.*"reds"/) });
  });
});
