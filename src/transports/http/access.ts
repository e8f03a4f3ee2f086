// Decides whose requests serve --http takes: of no foreign web page, and, with a token, those that carry it; without one, on Linux,
// those of the user who started the server. This holds for every path: a monitor learns from a 401, too, that the server is up.
import { createHash, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { isIPv4, type Socket } from "node:net";
import { endianness } from "node:os";
import { LOOPBACK_NAMES, toUrlHost } from "../../core/loopback.ts";
import type { Log } from "../../mcp/runtime.ts";
import { errorResponse } from "./responses.ts";

/** The refusal of a request that may not come in; undefined when it may. */
export type AccessCheck = (request: IncomingMessage) => Response | undefined;

const HOST = /^(?<name>\[[^\]]*\]|[^:]*)(?::(?<port>\d{1,5}))?$/;
const ORIGIN = /^https?:\/\/(?<host>.*)$/;

/**
 * A page can make a browser send requests here under a name that its owner points at this machine (DNS rebinding): so Host must name
 * the machine itself, and Origin, if there is one, too.
 */
export function checkHost({ headersDistinct, socket }: IncomingMessage): Response | undefined {
  const names = [...LOOPBACK_NAMES, toUrlHost(socket.localAddress ?? "")];
  const parseHost = (host: string) => HOST.exec(host)?.groups ?? {};
  const isOwn = (name: string | undefined) => name !== undefined && names.includes(name.toLowerCase());
  const { host: [host, ...more] = [], origin: origins = [] } = headersDistinct;
  const { name, port } = host === undefined || more.length > 0 ? {} : parseHost(host);
  if (!isOwn(name))
    return errorResponse(403, `The Host header must name this machine: ${[...new Set(names)].join(", ")}.`);
  if (port && Number(port) !== socket.localPort)
    return errorResponse(403, `The Host header names another port than ${socket.localPort}.`);
  if (!origins.every((origin) => isOwn(parseHost(ORIGIN.exec(origin)?.groups?.["host"] ?? "")["name"])))
    return errorResponse(403, "The Origin header must be absent or name this machine.");
  return undefined;
}

const BEARER = /^bearer +(\S+)$/i;

/** The bearer token of a request (RFC 6750, 2.1); undefined if there is none, or more than one. */
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
    // Digests have one length, so the time of the comparison gives nothing of the token away.
    if (presented !== undefined && timingSafeEqual(digest(presented), expected)) return undefined;
    // RFC 6750, 3.1: an error is named only where a token was given.
    const challenge = presented === undefined ? REALM : `${REALM}, error="invalid_token"`;
    const reason = "This server takes requests with its token only: Authorization: Bearer <MIC_HTTP_TOKEN>.";
    return errorResponse(401, reason, { headers: { "www-authenticate": challenge } });
  };
}

// Linux lists each socket with its user: `sl: local remote state queues timer retransmits uid timeout inode`, addresses and ports
// in hexadecimal, and an address as words of 32 bits in this machine's own byte order.
const SOCKET_TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];

/** The table is read in pieces while sockets come and go: one look may miss a line, three hardly will. */
const MAX_TABLE_READS = 3;

const toHexWords = (bytes: Buffer): string =>
  (endianness() === "LE" ? bytes.swap32() : bytes).toString("hex").toUpperCase();
const IPV6_LOOPBACK = toHexWords(Buffer.from("00000000000000000000000000000001", "hex"));
const IPV4_MAPPED_PREFIX = toHexWords(Buffer.from("00000000000000000000ffff", "hex"));

/** One end of a connection as the tables write it: a loopback address, which the client may have as an IPv6 one. */
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

/** The uid of the client's end; undefined if it cannot be found. Synchronous, so that requests cannot overtake each other. */
function clientUid({ remoteAddress, remotePort, localAddress, localPort }: Socket): number | undefined {
  const to = toTableAddresses(localAddress, localPort);
  const ends = toTableAddresses(remoteAddress, remotePort).map((from, at) => ` ${from} ${to[at]} `);
  for (let reads = 0; reads < MAX_TABLE_READS; reads++)
    for (const line of SOCKET_TABLES.flatMap((path) => readTable(path).split("\n"))) {
      if (!ends.some((end) => line.includes(end))) continue;
      const [, , , , , , , uid, , inode] = line.trim().split(/ +/);
      // A socket that its process has closed has no owner, and stands under root's uid: its sender need not be root.
      if (uid !== undefined && inode !== "0") return Number(uid);
    }
  return undefined;
}

const ROOT = 0;

function createUserCheck(own: number, log: Log): AccessCheck {
  /** A connection keeps its user, so it is judged once: why it is refused. */
  const refusalReasons = new WeakMap<Socket, string | undefined>();

  function findRefusalReason(socket: Socket): string | undefined {
    const uid = clientUid(socket);
    if (uid === own || uid === ROOT) return undefined;
    log.info({ uid }, "a connection that is not of this server's user was refused");
    // An unknown user is refused: a person's credentials are at stake.
    const connectionUser =
      uid === undefined ? "whose connection this is cannot be told" : `this connection is of uid ${uid}`;
    return `This server answers to the user who started it (uid ${own}), and ${connectionUser}. With MIC_HTTP_TOKEN set it answers to whoever has that token.`;
  }

  return ({ socket }) => {
    if (!refusalReasons.has(socket)) refusalReasons.set(socket, findRefusalReason(socket));
    const reason = refusalReasons.get(socket);
    return reason === undefined ? undefined : errorResponse(403, reason);
  };
}

/** Without a token every user of this machine is admitted if the system cannot name a connection's user. */
export function createAccessCheck(token: string | undefined, log: Log): AccessCheck {
  if (token !== undefined) return createTokenCheck(token);
  const own = process.platform === "linux" ? process.geteuid?.() : undefined;
  if (own !== undefined) return createUserCheck(own, log);
  log.warn({}, "any user of this machine can use this server: set MIC_HTTP_TOKEN");
  return () => undefined;
}
