// Tests the secrets of teams: in the database, logs and results, with keys that are replaced, and the tokens that clients store.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod/v4";
import { readConfig } from "../../src/core/config.ts";
import { rotateKeys } from "../../src/teams/commands/teams.ts";
import type { ComposedTeams } from "../../src/teams/compose.ts";
import { createEncryption, type Purpose, readSecretKeys } from "../../src/teams/encryption.ts";
import { createSecrets } from "../../src/teams/tenancy/secrets.ts";
import { createUpstreamSecret } from "../../src/teams/tenancy/upstream-secret.ts";
import { Service } from "../emulator/service.ts";
import { FILE } from "../emulator/work.ts";
import { jobArguments } from "../mcp/tasks/fixtures.ts";
import { createManualClock, emulatorForTest } from "../support/emulator.ts";
import { queryPostgres } from "../support/postgres.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import {
  connectCaller,
  createCaller,
  createKeyLine,
  environmentForTest,
  instanceForTest,
  openTeams,
  RED,
} from "./deployment.ts";
import { databaseForTest, describeWithPostgres } from "./services.ts";

/** Records the credentials and tokens of requests to the API until the running test ends. */
function recordCredentials(): readonly string[] {
  const recorded: string[] = [];
  const record = (message: unknown): void => {
    const { headers } = Object(message).request;
    const at = headers.indexOf("authorization");
    if (at >= 0) recorded.push(String(headers[at + 1]).split(" ")[1] ?? "");
  };
  subscribe("undici:request:create", record);
  onTestFinished(() => void unsubscribe("undici:request:create", record));
  return recorded;
}

describeWithPostgres("secrets of teams", (postgres) => {
  const ann = createCaller("ann", ["reds"]);

  async function setUp(more: { readonly secret?: string } = {}) {
    const clock = createManualClock();
    const emulator = await emulatorForTest({ clock });
    const place = await environmentForTest(postgres(), emulator, [{ ...RED, ...more }]);
    return { emulator, place, service: new Service(emulator, clock) };
  }

  const connectClient = (instance: ComposedTeams) => connectCaller(instance, ann);

  async function dumpDatabase(url: string): Promise<string> {
    const tables = await queryPostgres(
      url,
      "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'",
    );
    const rows = tables.map(({ table_name: name }) =>
      queryPostgres(url, `SELECT row_to_json(t) AS row FROM ${name} AS t`),
    );
    return JSON.stringify(await Promise.all(rows));
  }

  test("neither the database nor the debug log nor a result contains a secret, a token or a key", async () => {
    const { emulator, place, service } = await setUp();
    const recorded = recordCredentials();
    const lines: string[] = [];
    const stderr = vi.spyOn(process.stderr, "write").mockImplementation((line) => lines.push(String(line)) > 0);
    const config = readConfig({ MIC_BASE_URL: emulator.baseUrl, MIC_KEYCHAIN: "off", MIC_LOG_LEVEL: "debug" });
    const secrets = [place.keys.split(" ")[1] ?? ""];
    const results: string[] = [];
    try {
      const client = await connectClient(await instanceForTest(place, { config, secrets }));
      const calls = {
        list_jobs: {},
        submit_job: { ...(await jobArguments(service, FILE.succeeds)) },
        get_job: { jobId: "micjob_none" },
        list_actions: {},
        get_usage: { window: "DAY" },
      };
      for (const [tool, args] of Object.entries(calls)) results.push((await client.callTool(tool, args)).raw);
      await client.close();
    } finally {
      stderr.mockRestore();
    }
    expect(lines.join("")).toContain('"team":"red"');
    const sent = [...new Set(recorded)].filter((text) => text !== "");
    // Includes the client's secret, and one token for each set of scopes.
    expect(sent.length).toBeGreaterThan(3);
    const databaseDump = await dumpDatabase(place.url);
    for (const secret of [...sent, ...secrets, emulator.clientSecret]) {
      expect(lines.join("")).not.toContain(secret);
      expect(results.join("")).not.toContain(secret);
      expect(databaseDump).not.toContain(secret);
    }
    // A JWE in its compact form has five parts.
    expect(databaseDump).toMatch(/"encrypted_secret":"[\w-]+(\.[\w-]+){4}"/);
  });

  test("a rotated secret is used from the next token request on", async () => {
    const { emulator, place } = await setUp({ secret: "not-the-secret-yet" });
    const client = await connectClient(await instanceForTest(place));
    expect((await client.callTool("list_jobs")).error).toMatchObject({ kind: "unauthorized" });
    const encrypted = await createEncryption(readSecretKeys(place.keys)).encryptSecret("red", emulator.clientSecret);
    await (await openTeams(place.url)).replaceSecret("red", { encrypted });
    expect((await client.callTool("list_jobs")).isError).toBe(false);
  });

  test("no call fails while secrets are encrypted with a new key, and afterwards the old key can be removed", async () => {
    const { place, service } = await setUp();
    const keys = `${createKeyLine("two")}\n${place.keys}`;
    const instance = await instanceForTest({ ...place, keys });
    const client = await connectClient(instance);
    const action = { ...(await jobArguments(service, FILE.succeeds)), idempotencyKey: "the key of the caller" };
    const submitted = await (await connectClient(await instanceForTest(place))).callTool("submit_job", action);
    expect(submitted.error).toBeUndefined();
    const messages: string[] = [];
    const teams = await openTeams(place.url);
    const secrets = createSecrets({ encryption: createEncryption(readSecretKeys(keys)), now: Date.now });
    let isDone = false;
    const failed: unknown[] = [];
    const calling = (async () => {
      for (let calls = 0; !isDone || calls < 20; calls++) {
        // The next call needs a new token, so it needs the secret.
        await service.injectFault({ kind: "expire-token" });
        const { error } = await client.callTool("list_jobs");
        if (error) failed.push(error);
      }
    })();
    const recordChange = (team: string, what: string) => messages.push(`${team}: ${what}`);
    const print = (text: string) => messages.push(text);
    const database = await databaseForTest(place.url);
    const upstreamSecret = createUpstreamSecret(database, createEncryption(readSecretKeys(keys)), readSecretKeys(keys));
    const options = { upstreamSecret, firstKey: "two", recordChange, print };
    expect(await rotateKeys({ teams, secrets, ...options })).toBe(0);
    isDone = true;
    await calling;
    expect(failed).toEqual([]);
    expect(messages).toEqual(["red: keys rotated", expect.stringContaining(": 2 now, 0 before")]);
    const newKeyInstance = await instanceForTest({ ...place, keys: keys.split("\n")[0] ?? "" });
    const newKeyClient = await connectClient(newKeyInstance);
    expect((await newKeyClient.callTool("list_jobs")).isError).toBe(false);
    await database.query("DELETE FROM actions");
    await newKeyClient.callTool("submit_job", action);
    expect(await service.countEffects("createMicJob")).toBe(1);
  });

  test("a secret that was altered, or encrypted with another key or for another team, is not_configured with the fix", async () => {
    const { emulator, place } = await setUp();
    const otherKeyClient = await connectClient(await instanceForTest({ ...place, keys: createKeyLine("three") }));
    const { error } = await otherKeyClient.callTool("list_jobs");
    expect(error).toMatchObject({ kind: "not_configured", retryable: false, sideEffect: "none" });
    expect(error?.message).toContain('the key "one", which is not in MIC_SECRET_KEYS_FILE');
    expect(error?.next).toContain("mic-mcp teams rotate-secret");
    const teams = await openTeams(place.url);
    const encrypt = createEncryption(readSecretKeys(place.keys)).encryptSecret;
    const altered = (await encrypt("red", emulator.clientSecret)).replace(/.{8}$/, "AAAAAAAA");
    for (const [encrypted, reason] of [
      [await encrypt("blue", emulator.clientSecret), 'it was encrypted for team "blue"'],
      [altered, "it was modified after encryption"],
    ] as const) {
      await teams.replaceSecret("red", { encrypted });
      const sameKeyClient = await connectClient(await instanceForTest(place));
      expect((await sameKeyClient.callTool("list_jobs")).error?.message).toContain(reason);
      expect((await sameKeyClient.callTool("list_states")).isError).toBe(false);
    }
  });

  test("a secret file is read on use, at most every ten seconds, without one trailing line break", async () => {
    const file = join(await folderForTest(), "secret");
    writeFileSync(file, "first-secret\n");
    let now = 1_000;
    const secrets = createSecrets({
      encryption: createEncryption(readSecretKeys(createKeyLine("one"))),
      now: () => now,
    });
    const read = () => secrets.read({ name: "red", secret: { file } });
    expect(await read()).toBe("first-secret");
    writeFileSync(file, "second-secret");
    now += 10_000;
    expect(await read()).toBe("first-secret");
    now += 1;
    expect(await read()).toBe("second-secret");
    for (const content of ["", "two\nlines", "x".repeat(5_000)]) {
      writeFileSync(file, content);
      now += 10_001;
      await expect(read()).rejects.toThrow("must contain only printable ASCII text");
    }
    await expect(secrets.read({ name: "red", secret: { file: `${file}-missing` } })).rejects.toThrow("ENOENT");
  });
});

const KEY_A = createKeyLine("a");
const KEY_B = createKeyLine("b");
const encryption = createEncryption(readSecretKeys(KEY_A));
const rotated = createEncryption(readSecretKeys(`# the new one first\n\n${KEY_B}\n${KEY_A}\n`));
const Value = z.strictObject({ of: z.string() });
const PURPOSES: readonly Purpose[] = ["question", "task", "download"];

test("each purpose has a separate derived key", () => {
  const derived = [...PURPOSES, "wire"].map((purpose) => String(readSecretKeys(KEY_A).derive("a", purpose)));
  expect(new Set(derived).size).toBe(derived.length);
});

test("a client's token is decrypted only for the caller and the purpose that it was encrypted for", async () => {
  const purpose = fc.constantFrom(...PURPOSES);
  const caller = fc.constantFrom("one", "two", "three");
  await fc.assert(
    fc.asyncProperty(
      purpose,
      caller,
      purpose,
      caller,
      fc.string(),
      async (forPurpose, forCaller, otherPurpose, otherCaller, value) => {
        const token = await encryption.encrypt(forPurpose, forCaller, { of: value }, 60);
        const isSame = forPurpose === otherPurpose && forCaller === otherCaller;
        expect(await rotated.decrypt(otherPurpose, otherCaller, token, Value)).toEqual(
          isSame ? { of: value } : undefined,
        );
      },
    ),
  );
});

test("a client's token is not decrypted if it has expired, was altered, has another shape or is not an encrypted token", async () => {
  const expired = await encryption.encrypt("task", "one", { of: "x" }, -1);
  const token = await encryption.encrypt("task", "one", { other: 1 }, 60);
  for (const text of [expired, token, `${token}A`, "", "a.b.c.d.e", "x".repeat(20_000)])
    expect(await encryption.decrypt("task", "one", text, Value)).toBeUndefined();
});
