// The Idempotency-Keys of callers who share client credentials. To the service they are one client: what each of them names goes out
// under a key that nobody else's has, and comes back under the caller's own.
import { createHmac } from "node:crypto";
import type { Failure } from "../failure.ts";

/** `secret`: the deployment's, 32 bytes. Fit for all three grammars of the contract, as makeKey's are (docs/contract.md, 4.2). */
export const wireKeysOf =
  (secret: Uint8Array, caller: string) =>
  (key: string): string =>
    `mic-${createHmac("sha256", secret)
      .update(JSON.stringify([caller, key]))
      .digest("hex")
      .slice(0, 32)}`;

/** The same failure, of the action with this key; where the service's words quote the key that it knows, they quote this one. */
export function withOwnKey(failure: Failure, wireKey: string, key: string): Failure {
  const keyed = failure.with({ idempotencyKey: key });
  if (wireKey === key) return keyed;
  const own = (text: string): string => text.replaceAll(wireKey, () => key);
  const { message, next, fieldErrors } = keyed.facts;
  return keyed.with({
    message: own(message),
    ...(next !== undefined && { next: own(next) }),
    ...(fieldErrors && { fieldErrors: fieldErrors.map((each) => ({ ...each, message: own(each.message) })) }),
  });
}
