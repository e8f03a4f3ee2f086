// Tests the encryption of a deployment for teams: which tokens can be decrypted, and which cannot.
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { createEncryption, DecryptionError, type Purpose, readSecretKeys } from "../../src/teams/encryption.ts";

const createKeyLine = (id: string): string => `${id} ${randomBytes(32).toString("base64")}`;
const KEY_A = createKeyLine("a");
const KEY_B = createKeyLine("b");
const encryption = createEncryption(readSecretKeys(KEY_A));
const rotated = createEncryption(readSecretKeys(`# the new one first\n\n${KEY_B}\n${KEY_A}\n`));
const Value = z.strictObject({ of: z.string() });
const PURPOSES: readonly Purpose[] = ["question", "task", "download"];

test.each([
  ["", "no line has a key"],
  ["# nothing", "no line has a key"],
  ["a short", "line 1 is not an id followed by 32 bytes in base64 (create one with openssl rand -base64 32)"],
  [`${KEY_A}\n${createKeyLine("a")}`, "line 2 repeats the id of an earlier line"],
])("MIC_SECRET_KEYS=%j is refused with an error that quotes none of it", (text, reason) => {
  expect(() => readSecretKeys(text)).toThrow(new Error(reason));
});

test("each purpose has a separate derived key", () => {
  const keys = readSecretKeys(KEY_A);
  const derivedKeys = [...PURPOSES, "wire"].map((purpose) =>
    Buffer.from(keys.derive("a", purpose) ?? []).toString("hex"),
  );
  expect(new Set(derivedKeys).size).toBe(derivedKeys.length);
  expect(keys.derive("b", "task")).toBeUndefined();
});

test("a team's secret is decrypted for its team with any key that is still configured", async () => {
  const token = await encryption.encryptSecret("alpha", "s3cret of alpha");
  expect(token).not.toContain("s3cret");
  expect(await encryption.decryptSecret("alpha", token)).toEqual({ secret: "s3cret of alpha", isFirstKey: true });
  expect(await rotated.decryptSecret("alpha", token)).toEqual({ secret: "s3cret of alpha", isFirstKey: false });
});

test("a team's secret is not decrypted for another team, with another key, or after a change", async () => {
  const token = await encryption.encryptSecret("alpha", "s3cret of alpha");
  await expect(encryption.decryptSecret("beta", token)).rejects.toThrow('it was encrypted for team "alpha"');
  await expect(createEncryption(readSecretKeys(KEY_B)).decryptSecret("alpha", token)).rejects.toThrow(
    'it was encrypted with the key "a", which is not in MIC_SECRET_KEYS',
  );
  const at = token.length - 30;
  const altered = token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1);
  await expect(encryption.decryptSecret("alpha", altered)).rejects.toThrow(DecryptionError);
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
  const shortLived = await encryption.encrypt("task", "one", { of: "x" }, 1);
  expect(await encryption.decrypt("task", "one", shortLived, Value)).toEqual({ of: "x" });
  await sleep(2_100);
  expect(await encryption.decrypt("task", "one", shortLived, Value)).toBeUndefined();
  const token = await encryption.encrypt("task", "one", { other: 1 }, 60);
  for (const text of [token, `${token}A`, "", "a.b.c.d.e", "x".repeat(20_000)])
    expect(await encryption.decrypt("task", "one", text, Value)).toBeUndefined();
});
