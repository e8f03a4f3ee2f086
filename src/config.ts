// Environment and flags -> one validated object. Names and meaning: interface.md, "Configuration".
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import * as z from "zod/v4";
import { workspaceStyleId } from "./contract/text.ts";

/** A wrong variable or flag: told on stderr, exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export const TOOLSETS = ["geography", "jobs"] as const;
export type Toolset = (typeof TOOLSETS)[number];
const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Config {
  /** The contract's {base_url}, without a trailing slash. */
  readonly baseUrl: string | undefined;
  readonly credentials: { readonly clientId: string; readonly clientSecret: string } | undefined;
  readonly workspaceId: string | undefined;
  readonly keychain: "auto" | "require" | "off";
  readonly downloadDir: string;
  /** Where the action journal lives. */
  readonly stateDir: string;
  /** postgres://…: the journal lives there instead. */
  readonly journalUrl: string | undefined;
  /** Settled actions are forgotten after this. */
  readonly actionRetentionDays: number;
  /** An action of unknown outcome is not sent again by itself after this. */
  readonly actionResendHours: number;
  /** "auto": cancelling and RESTART ask the person where the client can ask. */
  readonly confirm: "auto" | "never";
  /** Playground requests per minute, at most. */
  readonly geographyRate: number;
  /** Sessions of serve --http, at most. */
  readonly httpMaxSessions: number;
  /** A session of serve --http in which nothing happens ends after this. */
  readonly httpSessionIdleMinutes: number;
  readonly readOnly: boolean;
  readonly toolsets: readonly Toolset[];
  readonly logLevel: LogLevel;
  /** Sentences to warn with at start. */
  readonly warnings: readonly string[];
}

// The service allows 30 per client address (service.md, 8): two are left for whoever shares ours.
const DEFAULT_GEOGRAPHY_RATE = 28;

const isHttpUrl = (text: string): boolean => {
  // What a path can be put behind: URL itself would trim, and take an empty query or fragment.
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(text) || /[?#]/.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username + password === "";
};

const baseUrl = z
  .string()
  .refine(isHttpUrl, { error: "an http or https URL without credentials, query or fragment" })
  .transform((url) => new URL(url).href.replace(/\/+$/, ""));

const toolsets = z
  .string()
  .transform((list) => [...new Set(list.split(",").map((name) => name.trim()))])
  .pipe(z.array(z.enum(TOOLSETS, { error: `a comma list of ${TOOLSETS.join(", ")}` })));

const printable = z.string().regex(/^[\x20-\x7e]+$/, { error: "printable ASCII text" });

const workspace = z
  .string()
  .refine((id) => workspaceStyleId.safeParse(id).success, { error: "a workspace id: 1-128 letters, digits, _ . : -" });

function check<S extends z.ZodType>(what: string, schema: S, text: string): z.output<S> {
  const parsed = schema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new UsageError(`The ${what} must be ${parsed.error.issues[0]?.message ?? "valid"}.`);
}

// What `login` asks for, held to the same rules as the environment. Throw UsageError.
export const checkBaseUrl = (text: string): string => check("base URL", baseUrl, text);
export const checkCredential = (what: "client id" | "client secret", text: string): string =>
  check(what, printable, text);
export const checkWorkspaceId = (text: string): string => check("workspace id", workspace, text);

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .refine((text) => /^\d{1,6}$/.test(text) && Number(text) >= min && Number(text) <= max, {
      error: `a whole number from ${min} to ${max}`,
    })
    .transform(Number)
    .optional();

const Environment = z.object({
  MIC_BASE_URL: baseUrl.optional(),
  MIC_CLIENT_ID: printable.optional(),
  MIC_CLIENT_SECRET: printable.optional(),
  MIC_WORKSPACE_ID: workspace.optional(),
  MIC_STATE_DIR: z.string().optional(),
  MIC_DOWNLOAD_DIR: z.string().optional(),
  MIC_KEYCHAIN: z.enum(["auto", "require", "off"], { error: "auto, require or off" }).optional(),
  MIC_JOURNAL_URL: z
    .string()
    .refine((url) => /^postgres(ql)?:$/.test(URL.canParse(url) ? new URL(url).protocol : ""), {
      error: "a postgres:// URL",
    })
    .optional(),
  MIC_ACTION_RETENTION_DAYS: wholeNumber(1, 3650),
  MIC_ACTION_RESEND_HOURS: wholeNumber(1, 720),
  MIC_GEOGRAPHY_RATE: wholeNumber(1, 600),
  MIC_HTTP_MAX_SESSIONS: wholeNumber(1, 10_000),
  MIC_HTTP_SESSION_IDLE_MINUTES: wholeNumber(1, 1440),
  MIC_CONFIRM: z.enum(["auto", "never"], { error: "auto or never" }).optional(),
  MIC_READ_ONLY: z.enum(["0", "1"], { error: "1 (or 0)" }).optional(),
  MIC_TOOLSETS: toolsets.optional(),
  MIC_LOG_LEVEL: z.enum(LOG_LEVELS, { error: LOG_LEVELS.join(", ") }).optional(),
});

function pairOf(env: z.infer<typeof Environment>): Config["credentials"] {
  const { MIC_CLIENT_ID: clientId, MIC_CLIENT_SECRET: clientSecret } = env;
  if (clientId === undefined && clientSecret === undefined) return undefined;
  if (clientId === undefined || clientSecret === undefined)
    throw new UsageError("MIC_CLIENT_ID and MIC_CLIENT_SECRET belong together: set both or neither.");
  return { clientId, clientSecret };
}

// A bundle's host leaves the placeholder of a question that was not answered.
const isUnset = (value: string | undefined): boolean => value === "" || /^\$\{user_config\.\w+\}$/.test(value ?? "");
/** The platform's folder for what a program has to remember. */
function platformStateDir(environment: NodeJS.ProcessEnv): string {
  if (process.platform === "darwin") return join(homedir(), "Library", "Application Support", "mic-mcp");
  if (process.platform === "win32")
    return join(environment["LOCALAPPDATA"] ?? join(homedir(), "AppData", "Local"), "mic-mcp");
  return join(environment["XDG_STATE_HOME"] || join(homedir(), ".local", "state"), "mic-mcp");
}

/** Reads MIC_* variables; an empty one counts as unset. Throws UsageError naming the variable and what it takes. */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => name.startsWith("MIC_") && !isUnset(value)),
  );
  const parsed = Environment.safeParse(given);
  if (!parsed.success) {
    // Names what is wrong, never the value: it might be a secret in the wrong place.
    const lines = parsed.error.issues.map(({ path, message }) => `${String(path[0])} takes ${message}.`);
    throw new UsageError([...new Set(lines)].join("\n"));
  }
  const env = parsed.data;
  const unknown = Object.keys(given).filter((name) => !(name in Environment.shape));
  return {
    baseUrl: env.MIC_BASE_URL,
    credentials: pairOf(env),
    workspaceId: env.MIC_WORKSPACE_ID,
    keychain: env.MIC_KEYCHAIN ?? "auto",
    stateDir: resolve(env.MIC_STATE_DIR ?? platformStateDir(environment)),
    journalUrl: env.MIC_JOURNAL_URL,
    actionRetentionDays: env.MIC_ACTION_RETENTION_DAYS ?? 30,
    actionResendHours: env.MIC_ACTION_RESEND_HOURS ?? 24,
    downloadDir: resolve(env.MIC_DOWNLOAD_DIR ?? join(homedir(), "Downloads")),
    confirm: env.MIC_CONFIRM ?? "auto",
    geographyRate: env.MIC_GEOGRAPHY_RATE ?? DEFAULT_GEOGRAPHY_RATE,
    httpMaxSessions: env.MIC_HTTP_MAX_SESSIONS ?? 100,
    httpSessionIdleMinutes: env.MIC_HTTP_SESSION_IDLE_MINUTES ?? 30,
    readOnly: env.MIC_READ_ONLY === "1",
    toolsets: env.MIC_TOOLSETS ?? TOOLSETS,
    logLevel: env.MIC_LOG_LEVEL ?? "warn",
    warnings: unknown.map((name) => `${name} is not a variable of mic-mcp; it has no effect.`),
  };
}
