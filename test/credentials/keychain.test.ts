// Tests the contents of keychain entries: which values fit, and how entries of other programs are read.
import { expect, test } from "vitest";
import { describeFix, fitsKeychain, type Keychain } from "../../src/credentials/keychain/keychain.ts";
import { readLogin } from "../../src/credentials/login.ts";
import { createKeychainTokenStore } from "../../src/credentials/token-store.ts";

test.each([
  ["win32", 2_560],
  ["linux", 65_536],
  ["darwin", 65_536],
] as const)("on %s an entry holds %d bytes of UTF-8", (platform, bytes) => {
  expect(fitsKeychain("x".repeat(bytes), platform)).toBe(true);
  expect(fitsKeychain("x".repeat(bytes + 1), platform)).toBe(false);
  expect(fitsKeychain("é".repeat(bytes / 2), platform)).toBe(true);
  expect(fitsKeychain("é".repeat(bytes / 2 + 1), platform)).toBe(false);
});

test.each([
  ["silent", "linux", "To continue, restart the keychain (systemctl --user restart gnome-keyring-daemon)."],
  [
    "silent",
    "darwin",
    "To continue, answer the dialog of the keychain, which macOS shows once for each version of Node.",
  ],
  ["locked", "darwin", "To unlock it, answer the dialog of the keychain, or run security unlock-keychain."],
  ["locked", "win32", "To unlock it, log in to Windows."],
] as const)("the fix for a %s keychain on %s is a step that this system offers", (kind, platform, fix) => {
  expect(describeFix(kind, platform)).toBe(fix);
});

const createKeychain = (text: string | undefined, written: string[] = []): Keychain => ({
  getPassword: async () => text,
  setPassword: async (_, password) => void written.push(password),
  deletePassword: async () => false,
  listAccounts: async () => [],
  close: () => undefined,
});

const owner = { baseUrl: "https://service.example", clientId: "id" };
const scopes = ["mic.jobs:read"];

test("a token that does not fit into the keychain stays in memory, without an error", async () => {
  const written: string[] = [];
  const errors: unknown[] = [];
  const store = createKeychainTokenStore(createKeychain(undefined, written), Date.now, (error) => errors.push(error));
  await store.save(owner, scopes, { value: "x".repeat(70_000), obtainedAt: Date.now() });
  await store.save(owner, scopes, { value: "small", obtainedAt: Date.now() });
  expect(written.map((text) => JSON.parse(text).value)).toEqual(["small"]);
  expect(errors).toEqual([]);
});

const login = { ...owner, clientSecret: "s3cr3t-0123456789abcdef" };

test("a login is read as it was stored; a broken or foreign entry is ignored", async () => {
  expect(await readLogin(createKeychain(JSON.stringify(login)), undefined)).toEqual(login);
  for (const entry of [
    "{ no JSON",
    '["another shape"]',
    "\ufffd\ufffd\u0000\ufffd",
    JSON.stringify({ ...login, baseUrl: "file:///etc/passwd" }),
    JSON.stringify({ ...login, clientId: "no\r\nheader" }),
    '{"baseUrl":"https://service.example","clientId":"\\ud800","clientSecret":"abcdefgh"}',
  ])
    expect(await readLogin(createKeychain(entry), undefined), entry).toBeUndefined();
});

test("a token is read as it was stored; a broken or foreign entry is ignored without an error", async () => {
  const now = Date.now();
  const errors: unknown[] = [];
  const report = (error: unknown) => errors.push(error);
  const read = (text: string) => createKeychainTokenStore(createKeychain(text), () => now, report).load(owner, scopes);
  expect(await read(JSON.stringify({ value: "a-token", obtainedAt: now }))).toMatchObject({ value: "a-token" });
  for (const entry of ["no JSON", '{"value":1}', JSON.stringify({ value: "no\r\nheader: 1", obtainedAt: now })])
    expect(await read(entry), entry).toBeUndefined();
  expect(errors).toEqual([]);
});
