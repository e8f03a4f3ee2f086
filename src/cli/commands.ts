// Defines the table of commands, from which help, completion, parsing and docs/commands.md are derived.
import { UsageError } from "../core/config.ts";

export interface Flag {
  readonly type: "string" | "boolean";
  /** The placeholder for the flag's value in help texts. */
  readonly value?: string;
  readonly multiple?: true;
  /** The only values that the flag accepts. */
  readonly oneOf?: readonly string[];
  readonly about: string;
}

export interface Command {
  readonly name: string;
  /** The arguments after the name, without flags. */
  readonly argumentsUsage?: string;
  /** One line. */
  readonly summary: string;
  /** Sentences below the summary in the command's own help. */
  readonly notes?: readonly string[];
  readonly flags: Readonly<Record<string, Flag>>;
  /** Each `commandLine` contains "mic-mcp". */
  readonly examples: readonly { readonly commandLine: string; readonly description: string }[];
}

const JSON_FLAG = { type: "boolean", about: "as one line of JSON" } as const;
export const SHELLS = ["bash", "zsh", "fish", "powershell"] as const;
export const TEAM_ACTIONS = ["add", "list", "remove", "rotate-secret", "rotate-keys", "check"] as const;
const ACTION_STATES = ["in_progress", "succeeded", "rejected", "unknown"] as const;

export const COMMANDS = {
  serve: {
    name: "serve",
    summary: "the MCP server on stdin and stdout, for an MCP client to start",
    notes: [
      "Each flag wins over the variable of its name (--base-url over MIC_BASE_URL).",
      "Credentials come from mic-mcp login, or from MIC_CLIENT_ID and MIC_CLIENT_SECRET.",
    ],
    flags: {
      emulator: { type: "boolean", about: "against an emulator of the service inside the process" },
      http: { type: "boolean", about: "over Streamable HTTP on this machine; prints its URL as one JSON line" },
      teams: {
        type: "boolean",
        about: "one instance of a deployment for an organization (docs/teams.md); prints its URL as one JSON line",
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
        oneOf: ["geography", "jobs", "geography,jobs", "essentials"],
        about: "geography, jobs (default: both), or essentials: the 15 most important tools of both",
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
      { commandLine: "mic-mcp serve --emulator", description: "nothing to configure, nothing leaves this machine" },
      { commandLine: "mic-mcp serve --http --port 8931", description: "one server for many clients" },
      { commandLine: "mic-mcp serve --teams --port 8931", description: "for an organization, behind its balancer" },
    ],
  },
  call: {
    name: "call",
    argumentsUsage: "[TOOL [NAME=VALUE …]]",
    summary: "calls one tool, through the journal and keys of an agent's call",
    notes: [
      "Without TOOL it lists the tools; call TOOL --help shows what a tool takes.",
      "A list is NAME=VALUE once for each value, or JSON; an object is JSON. NAME=VALUE wins over --json.",
      "A call that was cut off is resumed by the same line: the action happens once.",
      "Exit code 3: not run again, because an identical call ran within 20 hours; its result is printed.",
      'The answer is on stdout, progress and failures are on stderr. With --output json a failure is {"error": …} on stdout, too.',
    ],
    flags: {
      json: { type: "string", value: "'{…}'", about: "arguments as a JSON object" },
      output: { type: "string", value: "FORMAT", oneOf: ["text", "json"], about: "text (default) or json" },
      yes: { type: "boolean", about: "cancel_job and RESTART without being asked" },
    },
    examples: [
      {
        commandLine: "mic-mcp call rank_divisions level=district by=mandalCount limit=5",
        description: "the five districts with the most mandals",
      },
      {
        commandLine: "mic-mcp call find_district names=Patna names=Gaya",
        description: "a list: its name once for each value",
      },
      { commandLine: "mic-mcp call get_job jobId=micjob_… --output json | jq .data.state", description: "for scripts" },
      {
        commandLine: 'mic-mcp call submit_job --json \'{"recipeVersionId":"…","inputBindings":[…]}\'',
        description: "starts a job",
      },
    ],
  },
  watch: {
    name: "watch",
    argumentsUsage: "JOB",
    summary: "follows a job, its nine stages and their units, until it has ended",
    notes: [
      "Ctrl-C ends the watching alone; the job goes on. Exit code 0 only where the job SUCCEEDED.",
      "Without a terminal it prints a line for each change.",
    ],
    flags: {},
    examples: [
      { commandLine: "mic-mcp watch micjob_… && echo done", description: "what comes next waits for a success" },
    ],
  },
  show: {
    name: "show",
    argumentsUsage: "VIEW [NAME=VALUE …]",
    summary: "a job, divisions, the usage or the actions as a page in one file, for a browser",
    notes: [
      "VIEW: job JOB, divisions [state|district], usage [DAY|ENTITLEMENT], actions [STATE].",
      "The page holds its data and loads nothing. Its path is on stdout; only its owner can read it.",
    ],
    flags: {
      open: { type: "boolean", about: "opens it in the browser, too" },
    },
    examples: [
      { commandLine: "mic-mcp show divisions --open", description: "every state as a table, bars and tiles" },
      { commandLine: "mic-mcp show job micjob_… --open", description: "its stages as they stand now" },
    ],
  },
  actions: {
    name: "actions",
    summary: "list the write requests made from here, unresolved ones first, and how to resolve them",
    flags: {
      state: { type: "string", value: "S", oneOf: ACTION_STATES, about: `only: ${ACTION_STATES.join(", ")}` },
    },
    examples: [{ commandLine: "mic-mcp actions --state unknown", description: "what may have taken effect" }],
  },
  resolve: {
    name: "resolve",
    argumentsUsage: "[KEY]",
    summary: "find out the outcome of unresolved actions; one that never arrived may run now",
    notes: [
      "Without KEY it resolves all, oldest first; KEY is an idempotencyKey that mic-mcp actions shows.",
      "Each is sent again under its key, so none runs twice; after 20 hours the job is read instead.",
    ],
    flags: {
      "dry-run": { type: "boolean", about: "list them and how each would be resolved; send nothing" },
      output: { type: "string", value: "FORMAT", oneOf: ["text", "json"], about: "text (default) or json" },
      yes: { type: "boolean", about: "send cancellations and RESTART again without asking" },
    },
    examples: [{ commandLine: "mic-mcp resolve --dry-run", description: "what would be sent" }],
  },
  demo: {
    name: "demo",
    summary: "the main job from end to end, told as a transcript; needs no service",
    flags: {},
    examples: [{ commandLine: "mic-mcp demo", description: "about 20 seconds" }],
  },
  login: {
    name: "login",
    summary: "keeps the client credentials in the OS keychain, once they are proven",
    notes: ["Asks for what no flag gives; the secret is not shown. What is stored already is the default."],
    flags: {
      "base-url": { type: "string", value: "URL", about: "the service's base URL" },
      "client-id": { type: "string", value: "ID", about: "the client's id" },
      "workspace-id": { type: "string", value: "ID", about: "default workspace" },
      "secret-stdin": { type: "boolean", about: "the secret is all of stdin: for scripts" },
    },
    examples: [
      { commandLine: "mic-mcp login", description: "asks for everything" },
      {
        commandLine: "pass mic | mic-mcp login --base-url https://service.example --client-id me --secret-stdin",
        description: "asks for nothing",
      },
    ],
  },
  logout: {
    name: "logout",
    summary: "removes the credentials and every token",
    flags: {},
    examples: [{ commandLine: "mic-mcp logout", description: "running servers notice within 3 s" }],
  },
  status: {
    name: "status",
    summary: "what is configured, and from where; never a secret",
    flags: { json: JSON_FLAG },
    examples: [
      { commandLine: "mic-mcp status --json | jq .journal", description: "the journal, and what of it is unsettled" },
    ],
  },
  doctor: {
    name: "doctor",
    summary: "checks everything, and says how to mend what is wrong",
    notes: ["Exit code 0 only if all is well."],
    flags: {
      emulator: { type: "boolean", about: "checks the set-up of serve --emulator" },
      teams: { type: "boolean", about: "checks a deployment for teams: settings, database, identity provider, teams" },
      json: JSON_FLAG,
    },
    examples: [
      { commandLine: "mic-mcp doctor", description: "before asking anybody for help" },
      { commandLine: "mic-mcp doctor --emulator", description: "the same for serve --emulator" },
    ],
  },
  teams: {
    name: "teams",
    argumentsUsage: "ACTION [TEAM]",
    summary: "the teams of a deployment: their credentials, and who belongs to them",
    notes: [
      `ACTION: ${TEAM_ACTIONS.join(", ")}. All but list, rotate-keys and check take a TEAM; check takes one or all.`,
      "add makes a team, once its credentials are proven. To a team that is there it adds members, and sets its claim.",
      "remove takes the named members out; without --member it removes the team. What the team did stays in the journal.",
      "rotate-secret replaces a secret: it is used from the next token on. rotate-keys puts every secret under the first of MIC_SECRET_KEYS.",
      "check opens every secret and gets a token with it. Exit code 0 only if all is well.",
      "Takes MIC_DATABASE_URL and MIC_SECRET_KEYS_FILE (or MIC_SECRET_KEYS); --member takes MIC_AUTH_ISSUER, whose subject it is.",
    ],
    flags: {
      "base-url": { type: "string", value: "URL", about: "the service's base URL (default: MIC_BASE_URL)" },
      "client-id": { type: "string", value: "ID", about: "the client's id: one team for each" },
      "workspace-id": { type: "string", value: "ID", about: "the team's one workspace" },
      claim: { type: "string", value: "VALUE", about: "whose MIC_AUTH_TEAM_CLAIM has it belongs to the team" },
      member: { type: "string", value: "SUBJECT", multiple: true, about: "somebody who belongs to it; once for each" },
      "secret-stdin": { type: "boolean", about: "the secret is all of stdin: for scripts" },
      "secret-file": { type: "string", value: "PATH", about: "the secret stays in this file, on every instance" },
      "skip-verify": { type: "boolean", about: "credentials are not tried" },
      json: JSON_FLAG,
    },
    examples: [
      {
        commandLine:
          "pass mic-red | mic-mcp teams add red --client-id me --workspace-id w1 --claim mic-red --secret-stdin",
        description: "a team whose members the identity provider knows",
      },
      { commandLine: "mic-mcp teams add red --member 00u1abc", description: "one member more" },
      { commandLine: "mic-mcp teams list", description: "never a secret" },
      { commandLine: "mic-mcp teams rotate-keys && mic-mcp teams check", description: "after a new first key" },
    ],
  },
  migrate: {
    name: "migrate",
    summary: "brings the tables of a deployment for teams up to date",
    notes: [
      "A start of serve --teams does so by itself, but for MIC_MIGRATE=off. Takes MIC_DATABASE_URL and MIC_SECRET_KEYS_FILE.",
    ],
    flags: {},
    examples: [{ commandLine: "mic-mcp migrate", description: "before instances of a new version start" }],
  },
  emulator: {
    name: "emulator",
    summary: "the emulator alone; prints its address and credentials as one JSON line",
    flags: {
      host: { type: "string", value: "H", about: "default 127.0.0.1" },
      port: { type: "string", value: "P", about: "default any that is free" },
      seed: { type: "string", value: "TEXT", about: "the same ids each time" },
      "stage-ms": { type: "string", value: "N", about: "how long a stage takes (500)" },
      "requests-per-minute": { type: "string", value: "N", about: "of the geography API, from one address (30)" },
      clients: { type: "string", value: "N", about: "clients, each with a workspace of its own (1)" },
      "trust-forwarded-for": { type: "boolean", about: "counts clients by X-Forwarded-For" },
    },
    examples: [
      { commandLine: "mic-mcp emulator --port 8940 --seed demo", description: "a service to develop against" },
    ],
  },
  completion: {
    name: "completion",
    argumentsUsage: "SHELL",
    summary: "the completion script of a shell: commands, flags, tools, arguments",
    notes: [`SHELL: ${SHELLS.join(", ")}.`],
    flags: {},
    examples: [
      { commandLine: "source <(mic-mcp completion bash)", description: "in ~/.bashrc" },
      { commandLine: "mic-mcp completion zsh > ~/.zfunc/_mic-mcp", description: "once" },
      { commandLine: "mic-mcp completion fish > ~/.config/fish/completions/mic-mcp.fish", description: "once" },
      { commandLine: "mic-mcp completion powershell | Out-String | Invoke-Expression", description: "in $PROFILE" },
    ],
  },
} as const satisfies Readonly<Record<string, Command>>;

export type CommandName = keyof typeof COMMANDS;

export const commandNames: readonly string[] = Object.keys(COMMANDS);

export const isCommandName = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name);

/** Parses the value of a flag that takes a whole number from 0 to `max`. Throws UsageError. */
export function parseIntegerFlag(flag: string, text: string | undefined, max: number): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text) || Number(text) > max)
    throw new UsageError(`--${flag} takes a whole number from 0 to ${max}.`);
  return Number(text);
}

/** The address and port on which `serve --http` and `serve --teams` listen. */
export interface HttpFlags {
  readonly host: string | undefined;
  readonly port: number | undefined;
}
