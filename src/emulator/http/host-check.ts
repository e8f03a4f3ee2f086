// Who may come in: no web page of somebody else's. A page can make a browser send requests here, under a name that its owner
// points at this machine (DNS rebinding) or across origins: so Host must name what nobody else's page can come from.
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { isLoopback, LOOPBACK_NAMES, toUrlHost } from "../../core/loopback.ts";

/** Why a request may not come in, and which header says so; undefined when it may. */
export type HostCheck = (request: Pick<IncomingMessage, "headersDistinct">) => Denial | undefined;

export interface Denial {
  readonly header: "Host" | "Origin";
  readonly reason: string;
}

export interface HostCheckOptions {
  /** What --host said. */
  readonly host: string;
  /** What is listened on, and where. */
  readonly address: string;
  readonly port: number;
}

const HOST = /^(?<name>\[[^\]]*\]|[^:]*)(?::(?<port>\d{1,5}))?$/;
const ORIGIN = /^https?:\/\/(?<host>.*)$/;

/** Nobody gets one of these in the public DNS: names of one part, as containers have them, and those kept for local networks. */
const LOCAL_NAME = /^[a-z0-9_-]+$|\.(?:localhost|local|internal|home\.arpa)$/;

/** Of an address as a socket has it: one that takes both families writes an IPv4 address as an IPv6 one. */
export const isThisMachine = (address: string): boolean => isLoopback(address.replace(/^::ffff:/, ""));

function parseHost(text: string) {
  const { name = "", port } = HOST.exec(text.toLowerCase())?.groups ?? {};
  return { name, port: port === undefined ? undefined : Number(port) };
}

/**
 * On loopback, Host names the machine itself and the port. Beyond it clients come by an address (no rebound name is one), by
 * what --host said or by a name of a local network; and by another port where a container maps it.
 */
export function createHostCheck({ host: requestedHost, address, port }: HostCheckOptions): HostCheck {
  const ownNames = new Set([...LOOPBACK_NAMES, toUrlHost(address), toUrlHost(requestedHost).toLowerCase()]);
  const isLocal = isThisMachine(address);

  function isOwnHost(text: string): boolean {
    const requested = parseHost(text);
    if (isLocal) return ownNames.has(requested.name) && (requested.port === undefined || requested.port === port);
    const isAddress = isIP(requested.name.replace(/^\[(.*)\]$/, "$1")) !== 0;
    return isAddress || ownNames.has(requested.name) || LOCAL_NAME.test(requested.name);
  }

  return ({ headersDistinct: { host: hosts = [], origin: origins = [] } }) => {
    // How many there must be is for the service to say.
    if (!hosts.every(isOwnHost))
      return {
        header: "Host",
        reason: `Host must name the emulator: ${[...ownNames].join(", ")}${isLocal ? "" : ", …"}.`,
      };
    const isLocalOrigin = (origin: string): boolean => {
      const host = ORIGIN.exec(origin.toLowerCase())?.groups?.["host"] ?? "";
      return hosts.some((each) => each.toLowerCase() === host) || LOOPBACK_NAMES.includes(parseHost(host).name);
    };
    if (!origins.every(isLocalOrigin))
      return { header: "Origin", reason: "Origin must be absent, or name this machine." };
    return undefined;
  };
}
