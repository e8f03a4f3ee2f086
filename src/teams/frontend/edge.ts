// What is asked of every request to a public address before anything else: its Host, its Origin, and by which way it came.
import type { IncomingMessage } from "node:http";
import { type BlockList, isIP } from "node:net";
import { isLoopback } from "../../loopback.ts";
import { refusal } from "../../mcp/http/refusal.ts";

export interface EdgeOptions {
  /** Of the URL that clients call: `https://mic.example.org`. */
  readonly publicOrigin: string;
  /** Of web pages whose scripts may call. */
  readonly allowedOrigins: readonly string[];
  /** Balancers that end TLS: their X-Forwarded-* are believed. */
  readonly trustedProxies: BlockList | undefined;
}

/** `address`: who asks, as far as the balancer says it. */
export type Judgement = { readonly refused: Response } | { readonly address: string };

export interface Edge {
  judge(request: IncomingMessage): Judgement;
  /** What stands on every response. */
  headers(request: IncomingMessage, response: { readonly isStream: boolean }): Readonly<Record<string, string>>;
}

const ALLOWED_HEADERS = "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, traceparent";
const EXPOSED_HEADERS = "www-authenticate";
const PREFLIGHT_SECONDS = 600;

const SECURITY_HEADERS = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};
const YEAR_SECONDS = 31_536_000;

/** An IPv4 address that came in the form of an IPv6 one is the IPv4 one. */
const plainAddress = (address: string): string => /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;

const isIn = (list: BlockList | undefined, address: string): boolean => {
  const version = isIP(address);
  return list !== undefined && version !== 0 && list.check(address, version === 6 ? "ipv6" : "ipv4");
};

/** `1.2.3.4`, `1.2.3.4:5`, `::1`, `[::1]:5`; undefined for anything else. */
function addressIn(entry: string): string | undefined {
  const [, bracketed, four] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(entry) ?? [];
  const address = bracketed ?? four ?? entry;
  return isIP(address) === 0 ? undefined : plainAddress(address);
}

const listOf = (headers: readonly string[] | undefined): readonly string[] =>
  (headers ?? []).flatMap((header) => header.split(",").map((entry) => entry.trim()));

export function createEdge({ publicOrigin, allowedOrigins, trustedProxies }: EdgeOptions): Edge {
  const { host: ownHost, protocol } = new URL(publicOrigin);
  const isTls = protocol === "https:";
  const allowed = new Set(allowedOrigins);

  /** Each balancer adds at the end who asked it: the last one that is no balancer of ours is the client. */
  function clientOf(peer: string, forwardedFor: readonly string[]): string {
    let client = peer;
    for (const entry of [...forwardedFor].reverse()) {
      const address = addressIn(entry);
      if (address === undefined) return client;
      client = address;
      if (!isIn(trustedProxies, address)) return client;
    }
    return client;
  }

  function isOwnHost(hosts: readonly string[] = []): boolean {
    const [host = "", ...more] = hosts;
    // What URL would take for something else than a host is none.
    if (more.length > 0 || !/^[\w.[\]:-]+$/.test(host)) return false;
    const url = `${protocol}//${host}`;
    return URL.canParse(url) && new URL(url).host === ownHost;
  }

  const originOf = ({ headersDistinct: { origin: origins = [] } }: IncomingMessage): string | undefined =>
    origins.length === 1 && allowed.has(origins[0] ?? "") ? origins[0] : undefined;

  function reasonAgainst(request: IncomingMessage, peer: string): string | undefined {
    const { headersDistinct } = request;
    const isTrusted = isIn(trustedProxies, peer);
    if (!isTrusted && !isLoopback(peer)) return "This server takes requests from its balancer alone (MIC_TRUST_PROXY).";
    if (isTls && isTrusted && listOf(headersDistinct["x-forwarded-proto"]).at(-1)?.toLowerCase() === "http")
      return "This server is called over https alone.";
    if (!isOwnHost(headersDistinct["host"])) return `The Host header must be ${ownHost}.`;
    if ((headersDistinct["origin"] ?? []).length > 0 && originOf(request) === undefined)
      return "The Origin header must be absent or one of those that this server allows (MIC_ALLOWED_ORIGINS).";
    return undefined;
  }

  return {
    judge(request) {
      const peer = plainAddress(request.socket.remoteAddress ?? "");
      const reason = reasonAgainst(request, peer);
      if (reason !== undefined) return { refused: refusal(403, reason) };
      const forwardedFor = isIn(trustedProxies, peer) ? listOf(request.headersDistinct["x-forwarded-for"]) : [];
      const isPreflight = "access-control-request-method" in request.headers;
      if (request.method === "OPTIONS" && isPreflight && originOf(request) !== undefined)
        return {
          refused: new Response(null, {
            status: 204,
            headers: {
              "access-control-allow-methods": "GET, POST",
              "access-control-allow-headers": ALLOWED_HEADERS,
              "access-control-max-age": String(PREFLIGHT_SECONDS),
            },
          }),
        };
      return { address: clientOf(peer, forwardedFor) };
    },

    headers(request, { isStream }) {
      const origin = originOf(request);
      return {
        ...SECURITY_HEADERS,
        ...(isTls && { "strict-transport-security": `max-age=${YEAR_SECONDS}` }),
        // A balancer must hand on each event as it comes.
        ...(isStream && { "x-accel-buffering": "no" }),
        ...(allowed.size > 0 && { vary: "origin" }),
        ...(origin !== undefined && {
          "access-control-allow-origin": origin,
          "access-control-expose-headers": EXPOSED_HEADERS,
        }),
      };
    },
  };
}
