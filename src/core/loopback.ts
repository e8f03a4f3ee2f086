// Which addresses mean this machine itself, whatever network it is on.
import { isIPv4, isIPv6 } from "node:net";

/** What every machine calls itself in a URL and in a Host header. */
export const LOOPBACK_NAMES: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** IPv4 in its plain spelling; IPv6 in any, but with no zone. */
export const isLoopback = (address: string): boolean =>
  isIPv4(address)
    ? address.startsWith("127.")
    : isIPv6(address) && !address.includes("%") && new URL(`http://[${address}]`).hostname === "[::1]";

/** An address as it stands in a URL and in a Host header. */
export const toUrlHost = (address: string): string => (isIPv6(address) ? `[${address}]` : address);

/** A host as a URL or --host has it. */
export const isLoopbackHost = (host: string): boolean =>
  host === "localhost" || isLoopback(host.replace(/^\[(.*)\]$/, "$1"));

/** Secrets may be sent to such a URL: with https, or with http on this machine. */
export const isSecureUrl = ({ protocol, hostname }: URL): boolean =>
  protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
