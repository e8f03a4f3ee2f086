// The bearer token of a request (RFC 6750, 2.1).
import type { IncomingMessage } from "node:http";

const BEARER = /^bearer +(\S+)$/i;

/** Undefined where there is none, or more than one. */
export function bearerTokenOf({ headersDistinct }: Pick<IncomingMessage, "headersDistinct">): string | undefined {
  const [header, ...more] = headersDistinct["authorization"] ?? [];
  return header === undefined || more.length > 0 ? undefined : BEARER.exec(header)?.[1];
}
