// Denies requests from foreign web pages. A page can make a browser send requests here, under a name that its owner points at this machine
// (DNS rebinding) or across origins. Therefore Host must be a name that a foreign page cannot have.
import type { IncomingMessage } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import { hostOfOrigin, isLoopback, LOOPBACK_NAMES, parseHostHeader, toUrlHost } from "../../core/loopback.ts";

export type HostCheck = (request: Pick<IncomingMessage, "headersDistinct">) => Denial | undefined;

export interface Denial {
  readonly header: "Host" | "Origin";
  readonly reason: string;
}

/** Names that do not exist in the public DNS: names with one label, as containers have them, and names reserved for local networks. */
const LOCAL_NAME = /^[a-z0-9_-]+$|\.(?:localhost|local|internal|home\.arpa)$/;

/** Accepts an address as a socket reports it: a dual-stack socket reports an IPv4 address as an IPv6 address. */
export const isThisMachine = (address: string): boolean => isLoopback(address.replace(/^::ffff:/, ""));

/** On loopback, Host must name the machine and the port. Elsewhere it may be an IP address, the value of --host, or a local name. */
export function createHostCheck(requestedHost: string, { address, port }: AddressInfo): HostCheck {
  const ownNames = new Set([...LOOPBACK_NAMES, toUrlHost(address), toUrlHost(requestedHost).toLowerCase()]);
  const isLocal = isThisMachine(address);

  function isOwnHost(text: string): boolean {
    const requested = parseHostHeader(text);
    if (isLocal) return ownNames.has(requested.name) && (requested.port === undefined || requested.port === port);
    const isAddress = isIP(requested.name.replace(/^\[(.*)\]$/, "$1")) !== 0;
    return isAddress || ownNames.has(requested.name) || LOCAL_NAME.test(requested.name);
  }

  return ({ headersDistinct: { host: hosts = [], origin: origins = [] } }) => {
    // The app checks the number of Host headers.
    if (!hosts.every(isOwnHost))
      return {
        header: "Host",
        reason: `Host must name the emulator: ${[...ownNames].join(", ")}${isLocal ? "" : ", …"}.`,
      };
    const isLocalOrigin = (origin: string): boolean => {
      const host = hostOfOrigin(origin);
      return hosts.some((each) => each.toLowerCase() === host) || LOOPBACK_NAMES.includes(parseHostHeader(host).name);
    };
    if (!origins.every(isLocalOrigin))
      return { header: "Origin", reason: "Origin must be absent, or name this machine." };
    return undefined;
  };
}
