// The flags of `serve`. Each wins over the variable beside it: it is laid over the environment.
import { parseArgs } from "node:util";
import type { Command } from "./command-line/command.ts";

/** Where `serve --http` and `serve --teams` listen. */
export interface HttpFlags {
  readonly host: string | undefined;
  readonly port: number | undefined;
}

export const SERVE = {
  name: "serve",
  does: "the MCP server on stdin and stdout, for an MCP client to start",
  notes: [
    "Each flag wins over the variable of its name (--base-url over MIC_BASE_URL).",
    "Credentials come from mic-mcp login, or from MIC_CLIENT_ID and MIC_CLIENT_SECRET.",
  ],
  flags: {
    emulator: { type: "boolean", about: "against an emulator of the service inside the process" },
    http: { type: "boolean", about: "over Streamable HTTP on this machine; prints its URL as one JSON line" },
    teams: {
      type: "boolean",
      about: "one instance of a deployment for an organisation (docs/teams.md); prints its URL as one JSON line",
    },
    host: {
      type: "string",
      value: "H",
      about: "with --http or --teams: 127.0.0.1 (default), ::1, localhost; with --teams any",
    },
    port: { type: "string", value: "P", about: "with --http or --teams: default any that is free" },
    "base-url": { type: "string", value: "URL", about: "the service's base URL" },
    "workspace-id": { type: "string", value: "ID", about: "default workspace" },
    "download-dir": { type: "string", value: "DIR", about: "where files are written (default: ~/Downloads)" },
    toolsets: {
      type: "string",
      value: "LIST",
      oneOf: ["geography", "jobs", "geography,jobs"],
      about: "geography, jobs (default: both)",
    },
    "read-only": { type: "boolean", about: "only operations without side effects" },
    "log-level": {
      type: "string",
      value: "LEVEL",
      oneOf: ["debug", "info", "warn", "error", "silent"],
      about: "debug, info, warn (default), error, silent",
    },
  },
  examples: [
    { line: "mic-mcp serve --emulator", does: "nothing to configure, nothing leaves this machine" },
    { line: "mic-mcp serve --http --port 8931", does: "one server for many clients" },
    { line: "mic-mcp serve --teams --port 8931", does: "for an organisation, behind its balancer" },
  ],
} as const satisfies Command;

/** Throws what parseArgs throws. */
export function serveFlags(args: readonly string[], environment: NodeJS.ProcessEnv) {
  const { values } = parseArgs({ args: [...args], options: SERVE.flags });
  const { http: isHttp = false, teams: isTeams = false, host, port, ...flags } = values;
  /** What contradicts itself, in words. */
  const misplaced =
    isHttp && isTeams
      ? "--http serves one person and --teams an organisation: give one of them."
      : !isHttp && !isTeams && (host !== undefined || port !== undefined)
        ? "--host and --port belong to serve --http and serve --teams."
        : undefined;
  const overlay = Object.entries(flags).map(([flag, value]) => [
    `MIC_${flag.replaceAll("-", "_").toUpperCase()}`,
    value === true ? "1" : value,
  ]);
  const whole: NodeJS.ProcessEnv = { ...environment, ...Object.fromEntries(overlay) };
  return { isHttp, isTeams, misplaced, host, port, whole };
}
