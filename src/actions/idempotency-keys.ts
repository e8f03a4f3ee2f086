// This module generates unguessable idempotency keys that meet all three grammars of the contract, and checks the keys of callers.
import { randomBytes } from "node:crypto";
import type * as z from "zod/v4";
import type { KeyGrammar } from "../contract/endpoints/endpoint.ts";
import { chars, inputKey, processingKey, textKey } from "../contract/scalars.ts";
import { sha256Hex } from "./fingerprint.ts";

/** In any letter case. An agent gets such a key from mic-mcp, so it never names a new action. */
export const isGeneratedKey = (key: string): boolean => /^\s*mic-[0-9a-f]{32}\s*$/i.test(key);

/** Returns a new key: `mic-` and 128 random bits in hexadecimal, 36 characters in total. */
export const generateKey = (): string => `mic-${randomBytes(16).toString("hex")}`;

/** Derives the key of one step from the key of its call. The same call always gets the same keys. */
export const deriveStepKey = (callKey: string, step: string): string =>
  `mic-${sha256Hex(JSON.stringify([callKey, step])).slice(0, 32)}`;

/** Derives the key that a replay offers for running its action again. Because it is derived, repeating the offered call is safe too. */
export const deriveRepeatKey = (key: string): string => `again-${sha256Hex(key).slice(0, 16)}`;

// Only printable ASCII without outer spaces is certain to pass through a header unchanged (open question 34).
const headerSafe = textKey.regex(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/, {
  error: "must be printable ASCII without outer spaces",
});

/** The schema of each key grammar (docs/contract.md, 4.2). */
export const keySchemas: Readonly<Record<KeyGrammar, z.ZodString>> = {
  text: headerSafe,
  input: inputKey,
  processing: processingKey,
};

/** A key of any operation: the bounds include those of all three grammars. */
export const anyKey = chars(1, 160);
