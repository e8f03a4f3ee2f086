// This module recognizes the addresses that refer to this machine in any network.
import { isIPv4, isIPv6 } from "node:net";

/** The names of the local machine in a URL and in a Host header. */
export const LOOPBACK_NAMES: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** Accepts IPv4 in dotted decimal form, and IPv6 in any form without a zone. */
export const isLoopback = (address: string): boolean =>
  isIPv4(address)
    ? address.startsWith("127.")
    : isIPv6(address) && !address.includes("%") && new URL(`http://[${address}]`).hostname === "[::1]";

export const toUrlHost = (address: string): string => (isIPv6(address) ? `[${address}]` : address);

/** Accepts a host as in a URL or in --host. */
export const isLoopbackHost = (host: string): boolean =>
  host === "localhost" || isLoopback(host.replace(/^\[(.*)\]$/, "$1"));

const HOST = /^(?<name>\[[^\]]*\]|[^:]*)(?::(?<port>\d{1,5}))?$/;

/** Splits the value of a Host header, in lowercase. The name of an invalid value is empty. */
export function parseHostHeader(host: string): { readonly name: string; readonly port: number | undefined } {
  const { name = "", port } = HOST.exec(host.toLowerCase())?.groups ?? {};
  return { name, port: port === undefined ? undefined : Number(port) };
}

/** Returns the host and port in an Origin header, in lowercase. Empty if the scheme is neither http nor https. */
export const hostOfOrigin = (origin: string): string => /^https?:\/\/(.*)$/.exec(origin.toLowerCase())?.[1] ?? "";

/** True if secrets may be sent to this URL: with https, or with http to this machine. */
export const isSecureUrl = ({ protocol, hostname }: URL): boolean =>
  protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
