// Decides which hosts serve --http may listen on, only unambiguous loopback addresses of this machine, and which requests it accepts. None
// may come from a foreign web page. With a token, requests must carry it; without a token, on Linux, they must come from the user who
// started the server. This applies to every path: a 401 also shows that it is up.
import { createHash, timingSafeEqual } from "node:crypto";
import { promises as dns, type LookupAddress } from "node:dns";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { isIPv4, isIPv6, type Socket } from "node:net";
import { endianness } from "node:os";
import { UsageError } from "../../core/config.ts";
import { hostOfOrigin, isLoopback, LOOPBACK_NAMES, parseHostHeader, toUrlHost } from "../../core/loopback.ts";
import type { Log } from "../../mcp/runtime.ts";
import { refuse } from "./responses.ts";

/** Throws RequestRefused for a request that is not allowed. */
export type AccessCheck = (request: IncomingMessage) => void;

/**
 * Refuses DNS rebinding: a web page can make a browser send requests here under a host name that its owner points at this machine.
 * So Host must name this machine, and so must Origin if it is present.
 */
export function checkHost({ headersDistinct, socket }: IncomingMessage): void {
  const names = [...LOOPBACK_NAMES, toUrlHost(socket.localAddress ?? "")];
  const { host: [host = "", ...more] = [], origin: origins = [] } = headersDistinct;
  const { name, port } = parseHostHeader(host);
  if (more.length > 0 || name === "" || !names.includes(name))
    throw refuse(403, `The Host header must name this machine: ${[...new Set(names)].join(", ")}.`);
  if (port !== undefined && port !== socket.localPort)
    throw refuse(403, `The port in the Host header must be ${socket.localPort}.`);
  if (!origins.every((origin) => names.includes(parseHostHeader(hostOfOrigin(origin)).name)))
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

function createTokenCheck(token: string): AccessCheck {
  const expected = digest(token);
  return (request) => {
    const presented = bearerTokenOf(request);
    // The digests have equal lengths, so the time of the comparison reveals nothing about the token.
    if (presented !== undefined && timingSafeEqual(digest(presented), expected)) return;
    // RFC 6750, section 3.1: the challenge contains an error only if the request contains a token.
    const challenge = presented === undefined ? REALM : `${REALM}, error="invalid_token"`;
    const reason = "This server requires its token: Authorization: Bearer <MIC_HTTP_TOKEN>.";
    throw refuse(401, reason, { headers: { "www-authenticate": challenge } });
  };
}

// Linux lists each socket with its user: `sl: local remote state queues timer retransmits uid timeout inode`. Addresses and ports
// are hexadecimal. An address consists of 32-bit words in this machine's byte order.
const SOCKET_TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];

/** The table is read in pieces while sockets open and close: one read may miss a line, three reads hardly ever do. */
const MAX_TABLE_READS = 3;

const toHexWords = (bytes: Buffer): string =>
  (endianness() === "LE" ? bytes.swap32() : bytes).toString("hex").toUpperCase();
const IPV6_LOOPBACK = toHexWords(Buffer.from("00000000000000000000000000000001", "hex"));
const IPV4_MAPPED_PREFIX = toHexWords(Buffer.from("00000000000000000000ffff", "hex"));

/** Formats one end of a loopback connection as in the tables. The client may have an IPv4 address as an IPv4-mapped IPv6 address. */
function toTableAddresses(address = "", port = 0): readonly string[] {
  const ipv4 = isIPv4(address) ? toHexWords(Buffer.from(address.split(".").map(Number))) : undefined;
  const words = ipv4 === undefined ? [IPV6_LOOPBACK] : [ipv4, IPV4_MAPPED_PREFIX + ipv4];
  return words.map((word) => `${word}:${port.toString(16).toUpperCase().padStart(4, "0")}`);
}

function readTable(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

/** Returns the uid of the client's socket; undefined if it is not found. Synchronous, so that requests cannot overtake each other. */
function clientUid({ remoteAddress, remotePort, localAddress, localPort }: Socket): number | undefined {
  const to = toTableAddresses(localAddress, localPort);
  const ends = toTableAddresses(remoteAddress, remotePort).map((from, at) => ` ${from} ${to[at]} `);
  for (let reads = 0; reads < MAX_TABLE_READS; reads++)
    for (const line of SOCKET_TABLES.flatMap((path) => readTable(path).split("\n"))) {
      if (!ends.some((end) => line.includes(end))) continue;
      const [, , , , , , , uid, , inode] = line.trim().split(/ +/);
      // A socket that its process has closed has no inode and is listed with root's uid, although its sender may be another user.
      if (uid !== undefined && inode !== "0") return Number(uid);
    }
  return undefined;
}

const ROOT = 0;

function createUserCheck(own: number, log: Log): AccessCheck {
  /** The reason to refuse each connection, if any. A connection keeps its user, so it is checked once. */
  const refusalReasons = new WeakMap<Socket, string | undefined>();

  function findRefusalReason(socket: Socket): string | undefined {
    const uid = clientUid(socket);
    if (uid === own || uid === ROOT) return undefined;
    log.info({ uid }, "refused a connection that is not from this server's user");
    // An unknown user is refused, because every caller acts with the credentials of the user who started the server.
    const connectionUser =
      uid === undefined ? "the user of this connection could not be determined" : `this connection has uid ${uid}`;
    return `This server accepts only requests of the user who started it (uid ${own}); ${connectionUser}. With MIC_HTTP_TOKEN, it accepts requests of any user with that token.`;
  }

  return ({ socket }) => {
    if (!refusalReasons.has(socket)) refusalReasons.set(socket, findRefusalReason(socket));
    const reason = refusalReasons.get(socket);
    if (reason !== undefined) throw refuse(403, reason);
  };
}

/** Without a token, every user of this machine is admitted if the system cannot report the user of a connection. */
export function createAccessCheck(token: string | undefined, log: Log): AccessCheck {
  if (token !== undefined) return createTokenCheck(token);
  const own = process.platform === "linux" ? process.geteuid?.() : undefined;
  if (own !== undefined) return createUserCheck(own, log);
  log.warn({}, "every user of this machine can use this server; set MIC_HTTP_TOKEN to prevent this");
  return () => undefined;
}

export type Lookup = (name: string) => Promise<readonly LookupAddress[]>;

const systemLookup: Lookup = (name) => dns.lookup(name, { all: true });

const refusedHostError = (host: string, why: string): UsageError =>
  new UsageError(
    `--host ${JSON.stringify(host)} is not allowed: ${why}. serve --http listens only on loopback addresses: 127.0.0.1, ::1 or localhost. To serve other machines, use serve --teams.`,
  );

/**
 * Returns the address to listen on for the value of `--host`. Any name except localhost is refused without a lookup, and so is any
 * other spelling of an IPv4 address. The name localhost is looked up once, and the server listens on the address found. Throws
 * UsageError.
 */
export async function loopbackAddress(host: string, lookup: Lookup = systemLookup): Promise<string> {
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
