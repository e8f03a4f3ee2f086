// Lists the commands and settings that were removed, with what replaces each. An entry stays for one release.
import type { Variables } from "./environment-variables.ts";

const SESSION_LIMITS = "serve --http has at most 100 sessions, and ends those that are idle for 30 minutes.";
const JWT_ONLY = "Access tokens must be JWTs; they are verified with the keys of the identity provider.";

const REMOVED_NAMES: Variables = {
  MIC_SECRET_KEYS: "Set MIC_SECRET_KEYS_FILE to a file with the keys.",
  MIC_CALLER_MAX_CONCURRENCY: "MIC_CALLER_RATE_LIMIT limits a caller.",
  MIC_INLINE_MAX_BYTES: "Texts and images up to 32 KiB are part of an answer.",
  MIC_DOWNLOAD_LINK_SECONDS: "A link is valid for 10 minutes.",
  MIC_DOWNLOAD_LINKS: "Everyone with a link can open it for 10 minutes, while its caller belongs to the team.",
  MIC_AUTH_TOKEN_VALIDATION: JWT_ONLY,
  MIC_AUTH_CLIENT_ID: JWT_ONLY,
  MIC_AUTH_CLIENT_SECRET: JWT_ONLY,
  MIC_APPS: "Clients that declare MCP Apps get the tools with views; to leave them out, set MIC_EXCLUDE_TOOLS.",
  MIC_HTTP_MAX_SESSIONS: SESSION_LIMITS,
  MIC_HTTP_SESSION_IDLE_MINUTES: SESSION_LIMITS,
  "mic-mcp geography": "Lists are loaded when a call needs them, and later calls use them for 6 hours.",
  "mic-mcp migrate": "Run mic-mcp teams migrate.",
  "mic-mcp status": "Run mic-mcp doctor, whose first part shows the settings (--offline: without requests).",
};

/** Returns the sentences for a command (`mic-mcp NAME`) or a variable that was removed; undefined for any other name. */
export function describeRemovedName(name: string): string | undefined {
  const instead = REMOVED_NAMES[name];
  return instead === undefined ? undefined : `${name} was removed. ${instead}`;
}
