// Checks the Host, the Origin and the proxies of each request to the public address, before any other step.
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { isLoopback } from "../../core/loopback.ts";
import { answerPreflight, corsHeaders } from "../../transports/http/cors.ts";
import { refuse } from "../../transports/http/responses.ts";
import type { TeamsSettings } from "../settings.ts";

export interface EdgeOptions extends Pick<TeamsSettings, "publicOrigin" | "allowedOrigins" | "isTrustedProxy"> {
  /** Called once, with the first peer that sends X-Forwarded-For and is not trusted. */
  readonly onUntrustedProxy?: (peer: string) => void;
  /** Called with the reason of each refusal. */
  readonly onRefused?: (reason: string) => void;
}

export const SECURITY_HEADERS = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};
const YEAR_SECONDS = 31_536_000;

/** Converts an IPv4-mapped IPv6 address (::ffff:1.2.3.4) to IPv4. */
const normalizeAddress = (address: string): string => /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;

/** Returns `1.2.3.4`, `1.2.3.4:5`, `::1` or `[::1]:5` without the port; undefined for any other text. */
function parseAddress(entry: string): string | undefined {
  const [, bracketed, ipv4] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(entry) ?? [];
  const address = bracketed ?? ipv4 ?? entry;
  return isIP(address) === 0 ? undefined : normalizeAddress(address);
}

const splitList = (headers: readonly string[] | undefined): readonly string[] =>
  (headers ?? []).flatMap((header) => header.split(",").map((entry) => entry.trim()));

export function createEdge(options: EdgeOptions) {
  const { publicOrigin, allowedOrigins, isTrustedProxy = () => false, onUntrustedProxy, onRefused } = options;
  const { host: ownHost, protocol } = new URL(publicOrigin);
  const isTls = protocol === "https:";
  const allowed = new Set(allowedOrigins);
  let hasReportedProxy = false;

  /** Each balancer appends the address of its client to X-Forwarded-For. Entries before one that is not an address are ignored. */
  function clientAddress(peer: string, forwardedFor: readonly string[]): string {
    const addresses = forwardedFor.map(parseAddress);
    const valid = addresses.slice(addresses.lastIndexOf(undefined) + 1).flatMap((address) => address ?? []);
    const hops = [peer, ...valid.reverse()];
    return hops.find((address) => !isTrustedProxy(address)) ?? hops.at(-1) ?? peer;
  }

  function isOwnHost(hosts: readonly string[] = []): boolean {
    const [host = "", ...more] = hosts;
    // URL would also accept other parts, such as a path.
    if (more.length > 0 || !/^[\w.[\]:-]+$/.test(host)) return false;
    if (host === ownHost) return true;
    const url = `${protocol}//${host}`;
    return URL.canParse(url) && new URL(url).host === ownHost;
  }

  const allowedOriginOf = ({ headersDistinct: { origin: origins = [] } }: IncomingMessage): string | undefined =>
    origins.length === 1 && allowed.has(origins[0] ?? "") ? origins[0] : undefined;

  function findRefusalReason(request: IncomingMessage, peer: string, isTrusted: boolean): string | undefined {
    const { headersDistinct } = request;
    if (!isTrusted && !isLoopback(peer))
      return "This server accepts requests only from its load balancer (MIC_TRUST_PROXY).";
    if (isTls && isTrusted && splitList(headersDistinct["x-forwarded-proto"]).at(-1)?.toLowerCase() === "http")
      return "This server accepts only HTTPS requests.";
    if (!isOwnHost(headersDistinct["host"])) return `The Host header must be ${ownHost}.`;
    if ((headersDistinct["origin"] ?? []).length > 0 && allowedOriginOf(request) === undefined)
      return "The Origin header must be absent or one of the allowed origins (MIC_ALLOWED_ORIGINS).";
    return undefined;
  }

  return {
    /** Returns the client's address, as far as trusted balancers report it. Throws RequestRefused, also with the answer to a preflight. */
    check(request: IncomingMessage): string {
      const peer = normalizeAddress(request.socket.remoteAddress ?? "");
      const isTrusted = isTrustedProxy(peer);
      if (!hasReportedProxy && "x-forwarded-for" in request.headers && !isTrusted) {
        hasReportedProxy = true;
        onUntrustedProxy?.(peer);
      }
      const reason = findRefusalReason(request, peer, isTrusted);
      if (reason !== undefined) {
        onRefused?.(reason);
        throw refuse(403, reason);
      }
      answerPreflight(request);
      return clientAddress(peer, splitList(request.headersDistinct["x-forwarded-for"]));
    },

    /** Returns the headers of every response. */
    headers(request: IncomingMessage, isStream: boolean): Readonly<Record<string, string>> {
      return {
        ...SECURITY_HEADERS,
        ...(isTls && { "strict-transport-security": `max-age=${YEAR_SECONDS}` }),
        // This header stops nginx from buffering events.
        ...(isStream && { "x-accel-buffering": "no" }),
        ...(allowed.size > 0 && corsHeaders(allowedOriginOf(request))),
      };
    },
  };
}
