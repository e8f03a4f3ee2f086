// The variables of a deployment for teams, and those of a server of one person that it refuses (docs/interface.md, "Teams").
import { anyText, oneOf, printable, type Read, type Variables, wholeNumber } from "../variables.ts";
import { addressRanges, issuerUrl, origins, postgresUrls, publicOrigin, scopeToken, span } from "./readers.ts";

const DAY_SECONDS = 86_400;

export const variables = (read: Read) => ({
  MIC_PUBLIC_URL: read("MIC_PUBLIC_URL", publicOrigin),
  MIC_AUTH_ISSUER: read("MIC_AUTH_ISSUER", issuerUrl),
  MIC_AUTH_AUDIENCE: read("MIC_AUTH_AUDIENCE", printable),
  MIC_AUTH_TOKENS: read("MIC_AUTH_TOKENS", oneOf(["jwt", "introspection"], "jwt or introspection")),
  MIC_AUTH_CLIENT_ID: read("MIC_AUTH_CLIENT_ID", printable),
  MIC_AUTH_CLIENT_SECRET: read("MIC_AUTH_CLIENT_SECRET", printable),
  MIC_AUTH_TEAM_CLAIM: read("MIC_AUTH_TEAM_CLAIM", printable),
  MIC_AUTH_SCOPE_READ: read("MIC_AUTH_SCOPE_READ", scopeToken),
  MIC_AUTH_SCOPE_ACT: read("MIC_AUTH_SCOPE_ACT", scopeToken),
  MIC_DATABASE_URL: read("MIC_DATABASE_URL", postgresUrls),
  MIC_DATABASE_POOL: read("MIC_DATABASE_POOL", wholeNumber(2, 1_000)),
  MIC_DATABASE_DURABILITY: read("MIC_DATABASE_DURABILITY", oneOf(["synchronous", "local"], "synchronous or local")),
  MIC_MIGRATE: read("MIC_MIGRATE", oneOf(["auto", "off"], "auto or off")),
  MIC_SECRET_KEYS: read("MIC_SECRET_KEYS", anyText),
  MIC_SECRET_KEYS_FILE: read("MIC_SECRET_KEYS_FILE", anyText),
  MIC_TRUST_PROXY: read("MIC_TRUST_PROXY", addressRanges),
  MIC_ALLOWED_ORIGINS: read("MIC_ALLOWED_ORIGINS", origins),
  MIC_CALLER_RATE: read("MIC_CALLER_RATE", wholeNumber(1, 100_000)),
  MIC_CALLER_CALLS: read("MIC_CALLER_CALLS", wholeNumber(1, 1_000)),
  MIC_TEAMS_AT_HAND: read("MIC_TEAMS_AT_HAND", wholeNumber(1, 100_000)),
  MIC_GEOGRAPHY_BUDGET: read("MIC_GEOGRAPHY_BUDGET", printable),
  MIC_AUDIT_DAYS: read("MIC_AUDIT_DAYS", wholeNumber(1, 3650)),
  MIC_DRAIN_DELAY_SECONDS: read("MIC_DRAIN_DELAY_SECONDS", wholeNumber(0, 300)),
  MIC_INLINE_BYTES: read("MIC_INLINE_BYTES", wholeNumber(0, 999_999)),
  MIC_DOWNLOAD_SECONDS: read("MIC_DOWNLOAD_SECONDS", wholeNumber(10, DAY_SECONDS)),
  MIC_DOWNLOAD_LINKS: read("MIC_DOWNLOAD_LINKS", oneOf(["ticket", "bearer"], "ticket or bearer")),
  MIC_RESTORED_AT: read("MIC_RESTORED_AT", span),
});
export type Values = ReturnType<typeof variables>;

const OF_A_TEAM = "each team has its own (mic-mcp teams add)";
const IN_THE_DATABASE = "what it keeps is in MIC_DATABASE_URL";

/** What belongs to a server of one person, and what takes its place here. */
export const ELSEWHERE: Variables = {
  MIC_CLIENT_ID: OF_A_TEAM,
  MIC_CLIENT_SECRET: OF_A_TEAM,
  MIC_WORKSPACE_ID: OF_A_TEAM,
  MIC_DOWNLOAD_DIR: "files are handed out by links (MIC_DOWNLOAD_SECONDS)",
  MIC_STATE_DIR: IN_THE_DATABASE,
  MIC_JOURNAL_URL: IN_THE_DATABASE,
};

/** Of `serve --http`. */
export const IN_VAIN = ["MIC_HTTP_TOKEN", "MIC_HTTP_MAX_SESSIONS", "MIC_HTTP_SESSION_IDLE_MINUTES"];

/** A sentence for each variable that a deployment for teams refuses. */
export function misplaced(given: Variables): string[] {
  const wrong = Object.entries(ELSEWHERE).flatMap(([name, instead]) =>
    given[name] === undefined ? [] : [`${name} is not for teams: ${instead}.`],
  );
  const { MIC_EMULATOR: emulator = "0" } = given;
  const isRefused = !["0", "false"].includes(emulator);
  const instead = "run mic-mcp emulator beside it, and add a team with its --base-url";
  return isRefused ? [...wrong, `--emulator (MIC_EMULATOR) is not for teams: ${instead}.`] : wrong;
}
