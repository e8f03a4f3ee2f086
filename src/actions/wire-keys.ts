// Errors of actions whose key at the API differs from the one that the caller named.
import type { Failure } from "../failure.ts";

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
