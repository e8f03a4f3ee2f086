// Defines the server's name, icon, capabilities and cache hints.

import type { CacheHint, Implementation, ServerCapabilities } from "@modelcontextprotocol/server";
import { UI_EXTENSION } from "../toolkit/views.ts";

/** docs/pictures/icon.svg as a PNG image of 48 by 48 pixels, in Base64. */
const ICON =
  "iVBORw0KGgoAAAANSUhEUgAAADAAAAAwBAMAAAClLOS0AAAAJFBMVEUAAAAcODgcODgcODgcODg4VThxqo2NxqpVVTjGjVX/qlWqjThYcBMhAAAADHRSTlMAVari//////////8YpFrAAAAAuElEQVR42mNgYGAQMnFBAc6KDGAg7IIBDEHiTC5YgAJQQgWbhBMDA6MLViDAwIxdwoBBBLuEI3YrQJaA/OCaXhaCSro4M4Ckw8vLS1FJFxewRHp5eRkqCZUoBwJUkpAETqNwWo7FuRAJbIDaEjgtHw0rEPCYtbIFq+W7Vq1ajc25HquAoAWLBz1BElOwBIkXSGIJQQmcRmG13AS7c50xMg7Ug064sxrOzIkzO+MsAHAXGTgLGRzFEgBN0mAml1iB7AAAAABJRU5ErkJggg==";

export const serverInfo = (version: string) =>
  ({
    name: "mic-mcp",
    title: "mic-mcp: geography and job processing",
    version,
    description: "Jobs and India's geography for AI agents: a repeated call never runs twice",
    websiteUrl: "https://github.com/mic-mcp/mic-mcp",
    icons: [{ src: `data:image/png;base64,${ICON}`, mimeType: "image/png", sizes: ["48x48"] }],
  }) satisfies Implementation;

const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** Whether clients can subscribe to resources, and calls can become tasks, on this connection. */
export const serverCapabilities = ({ subscriptions, tasks }: Record<"subscriptions" | "tasks", boolean>) =>
  ({
    tools: {},
    resources: { ...(subscriptions && { subscribe: true }) },
    prompts: {},
    completions: {},
    extensions: {
      [SKILLS_EXTENSION]: {},
      ...(tasks && { [TASKS_EXTENSION]: {} }),
      [UI_EXTENSION]: {},
    },
  }) satisfies ServerCapabilities;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

// The lists depend on the configuration, which never changes while the process runs. But a login may add a default workspace.
export const CACHE_HINTS = {
  // This list also depends on whether the client shows views.
  "tools/list": { ttlMs: HOUR_MS, cacheScope: "private" },
  "prompts/list": { ttlMs: HOUR_MS, cacheScope: "public" },
  "resources/list": { ttlMs: MINUTE_MS, cacheScope: "private" },
  "resources/templates/list": { ttlMs: HOUR_MS, cacheScope: "public" },
} satisfies Readonly<Record<string, CacheHint>>;
