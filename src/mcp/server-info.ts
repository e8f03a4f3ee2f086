// The server's name, capabilities and cache hints.
import type { CacheHint, Implementation, ServerCapabilities } from "@modelcontextprotocol/server";

export const serverInfo = (version: string) =>
  ({ name: "mic-mcp", title: "mic-mcp: geography and job processing", version }) satisfies Implementation;

export const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** `hasTasks`: whether calls can become tasks on this connection. */
export const capabilities = (hasTasks: boolean) =>
  ({
    tools: {},
    resources: { subscribe: true },
    prompts: {},
    completions: {},
    extensions: { [SKILLS_EXTENSION]: {}, ...(hasTasks && { [TASKS_EXTENSION]: {} }) },
  }) satisfies ServerCapabilities;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

// Lists depend on the configuration, which never changes while the process lives. But a login may bring a workspace.
export const CACHE_HINTS = {
  "tools/list": { ttlMs: HOUR_MS, cacheScope: "public" },
  "prompts/list": { ttlMs: HOUR_MS, cacheScope: "public" },
  "resources/list": { ttlMs: MINUTE_MS, cacheScope: "private" },
  "resources/templates/list": { ttlMs: HOUR_MS, cacheScope: "public" },
} satisfies Readonly<Record<string, CacheHint>>;
