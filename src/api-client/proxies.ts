// Determines the proxy of a request from HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
import { BlockList, isIP } from "node:net";
import { notConfigured } from "../core/failure.ts";
import { percentDecode } from "../core/percent-decode.ts";
import { ask, say, type Text } from "../core/text.ts";

/** Requests to https URLs use the first that is set, those to http URLs one of the last two. */
export const PROXY_VARIABLES = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"] as const;

const PROTOCOLS = ["http:", "https:", "socks5:", "socks:"];

/** Returns the URL of a proxy; undefined if the text is not one. curl, git and pip also accept `host:port`. */
export function parseProxyUrl(text: string): string | undefined {
  const url = !text.includes("://") && /:\d+\/?$/.test(text) ? `http://${text}` : text;
  if (!URL.canParse(url)) return undefined;
  const { protocol, hostname, pathname, search, hash, username, password, href } = new URL(url);
  // A password with a `#`, `/` or `?` that is not encoded ends the host, and what follows it is not its rest.
  const isOrigin = hostname !== "" && /^\/?$/.test(pathname) && search + hash === "";
  return PROTOCOLS.includes(protocol) && isOrigin && percentDecode(username + password) !== undefined
    ? href
    : undefined;
}

/** The advice for a variable whose value is not the URL of a proxy. The value may contain a password. */
export const proxyAdvice = (variable: string): Text =>
  say`${ask("Set")} ${variable} to a URL such as http://proxy.example:3128 (special characters of a password as %XX), or unset it.`;

const portOf = ({ port, protocol }: URL): string => port || (protocol === "https:" ? "443" : "80");

/** Returns whether an address is in a range such as 10.0.0.0/8. */
function isInRange(address: string, range: string): boolean {
  const [start = "", prefix = ""] = range.split("/");
  const families = [isIP(address), isIP(start)];
  const maxPrefix = isIP(start) === 4 ? 32 : 128;
  if (families.includes(0) || !/^\d{1,3}$/.test(prefix) || Number(prefix) > maxPrefix) return false;
  const list = new BlockList();
  list.addSubnet(start, Number(prefix), isIP(start) === 4 ? "ipv4" : "ipv6");
  return list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}

/** A host or domain, an address, a range, or the start of an IPv4 address (127.*), each with an optional port. */
const NO_PROXY_ENTRY = /^(\[[^\]]*\]|[^:]+|[^[]*:[^[]*:[^[]*?)(?::(\d+))?$/;

function isExcludedFromProxies(target: URL): boolean {
  const { env } = process;
  const name = target.hostname.replace(/^\[|\]$/g, "");
  return (env["no_proxy"] || env["NO_PROXY"] || "").split(/[,;\s]+/).some((entry) => {
    if (entry === "*") return true;
    const [, host = "", port] = NO_PROXY_ENTRY.exec(entry.toLowerCase()) ?? [];
    const excluded = host.replace(/^\[|\]$/g, "").replace(/^\*?\./, "");
    if (excluded === "" || (port !== undefined && port !== portOf(target))) return false;
    if (excluded.includes("/")) return isInRange(name, excluded);
    if (/^(?:\d+\.)+\*$/.test(excluded)) return isIP(name) === 4 && name.startsWith(excluded.slice(0, -1));
    return name === excluded || name.endsWith(`.${excluded}`);
  });
}

/** Returns the variable of the proxy that is used for this URL; undefined if none is used. */
export function proxyVariableFor(url: string): string | undefined {
  const target = new URL(url);
  const names = target.protocol === "http:" ? PROXY_VARIABLES.slice(2) : PROXY_VARIABLES;
  const name = names.find((each) => process.env[each]);
  return name === undefined || isExcludedFromProxies(target) ? undefined : name;
}

/** Returns the URL of the proxy for requests to this URL; undefined if none is used. Throws Failure `not_configured`. */
export function proxyUrlFor(url: string): string | undefined {
  const name = proxyVariableFor(url);
  if (name === undefined) return undefined;
  const proxy = parseProxyUrl(process.env[name] ?? "");
  if (proxy !== undefined) return proxy;
  throw notConfigured(
    say`Nothing was sent, because the value of ${name} is not the URL of a proxy.`,
    proxyAdvice(name),
  );
}
