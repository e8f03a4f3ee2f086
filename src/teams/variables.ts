// Parses the values of a deployment's variables, and finds those of a server for one user, which it refuses (docs/interface.md, "Teams").
import proxyaddr from "proxy-addr";
import {
  InvalidValue,
  isHttpUrl,
  postgresUrl,
  type Reader,
  textMatching,
  type Variables,
} from "../core/environment-variables.ts";
import { isSecureUrl } from "../core/loopback.ts";

/** Access tokens are sent to this URL, so it must use https; http is accepted only for this machine. */
function secureUrl(text: string): URL | undefined {
  const url = isHttpUrl(text) ? new URL(text) : undefined;
  return url && isSecureUrl(url) ? url : undefined;
}

/** The origin of the URL that clients call. */
export const publicOrigin: Reader<string> = (text) => {
  const url = secureUrl(text);
  if (url && /^\/(mcp)?$/.test(url.pathname)) return url.origin;
  throw new InvalidValue(
    "the https URL that clients call, with no path except /mcp (https://mic.example.org); http is allowed only for this machine",
  );
};

/** The URL exactly as the identity provider writes it, with or without a slash at its end. */
export const issuerUrl = textMatching(
  "the https URL of the identity provider, identical to the iss claim of its tokens; http is allowed only for this machine",
  (text) => secureUrl(text) !== undefined,
);

const entries = (text: string): readonly string[] => text.split(",").map((entry) => entry.trim());

export const origins: Reader<readonly string[]> = (text) =>
  entries(text).map((entry) => {
    if (isHttpUrl(entry) && new URL(entry).origin === entry) return entry;
    throw new InvalidValue("a comma-separated list of origins, such as https://app.example.org");
  });

export const postgresUrls: Reader<readonly string[]> = (text) => {
  try {
    return entries(text).map(postgresUrl);
  } catch {
    throw new InvalidValue("a postgres:// URL, or a comma-separated list of the URLs of the primary and its replicas");
  }
};

/** An address, or a range with a prefix length: proxy-addr also accepts names and netmasks. */
const RANGE = /^[\da-f:.]+(?:\/\d{1,3})?$/i;

/** Reads addresses and ranges into a function that returns whether an address is among them. */
export const trustedAddresses: Reader<(address: string) => boolean> = (text) => {
  const ranges = entries(text);
  try {
    const trust = proxyaddr.compile([...ranges]);
    if (ranges.every((range) => RANGE.test(range))) return (address) => trust(address, 0);
  } catch {
    // proxy-addr's reason gives no example, so the error below replaces it.
  }
  throw new InvalidValue(
    "a comma-separated list of addresses or address ranges, such as 10.0.0.5, 10.1.0.0/16 or fd00::/8",
  );
};

/** One scope (RFC 6749, 3.3). */
export const scopeToken = textMatching("one scope, without spaces", (text) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text));

export const scopeList: Reader<readonly string[]> = (text) => {
  if (/^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(text)) return text.split(" ");
  throw new InvalidValue("scopes, separated by single spaces");
};

export interface TimeRange {
  readonly from: Date;
  readonly to: Date;
}

export const timeRange: Reader<TimeRange> = (text) => {
  const [from = "", to = "", ...more] = text.split("/");
  const [first, last] = [new Date(from), new Date(to)];
  // A comparison with NaN is false.
  if (more.length === 0 && first.getTime() <= last.getTime()) return { from: first, to: last };
  throw new InvalidValue("two instants, the earlier one first: 2026-07-28T01:00:00Z/2026-07-28T09:30:00Z");
};

const OF_A_TEAM = "each team has its own (mic-mcp teams add)";
const IN_THE_DATABASE = "its data is stored in MIC_DATABASE_URL";

/** Variables of a server for one user, and what replaces them in a deployment. */
export const REPLACED_VARIABLES: Variables = {
  MIC_CLIENT_ID: OF_A_TEAM,
  MIC_CLIENT_SECRET: OF_A_TEAM,
  MIC_CLIENT_SECRET_FILE: OF_A_TEAM,
  MIC_CLIENT_SECRET_COMMAND: OF_A_TEAM,
  MIC_WORKSPACE_ID: OF_A_TEAM,
  MIC_PROFILE: OF_A_TEAM,
  MIC_DOWNLOAD_DIR: "files are delivered as links",
  MIC_STATE_DIR: IN_THE_DATABASE,
  MIC_JOURNAL_URL: IN_THE_DATABASE,
};

/** Variables of `serve --http` that have no effect in a deployment. */
export const IGNORED_VARIABLES = ["MIC_HTTP_TOKEN"];

/** Returns one sentence for each variable that a deployment refuses. */
export function findMisplacedVariables(given: Variables): string[] {
  const errors = Object.entries(REPLACED_VARIABLES).flatMap(([name, instead]) =>
    given[name] === undefined ? [] : [`${name} cannot be used with a deployment for teams: ${instead}.`],
  );
  const { MIC_EMULATOR: emulator = "0" } = given;
  const isRefused = !["0", "false"].includes(emulator);
  const instead = "run mic-mcp emulator separately, and add a team with its --base-url";
  return isRefused
    ? [...errors, `--emulator (MIC_EMULATOR) cannot be used with a deployment for teams: ${instead}.`]
    : errors;
}
