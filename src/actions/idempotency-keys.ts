// Idempotency-Keys: made unguessable and fit for all three grammars of the contract, or checked against the operation's own.
import { createHash, randomBytes } from "node:crypto";
import type * as z from "zod/v4";
import type { KeyGrammar } from "../contract/endpoints/endpoint.ts";
import { chars, inputKey, processingKey, textKey } from "../contract/text.ts";

/** Has the form of makeKey in any case: an agent got such a key from mic-mcp, so it never names a new action. */
export const isGeneratedKey = (key: string): boolean => /^\s*mic-[0-9a-f]{32}\s*$/i.test(key);

/** `mic-` and 128 random bits: 36 characters. */
export const generateKey = (): string => `mic-${randomBytes(16).toString("hex")}`;

const digest = (text: string, digits: number): string =>
  createHash("sha256").update(text).digest("hex").slice(0, digits);

/** The key of one step of a call that has a key of its own. The same call always derives the same keys. */
export const deriveStepKey = (callKey: string, step: string): string =>
  `mic-${digest(JSON.stringify([callKey, step]), 32)}`;

/** The key that a replay offers for running its action again. It is derived, so that repeating the offered call is safe too. */
export const deriveRepeatKey = (key: string): string => `again-${digest(key, 16)}`;

// A header carries printable ASCII without outer spaces unharmed, and nothing else for certain.
const headerSafe = textKey.regex(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/, {
  error: "must be printable ASCII without outer spaces",
});

/** The grammar of section 4.2 that an operation's key has to meet. */
export const keySchemas: Readonly<Record<KeyGrammar, z.ZodString>> = {
  text: headerSafe,
  input: inputKey,
  processing: processingKey,
};

/** A key of any operation: the grammars differ in their bounds and characters. */
export const anyKey = chars(1, 160);
