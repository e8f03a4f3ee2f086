// The name of a service in the journal: the scope of the idempotency keys of one client or, in a deployment, of one caller.
import { createHash } from "node:crypto";
import * as z from "zod/v4";

const ServiceName = z.tuple([z.string(), z.string()]);

/** Returns base URL and client id. */
export const parseServiceName = (service: string) => ServiceName.parse(JSON.parse(service));

/** The client id, and a hash of base URL, client id and caller. It is short, because four indexes contain it. */
export function createCallerServiceName(service: string, caller: string): string {
  const [baseUrl, clientId] = parseServiceName(service);
  const hash = createHash("sha256").update(JSON.stringify([baseUrl, clientId, caller]));
  return JSON.stringify([clientId, hash.digest("base64url").slice(0, 22)]);
}
