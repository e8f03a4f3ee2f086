// Refuses requests from foreign web pages. A page can make a browser send requests here under a name that its owner points at
// this machine (DNS rebinding): so Host must name the machine itself, and Origin, where there is one, too.
import type { IncomingMessage } from "node:http";
import { inUrl, LOOPBACK_NAMES } from "../../loopback.ts";

const HOST = /^(?<name>\[[^\]]*\]|[^:]*)(?::(?<port>\d{1,5}))?$/;
const ORIGIN = /^https?:\/\/(?<host>.*)$/;

/** Why a request may not come in; undefined when it may. */
export type Gate = (request: Pick<IncomingMessage, "headersDistinct">) => string | undefined;

/** `address` and `port`: what is listened on. */
export function createGate(address: string, port: number): Gate {
  const names: ReadonlySet<string> = new Set([...LOOPBACK_NAMES, inUrl(address)]);

  function read(host: string) {
    const { name, port: text } = HOST.exec(host)?.groups ?? {};
    return { isOwn: name !== undefined && names.has(name.toLowerCase()), port: text && Number(text) };
  }

  return ({ headersDistinct: { host: hosts = [], origin: origins = [] } }) => {
    const [host, ...more] = hosts;
    const named = host === undefined || more.length > 0 ? undefined : read(host);
    if (!named?.isOwn) return `The Host header must name this machine: ${[...names].join(", ")}.`;
    if (named.port !== undefined && named.port !== port) return `The Host header names another port than ${port}.`;
    const isOwn = (origin: string) => read(ORIGIN.exec(origin)?.groups?.["host"] ?? "").isOwn;
    if (!origins.every(isOwn)) return "The Origin header must be absent or name this machine.";
    return undefined;
  };
}
