// Decides which hosts serve --http may listen on: only unambiguous loopback addresses of this machine.
import { promises as dns, type LookupAddress } from "node:dns";
import { isIPv6 } from "node:net";
import { UsageError } from "../../core/config.ts";
import { isLoopback } from "../../core/loopback.ts";

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
