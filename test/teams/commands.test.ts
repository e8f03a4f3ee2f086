// The commands that look after teams, as programs: what they say, what they refuse, and that no secret is in it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Emulator, startEmulator } from "../../src/emulator/index.ts";
import { run } from "../mcp/stdio/child.ts";
import { folderForTest } from "../support/home.ts";
import { callerNamed, ISSUER, instanceForTest, keyLine } from "./deployment.ts";
import { describeWithPostgres } from "./postgres.ts";

describeWithPostgres("mic-mcp teams", (postgres) => {
  let running: Emulator | undefined;
  beforeAll(async () => {
    running = await startEmulator({ clients: 2 });
  });
  afterAll(() => running?.close());
  const emulator = (): Emulator => {
    if (!running) throw new Error("the emulator is there only while tests run");
    return running;
  };

  async function deployment(keys = keyLine("one")) {
    const url = await postgres().database();
    const [red, blue] = emulator().clients;
    if (!red || !blue) throw new Error("two clients were asked for");
    const env = {
      MIC_DATABASE_URL: url,
      MIC_SECRET_KEYS: keys,
      MIC_AUTH_ISSUER: ISSUER,
      MIC_BASE_URL: emulator().baseUrl,
    };
    const command = async (
      line: string,
      { input, more = {} }: { input?: string; more?: Record<string, string> } = {},
    ) => {
      const done = await run(line.split(" "), { env: { ...env, ...more }, ...(input !== undefined && { input }) });
      for (const secret of [red.clientSecret, blue.clientSecret, keys.split(" ")[1] ?? "?"])
        expect(`${done.stdout}${done.stderr}`).not.toContain(secret);
      return done;
    };
    const addRed = (more = "") =>
      command(`teams add red --client-id ${red.clientId} --workspace-id ${red.workspaceId} --secret-stdin${more}`, {
        input: `${red.clientSecret}\n`,
      });
    return { url, keys, red, blue, command, addRed };
  }

  test("add proves the credentials and seals the secret; list shows all but that", async () => {
    const { url, keys, red, command, addRed } = await deployment();
    const { code, stdout } = await addRed(" --claim reds --member bob --member ann");
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `Added the team red: ${red.clientId} at ${emulator().baseUrl}, workspace ${red.workspaceId}; its secret is sealed under the key one. Members: whoever has the claim "reds", "bob", "ann".\n`,
    });
    const listed = JSON.parse((await command("teams list --json")).stdout);
    expect(listed).toMatchObject({
      teams: [
        {
          name: "red",
          claim: "reds",
          secret: { sealedUnder: "one" },
          members: [{ issuer: ISSUER, subject: "ann" }, { subject: "bob" }],
        },
      ],
    });
    expect((await command("teams check")).stdout).toContain(
      "ok    red: its secret opens, and the service gives it a token",
    );
    const instance = await instanceForTest({ url, keys, emulator: emulator() });
    const runtime = await instance.runtimeOf(callerNamed("bob"), undefined);
    expect(await runtime?.workspaceId()).toBe(red.workspaceId);
  });

  test("a secret that the service refuses is not kept, but where nobody wants it tried", async () => {
    const { red, command } = await deployment();
    const line = `teams add red --client-id ${red.clientId} --workspace-id ${red.workspaceId} --claim reds --secret-stdin`;
    const refused = await command(line, { input: "not-the-secret" });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("Nothing was stored.");
    expect((await command("teams list")).stdout).toContain("There is no team yet");
    expect((await command(`${line} --unproven`, { input: "not-the-secret" })).code).toBe(0);
    const checked = await command("teams check red");
    expect(checked.code).toBe(1);
    expect(checked.stdout).toContain("WRONG red: ");
    expect((await command("teams rotate red --secret-stdin", { input: red.clientSecret })).code).toBe(0);
    expect((await command("teams check red")).code).toBe(0);
  });

  test("one client is one team, and a name is given once", async () => {
    const { blue, red, command, addRed } = await deployment();
    await addRed();
    const same = await command(`teams add crimson --client-id ${red.clientId} --workspace-id w2 --secret-stdin`, {
      input: red.clientSecret,
    });
    expect(same.code).toBe(1);
    expect(same.stderr).toContain('The team "red" has this client of this service already');
    const again = await command(`teams add red --client-id ${blue.clientId} --workspace-id w2 --secret-stdin`, {
      input: blue.clientSecret,
    });
    expect(again.stderr).toContain('There is a team "red" already');
    expect(JSON.parse((await command("teams list --json")).stdout).teams).toHaveLength(1);
  });

  test("members come and go; a team goes with all that it has", async () => {
    const { command, addRed } = await deployment();
    await addRed();
    expect((await command("teams check")).stdout).toContain("but nobody belongs to it");
    expect((await command("teams add red --member bob --claim reds")).stdout).toBe(
      'The team red: whoever has the claim "reds" belongs to it; members added: "bob".\n',
    );
    expect((await command("teams remove red --member bob")).stdout).toBe('Took "bob" out of the team red.\n');
    expect((await command("teams remove red --member bob")).stdout).toContain("was not listed");
    expect((await command("teams remove red")).code).toBe(0);
    const gone = await command("teams remove red");
    expect(gone).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no team "red".\nmic-mcp teams list'),
    });
  });

  test("a secret may stay in a file; rewrap puts the others under a new first key", async () => {
    const { url, blue, keys, command, addRed } = await deployment();
    await addRed(" --claim reds");
    const file = join(await folderForTest(), "secret");
    writeFileSync(file, `${blue.clientSecret}\n`);
    const line = `teams add blue --client-id ${blue.clientId} --workspace-id ${blue.workspaceId} --claim blues --secret-file ${file}`;
    expect((await command(line)).stdout).toContain(`its secret stays in ${file}`);
    const two = { MIC_SECRET_KEYS: `${keyLine("two")}\n${keys}` };
    expect((await command("teams rewrap", { more: two })).stdout).toBe(
      "Under the key two: 1 put there now, 0 before; in files: 1; not to be opened: 0.\n",
    );
    expect((await command("teams rewrap", { more: two })).stdout).toContain("0 put there now, 1 before");
    expect((await command("teams check", { more: two })).code).toBe(0);
    // The first key alone does not open it any more.
    const old = await command("teams check red");
    expect(old.stdout).toContain('it was sealed with the key "two", which MIC_SECRET_KEYS does not have');
    expect((await command("teams rewrap")).code).toBe(1);
    const instance = await instanceForTest({ url, keys: two.MIC_SECRET_KEYS, emulator: emulator() });
    const runtime = await instance.runtimeOf(callerNamed("ann", ["blues"]), undefined);
    expect(await runtime?.workspaceId()).toBe(blue.workspaceId);
  });

  test.each([
    ["teams", "takes one of add, list"],
    ["teams ad", "Did you mean add?"],
    ["teams add", "takes the name of one team"],
    ["teams add Red", "part of a URL"],
    ["teams add red", "A new team takes --client-id, --workspace-id"],
    ["teams add red --client-id x --workspace-id w", "--secret-stdin or --secret-file"],
    ["teams add red --client-id x --workspace-id w --secret-file secret", "a path from /"],
    ["teams add red --client-id x --workspace-id w --secret-file /s --secret-stdin", "give one of them"],
    ["teams add red --client-id x --workspace-id w --base-url ftp://x --secret-stdin", "base URL"],
    ["teams add red --claim=", "--claim takes a value"],
    ["teams list red", "takes no team"],
    ["teams rotate", "takes the name of one team"],
  ])("%s is wrong usage", async (line, named) => {
    const { command } = await deployment();
    const { code, stdout, stderr } = await command(line, { input: "x" });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(named);
  });

  test("what the commands need is named, all of it at once", async () => {
    const { code, stderr } = await run(["teams", "list"], { env: { MIC_SECRET_KEYS: "one short" } });
    expect(code).toBe(2);
    expect(stderr).toContain("MIC_DATABASE_URL is missing");
    expect(stderr).toContain("MIC_SECRET_KEYS holds no keys: line 1");
    expect(stderr).not.toContain("short");
  });

  test("migrate makes the tables; without it and with MIC_MIGRATE=off there are none", async () => {
    const { command } = await deployment();
    expect((await command("teams list", { more: { MIC_MIGRATE: "off" } })).code).toBe(1);
    expect(await command("migrate")).toMatchObject({ code: 0, stdout: "The tables are up to date.\n" });
    expect((await command("teams list", { more: { MIC_MIGRATE: "off" } })).code).toBe(0);
  });

  test("doctor --teams says of each part whether it is well", async () => {
    const { command, addRed } = await deployment();
    await addRed(" --claim reds");
    const more = { MIC_PUBLIC_URL: "https://mic.example.org", MIC_AUTH_ISSUER: "http://127.0.0.1:9" };
    const { code, stdout } = await command("doctor --teams --json", { more });
    expect(code).toBe(1);
    const { checks } = JSON.parse(stdout);
    expect(checks).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: "database", ok: true }),
        expect.objectContaining({ name: "team red", ok: true }),
        expect.objectContaining({ name: "sign-in", ok: false, fix: expect.stringContaining("MIC_AUTH_ISSUER") }),
      ]),
    );
  });
});
