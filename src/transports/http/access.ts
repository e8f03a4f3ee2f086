// Decides on which hosts serve --http may listen (only unambiguous loopback addresses of this machine) and which requests it accepts: those
// with its token, but none from a foreign web page.
import { createHash, timingSafeEqual } from "node:crypto";
import { promises as dns, type LookupAddress } from "node:dns";
import type { IncomingMessage } from "node:http";
import { isIPv6 } from "node:net";
import { UsageError } from "../../core/config.ts";
import { hostOfOrigin, isLoopback, LOOPBACK_NAMES, parseHostHeader, toUrlHost } from "../../core/loopback.ts";
import { refuse } from "./responses.ts";
import type { HttpToken } from "./token.ts";

/** Throws RequestRefused for a request that is not allowed. */
export type AccessCheck = (request: IncomingMessage) => void;

const localNames = ({ socket }: IncomingMessage): readonly string[] => [
  ...LOOPBACK_NAMES,
  toUrlHost(socket.localAddress ?? ""),
];

/** Returns the origin of a web page on this machine that sent the request; undefined if no such page did. */
export function localOriginOf(request: IncomingMessage): string | undefined {
  const [origin, ...more] = request.headersDistinct["origin"] ?? [];
  if (origin === undefined || more.length > 0) return undefined;
  return localNames(request).includes(parseHostHeader(hostOfOrigin(origin)).name) ? origin : undefined;
}

/** DNS rebinding: a web page can make a browser send requests here under a host name that its owner points at this machine. */
export function checkHost(request: IncomingMessage): void {
  const { headersDistinct, socket } = request;
  const names = localNames(request);
  const { host: [host = "", ...more] = [] } = headersDistinct;
  const { name, port } = parseHostHeader(host);
  if (more.length > 0 || name === "" || !names.includes(name))
    throw refuse(403, `The Host header must name this machine: ${[...new Set(names)].join(", ")}.`);
  if (port !== undefined && port !== socket.localPort)
    throw refuse(403, `The port in the Host header must be ${socket.localPort}.`);
  if ("origin" in headersDistinct && localOriginOf(request) === undefined)
    throw refuse(403, "The Origin header must be absent or name this machine.");
}

const BEARER = /^bearer +(\S+)$/i;

/** Returns the bearer token of a request (RFC 6750, section 2.1); undefined if there is none, or more than one Authorization header. */
export function bearerTokenOf({ headersDistinct }: Pick<IncomingMessage, "headersDistinct">): string | undefined {
  const [header, ...more] = headersDistinct["authorization"] ?? [];
  return header === undefined || more.length > 0 ? undefined : BEARER.exec(header)?.[1];
}

const REALM = 'Bearer realm="mic-mcp"';

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Explains to a client without the token how to get it. Some clients show only the 404 of a path that OAuth would have (Claude Code). */
export const tokenHint = ({ tokenFile }: HttpToken): string =>
  `This server requires a bearer token, which is ${tokenFile === undefined ? "the value of its MIC_HTTP_TOKEN" : `in the file ${tokenFile}`}. Send it in the header Authorization: Bearer <token>. There is no OAuth sign-in.`;

/** Refuses requests without the token. The challenge names no OAuth metadata, so that clients do not begin to sign in. */
export function createTokenCheck(access: HttpToken): AccessCheck {
  const expected = digest(access.token);
  return (request) => {
    const presented = bearerTokenOf(request);
    // The digests have equal lengths, so the time of the comparison reveals nothing about the token.
    if (presented !== undefined && timingSafeEqual(digest(presented), expected)) return;
    // RFC 6750, section 3.1: the challenge contains an error only if the request contains a token.
    const challenge = presented === undefined ? REALM : `${REALM}, error="invalid_token"`;
    throw refuse(401, tokenHint(access), { headers: { "www-authenticate": challenge } });
  };
}

export type Lookup = (name: string) => Promise<readonly LookupAddress[]>;

const refusedHostError = (host: string, why: string): UsageError =>
  new UsageError(
    `--host ${JSON.stringify(host)} is not allowed: ${why}. serve --http listens only on loopback addresses: 127.0.0.1, ::1 or localhost. To serve other machines, use serve --teams.`,
  );

/** Names other than localhost are refused without a lookup, and so is another spelling of an IPv4 address. Throws UsageError. */
export async function loopbackAddress(
  host: string,
  lookup: Lookup = (name) => dns.lookup(name, { all: true }),
): Promise<string> {
  const bare = /^\[(.*)\]$/.exec(host)?.[1] ?? host;
  if (isIPv6(bare) && isLoopback(bare)) return "::1";
  if (isLoopback(host)) return host;
  if (host.toLowerCase() !== "localhost")
    throw refusedHostError(host, "it is neither a loopback address nor localhost");
  const addresses = await lookup("localhost").catch(() => []);
  const nonLoopback = addresses.find(({ address }) => !isLoopback(address));
  if (nonLoopback) throw refusedHostError(host, `on this machine it resolves to ${nonLoopback.address}`);
  const [first] = [...addresses].sort((a, b) => a.family - b.family);
  if (!first) throw refusedHostError(host, "on this machine it does not resolve to an address");
  return first.address;
}
