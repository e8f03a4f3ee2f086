// Idempotency-Keys: made unguessable and fit for all three grammars of the contract, or checked against the operation's own.
import { createHash, randomBytes } from "node:crypto";
import type * as z from "zod/v4";
import type { KeyGrammar } from "../contract/endpoints/endpoint.ts";
import { inputKey, processingKey, textKey } from "../contract/text.ts";

/** Has the form of makeKey: an agent that has such a key has it from us. */
export const isOwnKey = (key: string): boolean => /^mic-[0-9a-f]{32}$/.test(key);

/** `mic-` and 128 random bits: 36 characters. */
export const makeKey = (): string => `mic-${randomBytes(16).toString("hex")}`;

/** The key of one action of several that have been agreed to under one key: each time the same. */
export const keyFor = (agreed: string, name: string): string =>
  `mic-${createHash("sha256")
    .update(JSON.stringify([agreed, name]))
    .digest("hex")
    .slice(0, 32)}`;

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
