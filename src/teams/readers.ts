// What the variables of a deployment for teams may be (docs/interface.md, "Teams").
import { BlockList, isIP } from "node:net";
import { isLoopback } from "../loopback.ts";
import { isHttpUrl, postgresUrl, type Reader, Wrong } from "../variables.ts";

/** Plain http is for this machine alone: tokens travel with every request. */
const isSafe = ({ protocol, hostname }: URL): boolean =>
  protocol === "https:" || hostname === "localhost" || isLoopback(hostname.replace(/^\[(.*)\]$/, "$1"));

function safeUrl(text: string): URL | undefined {
  const url = isHttpUrl(text) ? new URL(text) : undefined;
  return url && isSafe(url) ? url : undefined;
}

/** The origin of what clients call. */
export const publicOrigin: Reader<string> = (text) => {
  const url = safeUrl(text);
  if (url && /^\/(mcp)?$/.test(url.pathname)) return url.origin;
  throw new Wrong(
    "the https URL that clients call, with no path but /mcp (https://mic.example.org); http on this machine alone",
  );
};

/** As the identity provider writes it: a slash at its end makes a difference. */
export const issuerUrl: Reader<string> = (text) => {
  if (safeUrl(text)) return text;
  throw new Wrong(
    "the https URL of the identity provider, exactly as its tokens have it in iss; http on this machine alone",
  );
};

const entries = (text: string): readonly string[] => text.split(",").map((entry) => entry.trim());

export const origins: Reader<readonly string[]> = (text) =>
  entries(text).map((entry) => {
    if (isHttpUrl(entry) && new URL(entry).origin === entry) return entry;
    throw new Wrong("a comma list of origins, such as https://app.example.org");
  });

export const postgresUrls: Reader<readonly string[]> = (text) => {
  try {
    return entries(text).map(postgresUrl);
  } catch {
    throw new Wrong("a postgres:// URL, or several in a comma list: the primary's and its replicas'");
  }
};

const addRange = (list: BlockList, text: string): boolean => {
  const [address = "", prefix, ...more] = text.split("/");
  const version = isIP(address);
  const bits = version === 4 ? 32 : 128;
  if (version === 0 || more.length > 0 || !/^(\d{1,3})?$/.test(prefix ?? "")) return false;
  if (prefix === "" || Number(prefix ?? bits) > bits) return false;
  list.addSubnet(address, Number(prefix ?? bits), version === 4 ? "ipv4" : "ipv6");
  return true;
};

/** Addresses and ranges of them. */
export const addressRanges: Reader<BlockList> = (text) => {
  const list = new BlockList();
  if (entries(text).every((entry) => addRange(list, entry))) return list;
  throw new Wrong("a comma list of addresses or ranges of them, such as 10.0.0.5, 10.1.0.0/16 or fd00::/8");
};

/** RFC 6749, 3.3. */
export const scopeToken: Reader<string> = (text) => {
  if (/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text)) return text;
  throw new Wrong("one scope, without spaces");
};

export interface Span {
  readonly from: Date;
  readonly to: Date;
}

export const span: Reader<Span> = (text) => {
  const [from = "", to = "", ...more] = text.split("/");
  const [first, last] = [new Date(from), new Date(to)];
  // What is compared with NaN is false.
  if (more.length === 0 && first.getTime() <= last.getTime()) return { from: first, to: last };
  throw new Wrong("two instants, the earlier first: 2026-07-28T01:00:00Z/2026-07-28T09:30:00Z");
};
