// Tests login, use and logout with a keychain in a file, on systems whose own keychain tests cannot use.
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect } from "vitest";
import { basicHeader } from "../../src/credentials/oauth.ts";
import { enveloped, job } from "../contract/samples.ts";
import { homeVariables } from "../support/empty-home.ts";
import { test } from "../support/fixtures.ts";
import { answer } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";

/** A package with the methods of the addon that the program uses. It keeps all entries in one file. */
const ADDON = `const { existsSync, readFileSync, writeFileSync } = require("node:fs");
const file = require("node:path").join(__dirname, "entries.json");
const read = () => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {});
const write = (entries) => writeFileSync(file, JSON.stringify(entries));
exports.AsyncEntry = class {
  constructor(service, account) {
    this.account = account;
  }
  async setSecret(bytes) {
    write({ ...read(), [this.account]: Buffer.from(bytes).toString("base64") });
  }
  async getSecret() {
    const { [this.account]: text } = read();
    return text === undefined ? undefined : Buffer.from(text, "base64");
  }
  async deleteCredential() {
    const { [this.account]: text, ...others } = read();
    write(others);
    return text !== undefined;
  }
};
exports.findCredentialsAsync = async () => Object.keys(read()).map((account) => ({ account, password: "" }));
`;

/** Copies the program next to the package. */
async function installProgram() {
  const folder = await folderForTest();
  const addon = join(folder, "node_modules", "@napi-rs", "keyring");
  await mkdir(addon, { recursive: true });
  await writeFile(join(addon, "index.js"), ADDON);
  await cp("dist", join(folder, "dist"), { recursive: true });
  await cp("package.json", join(folder, "package.json"));
  const sqlite = join("node_modules", "@photostructure");
  await symlink(resolve(sqlite), join(folder, sqlite), "junction");
  const env = { ...homeVariables(folder), PATH: "" };
  const run = (args: readonly string[], input = "") =>
    new Promise<{ code: unknown; stdout: string; stderr: string }>((done) => {
      const program = [join(folder, "dist", "cli.js"), ...args];
      const child = execFile(process.execPath, program, { env }, (error, stdout, stderr) =>
        done({ code: error?.code ?? 0, stdout, stderr }),
      );
      child.stdin?.end(input);
    });
  const readEntries = async (): Promise<Readonly<Record<string, string>>> =>
    JSON.parse(await readFile(join(addon, "entries.json"), "utf8"));
  return { run, readEntries };
}

test("a login is stored, used by a call and removed, in entries that fit every keychain", async ({ stub }) => {
  const { run, readEntries } = await installProgram();
  stub.respond(() => answer(200, enveloped(job)));
  const secret = "a secret of the client";
  const flags = ["--base-url", stub.baseUrl, "--client-id", "client-1", "--secret-stdin"];
  expect(await run(["login", ...flags], secret)).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse((await run(["doctor", "--offline", "--json"])).stdout).settings).toMatchObject({
    clientId: { value: "client-1", from: "keychain" },
    keychain: { state: "available" },
  });
  const called = await run(["call", "get_job", job.id]);
  expect(called).toMatchObject({ code: 0, stdout: expect.stringContaining(job.id) });
  const header = basicHeader({ clientId: "client-1", clientSecret: secret });
  expect(stub.tokenRequests.map(({ headers }) => headers.authorization)).toContain(header);
  const stored = Object.values(await readEntries());
  // The login and its token.
  expect(stored).toHaveLength(2);
  // Windows' limit for an entry.
  for (const entry of stored) expect(Buffer.from(entry, "base64").length).toBeLessThanOrEqual(2_560);
  expect(await run(["logout"])).toMatchObject({ code: 0 });
  expect(await readEntries()).toEqual({});
});
