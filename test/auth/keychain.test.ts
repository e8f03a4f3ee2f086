// What fits into a keychain entry, on systems that this test does not run on too.
import { expect, test } from "vitest";
import { fitsKeychain, type Keychain } from "../../src/auth/keychain/keychain.ts";
import { keychainTokens } from "../../src/auth/token-store.ts";

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

test("a token that does not fit stays in memory, and is no trouble", async () => {
  const written: string[] = [];
  const keychain: Keychain = {
    getPassword: async () => undefined,
    setPassword: async (_, password) => void written.push(password),
    deletePassword: async () => false,
    listAccounts: async () => [],
    close: () => undefined,
  };
  const troubles: unknown[] = [];
  const store = keychainTokens(keychain, Date.now, (error) => troubles.push(error));
  const owner = { baseUrl: "https://service.example", clientId: "id" };
  await store.save(owner, ["mic.jobs:read"], { value: "x".repeat(70_000), obtainedAt: Date.now() });
  await store.save(owner, ["mic.jobs:read"], { value: "small", obtainedAt: Date.now() });
  expect(written.map((text) => JSON.parse(text).value)).toEqual(["small"]);
  expect(troubles).toEqual([]);
});
