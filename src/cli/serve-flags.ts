// The flags of `serve`. Each wins over the variable beside it: it is laid over the environment.
import { parseArgs } from "node:util";
import { errorCode } from "../failure.ts";

/** Where `serve --http` listens. */
export interface HttpFlags {
  readonly host: string | undefined;
  readonly port: number | undefined;
}

const OPTIONS = {
  emulator: { type: "boolean" },
  http: { type: "boolean" },
  host: { type: "string" },
  port: { type: "string" },
  "base-url": { type: "string" },
  "workspace-id": { type: "string" },
  "download-dir": { type: "string" },
  toolsets: { type: "string" },
  "read-only": { type: "boolean" },
  "log-level": { type: "string" },
} as const;

export const isParseError = (error: unknown): boolean => errorCode(error).startsWith("ERR_PARSE_ARGS");

/** Throws what parseArgs throws. */
export function serveFlags(args: readonly string[], environment: NodeJS.ProcessEnv) {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  const { http: isHttp = false, host, port, ...flags } = values;
  /** --host and --port belong to serve --http. */
  const isMisplaced = !isHttp && (host !== undefined || port !== undefined);
  const overlay = Object.entries(flags).map(([flag, value]) => [
    `MIC_${flag.replaceAll("-", "_").toUpperCase()}`,
    value === true ? "1" : value,
  ]);
  const whole: NodeJS.ProcessEnv = { ...environment, ...Object.fromEntries(overlay) };
  return { isHttp, isMisplaced, host, port, whole };
}
