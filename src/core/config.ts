// This module reads environment variables into one validated object (docs/use/configuration.md).
import { join } from "node:path";
import { workspaceStyleId } from "../contract/scalars.ts";
import {
  commandWords,
  httpUrl,
  InvalidValue,
  oneOf,
  pathIn,
  pickMicVariables,
  postgresUrl,
  printable,
  type Reader,
  type ReadVariable,
  readVariables,
  textMatching,
  wholeNumber,
} from "./environment-variables.ts";
import { homeFolder, stateFolder } from "./platform-folders.ts";
import { describeRemovedName } from "./removed-names.ts";

/** A wrong variable or flag, which is reported on stderr with exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  /** True if a variable is wrong, which the help of a command does not explain. */
  readonly isAboutVariables: boolean;

  constructor(message: string, { isAboutVariables = false } = {}) {
    super(message);
    this.isAboutVariables = isAboutVariables;
  }
}

export const TOOLSETS = ["geography", "jobs"] as const;
export type Toolset = (typeof TOOLSETS)[number];
/** `essentials` selects the most important tools of both toolsets. */
const SELECTIONS = ["essentials", ...TOOLSETS] as const;
export type ToolSelection = (typeof SELECTIONS)[number];
const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Where the client secret is read when it is needed: a file, or the output of a program. */
export type SecretSource = { readonly file: string } | { readonly command: readonly string[] };

// The API allows 30 per minute for each client address (docs/contract.md, 8). Two are left for other clients at the same address.
const DEFAULT_GEOGRAPHY_RATE = 28;
/** An emulator in this process has no other clients, so the whole country may be read at once. */
export const EMULATED_GEOGRAPHY_RATE = 600;

const parseBaseUrl: Reader<string> = (text) => new URL(httpUrl(text)).href.replace(/\/+$/, "");

const parseToolset = oneOf(SELECTIONS, `a comma-separated list of ${SELECTIONS.join(", ")}`);
const parseToolsets: Reader<readonly ToolSelection[]> = (text) =>
  [...new Set(text.split(",").map((name) => name.trim()))].map(parseToolset);

const parseToolName = textMatching("a comma-separated list of tool names, such as get_job,list_jobs", (name) =>
  /^[a-z]+(?:_[a-z]+)*$/.test(name),
);
const parseToolNames: Reader<readonly string[]> = (text) => text.split(",").map((name) => parseToolName(name.trim()));

const profileName = textMatching(
  "a profile name: 1 to 64 letters, digits or _ . -, starting with a letter or digit",
  (text) => /^[A-Za-z0-9][\w.-]{0,63}$/.test(text),
);

const parseWorkspaceId = textMatching(
  "a workspace id: 1 to 128 letters, digits or _ . : -",
  (text) => workspaceStyleId.safeParse(text).success,
);
/** Whether an Authorization header can contain this token (RFC 6750, 2.1), and whether it is too long to guess. */
export const isBearerToken = (text: string): boolean =>
  /^[A-Za-z0-9._~+/-]+=*$/.test(text) && text.length >= 16 && text.length <= 512;
const parseBearerToken = textMatching(
  "16 to 512 letters, digits or - . _ ~ + /, with = only at the end (create one with openssl rand -hex 32)",
  isBearerToken,
);

function checkValue<T>(what: string, read: Reader<T>, text: string): T {
  try {
    return read(text);
  } catch (error) {
    throw error instanceof InvalidValue ? new UsageError(`The ${what} must be ${error.message}.`) : error;
  }
}

// These functions check the answers to `login` by the same rules as the environment. They throw UsageError.
export const checkBaseUrl = (text: string): string => checkValue("base URL", parseBaseUrl, text);
export const checkCredential = (what: "client id" | "client secret", text: string): string =>
  checkValue(what, printable, text);
export const checkWorkspaceId = (text: string): string => checkValue("workspace id", parseWorkspaceId, text);
export const checkProfile = (text: string): string => checkValue("profile", profileName, text);
export const checkPath = (flag: string, text: string, environment: NodeJS.ProcessEnv): string =>
  checkValue(`path of ${flag}`, pathIn(environment), text);

/** Folders without a value and a default are empty, which `readConfig` never returns. */
function readSettings(read: ReadVariable, environment: NodeJS.ProcessEnv) {
  // A host of the bundle sets true or false.
  const readSwitch = (name: string): boolean =>
    /^(1|true)$/.test(read(name, oneOf(["0", "1", "true", "false"], "1 or 0")) ?? "");
  const emulator = readSwitch("MIC_EMULATOR");
  const tools = read("MIC_TOOLS", parseToolNames);
  return {
    /** Use an emulator of the API in this process (default false). */
    emulator,
    /** The contract's {base_url}, without a trailing slash. */
    baseUrl: read("MIC_BASE_URL", parseBaseUrl),
    clientId: read("MIC_CLIENT_ID", printable),
    clientSecrets: [
      read("MIC_CLIENT_SECRET", printable),
      read("MIC_CLIENT_SECRET_FILE", (text) => ({ file: pathIn(environment, { isShown: false })(text) })),
      read("MIC_CLIENT_SECRET_COMMAND", (text) => ({ command: commandWords(text) })),
    ],
    workspaceId: read("MIC_WORKSPACE_ID", parseWorkspaceId),
    /** The profile whose stored login is used; undefined: the login without a profile. */
    profile: read("MIC_PROFILE", profileName),
    keychain: read("MIC_KEYCHAIN", oneOf(["auto", "require", "off"], "auto, require or off")) ?? "auto",
    /** The folder of the action journal. */
    stateDir: stateDirOf(read, environment),
    /** URL (postgres://…) of a database that contains the journal instead. */
    journalUrl: read("MIC_JOURNAL_URL", postgresUrl),
    /** Actions that have not changed for this many days are deleted (default 30). */
    actionRetentionDays: read("MIC_ACTION_RETENTION_DAYS", wholeNumber(1, 3650)) ?? 30,
    downloadDir: read("MIC_DOWNLOAD_DIR", pathIn(environment)) ?? downloadFolder(environment) ?? "",
    /** "auto" (default): canceling a job and RESTART ask the user to confirm, if the client supports it. */
    confirm: read("MIC_CONFIRM", oneOf(["auto", "never"], "auto or never")) ?? "auto",
    /** Maximum number of playground requests per minute (default 28; 600 with the emulator). */
    geographyRate:
      read("MIC_GEOGRAPHY_RATE_LIMIT", wholeNumber(1, 600)) ??
      (emulator ? EMULATED_GEOGRAPHY_RATE : DEFAULT_GEOGRAPHY_RATE),
    /** The bearer token that requests to serve --http must carry (default: the one in the state folder). */
    httpToken: read("MIC_HTTP_TOKEN", parseBearerToken),
    readOnly: readSwitch("MIC_READ_ONLY"),
    toolsets: read("MIC_TOOLSETS", parseToolsets) ?? (tools === undefined ? TOOLSETS : []),
    /** Tools that are offered in addition to those of the toolsets. */
    tools: tools ?? [],
    excludedTools: read("MIC_EXCLUDE_TOOLS", parseToolNames) ?? [],
    logLevel: read("MIC_LOG_LEVEL", oneOf(LOG_LEVELS, LOG_LEVELS.join(", "))) ?? "warn",
  };
}

type Settings = ReturnType<typeof readSettings>;

export function listVariables(): readonly string[] {
  const names: string[] = [];
  const record: ReadVariable = (name) => {
    names.push(name);
    return undefined;
  };
  readSettings(record, {});
  return names;
}

function credentialsFrom({ clientId, clientSecrets }: Pick<Settings, "clientId" | "clientSecrets">) {
  const [clientSecret, ...others]: readonly (string | SecretSource)[] = clientSecrets.filter(
    (each) => each !== undefined,
  );
  if (others.length > 0)
    throw new UsageError("Set only one of MIC_CLIENT_SECRET, MIC_CLIENT_SECRET_FILE and MIC_CLIENT_SECRET_COMMAND.");
  if (clientId === undefined && clientSecret === undefined) return undefined;
  if (clientId === undefined || clientSecret === undefined)
    throw new UsageError(
      "Only one of MIC_CLIENT_ID and MIC_CLIENT_SECRET (or MIC_CLIENT_SECRET_FILE or _COMMAND) is set: set both or neither.",
    );
  return { clientId, clientSecret };
}

/** Operators who set the variable rely on the warning to agents, so it is not enough to log that the variable has no effect. */
const RESTORE_GAP_MISPLACED =
  "MIC_RESTORE_GAP has an effect only with mic-mcp serve --teams. Unset it: this server cannot warn about actions that are missing from a restored journal.";

const stateDirOf = (read: ReadVariable, environment: NodeJS.ProcessEnv): string =>
  read("MIC_STATE_DIR", pathIn(environment)) ?? stateFolder(environment) ?? "";

function downloadFolder(environment: NodeJS.ProcessEnv): string | undefined {
  const home = homeFolder(environment);
  return home && join(home, "Downloads");
}

const missingHome = (variable: string): string =>
  `${variable} is required, because this user has no home folder: set it to an absolute path.`;

/** Returns the folder of the journal. Throws UsageError. */
export function readStateDir(environment: NodeJS.ProcessEnv): string {
  const { values, errors } = readVariables(pickMicVariables(environment), (read) => stateDirOf(read, environment));
  const [error = values === "" ? missingHome("MIC_STATE_DIR") : undefined] = errors;
  if (error !== undefined) throw new UsageError(error, { isAboutVariables: true });
  return values;
}

export type Config = Readonly<ReturnType<typeof readConfig>>;

/** Reads MIC_* variables; an empty one counts as unset. Throws UsageError, which names the wrong variables and their valid values. */
export function readConfig(environment: NodeJS.ProcessEnv) {
  const micVariables = pickMicVariables(environment);
  const { values, errors, unknown } = readVariables(micVariables, (read) => readSettings(read, environment));
  const misplaced = micVariables["MIC_RESTORE_GAP"] === undefined ? [] : [RESTORE_GAP_MISPLACED];
  const folders = { MIC_STATE_DIR: values.stateDir, MIC_DOWNLOAD_DIR: values.downloadDir };
  const missing = Object.entries(folders).flatMap(([name, folder]) =>
    folder === "" && micVariables[name] === undefined ? [missingHome(name)] : [],
  );
  const problems = [...errors, ...misplaced, ...missing];
  if (problems.length > 0) throw new UsageError(problems.join("\n"), { isAboutVariables: true });
  const { clientId, clientSecrets, ...settings } = values;
  return {
    ...settings,
    credentials: credentialsFrom({ clientId, clientSecrets }),
    /** Warnings for the start, one sentence each. */
    warnings: unknown.map(
      (name) => describeRemovedName(name) ?? `${name} is not a variable of mic-mcp and has no effect.`,
    ),
  };
}
