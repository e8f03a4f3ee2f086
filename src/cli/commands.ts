// Defines the table of commands, from which help, completion, parsing and docs/use/commands.md are derived.

import { parseArgs } from "node:util";
import { UsageError } from "../core/config.ts";
import { CALL_LIMIT_SECONDS } from "../core/time-limits.ts";

interface CommandDefinition {
  /** The arguments after the name, without flags. */
  readonly argumentsUsage?: string;
  /** True if --NAME VALUE sets the tool's argument NAME, unless the command itself has a flag NAME. */
  readonly hasToolArguments?: true;
  readonly summary: string;
  /** The effect of each value of ACTION, by its usage. The description of a flag of some actions starts with "with ACTION, …:". */
  readonly actions?: Readonly<Record<string, string>>;
  /** Sentences below the summary in the command's own help. */
  readonly notes?: readonly string[];
  /** The description of each flag, by its usage: `--json`, `--port P` if it takes a value, or `--member SUBJECT…` if it may be repeated. */
  readonly flags: Readonly<Record<`--${string}`, string>>;
  /** The only values that a flag accepts. */
  readonly choices?: Readonly<Record<string, readonly string[]>>;
  /** Each command line contains "mic-mcp". */
  readonly examples: readonly (readonly [commandLine: string, description: string])[];
}

const JSON_FLAG = { "--json": "print JSON" } as const;
const EMULATOR_FLAG = {
  "--emulator": "use the running emulator (mic-mcp emulator), or one inside the process if none runs",
} as const;
const PROFILE_FLAG = {
  "--profile NAME": "profile of the stored login (default: MIC_PROFILE, or the login without a profile)",
} as const;
export const SHELLS = ["bash", "zsh", "fish", "powershell"] as const;
export const INSTALL_CLIENTS = ["claude", "codex", "gemini", "copilot", "vscode", "cursor", "claude-desktop"] as const;
export const ACTION_STATES = ["in_progress", "succeeded", "rejected", "unknown"] as const;

export const COMMANDS = {
  serve: {
    summary: "Run the MCP server on stdin and stdout; an MCP client starts it",
    notes: [
      "Each flag overrides the variable of the same name (--base-url overrides MIC_BASE_URL).",
      "Credentials come from mic-mcp login, or from MIC_CLIENT_ID and MIC_CLIENT_SECRET, MIC_CLIENT_SECRET_FILE or MIC_CLIENT_SECRET_COMMAND.",
    ],
    flags: {
      "--emulator": "use an emulator of the MIC API inside the process",
      "--http":
        "serve Streamable HTTP on this machine; prints the URL and the file with the bearer token as one JSON line",
      "--teams":
        "run one instance of a deployment for an organization (<https://github.com/mic-mcp/mic-mcp/blob/main/docs/operate/teams.md>); prints the URL as one JSON line",
      "--host H": "address to listen on. With --http: 127.0.0.1 (default), ::1 or localhost. With --teams: any address",
      "--port P": "port, with --http or --teams (default: any free port)",
      "--no-token": "with --http: accept requests of every user of this machine without a token (for test tools)",
      "--base-url URL": "base URL of the MIC API",
      "--workspace-id ID": "default workspace",
      ...PROFILE_FLAG,
      "--download-dir DIR": "folder for downloaded files (default: ~/Downloads)",
      "--toolsets LIST":
        "toolsets to offer: geography, jobs or geography,jobs (default), or essentials (the 15 most important tools of both)",
      "--tools LIST": "tools to offer in addition to --toolsets; without --toolsets, only these tools are offered",
      "--exclude-tools LIST": "tools not to offer",
      "--read-only": "offer only read-only tools",
      "--log-level LEVEL": "log level: debug, info, warn (default), error, silent",
    },
    choices: {
      toolsets: ["geography", "jobs", "geography,jobs", "essentials"],
      "log-level": ["debug", "info", "warn", "error", "silent"],
    },
    examples: [
      ["mic-mcp serve --emulator", "needs no configuration; sends nothing to other machines"],
      ["mic-mcp serve --http --port 8931", "one server for many clients"],
      ["mic-mcp serve --teams --port 8931", "for an organization, behind a load balancer"],
    ],
  },
  call: {
    argumentsUsage: "[TOOL [VALUE] [NAME=VALUE …]]",
    hasToolArguments: true,
    summary: "Call one tool, with the same journal and idempotency keys as an agent",
    notes: [
      "Without TOOL, the command lists the tools. To show the arguments of a tool, run call TOOL --help.",
      "A VALUE without NAME= sets the first required argument, or else the first one, and --NAME VALUE means NAME=VALUE. Separate the values of a list with commas; in names, a comma before a space is part of the name.",
      "Pass an object as JSON. NAME=VALUE overrides --input.",
      "To resume an interrupted call, run the same command again. If an identical call ran before, the command prints its result.",
      'With --json, the result includes exitCode, and an error is also printed to stdout as {"error": …}.',
    ],
    flags: {
      "--input '{…}'": "arguments as a JSON object",
      ...JSON_FLAG,
      ...EMULATOR_FLAG,
      "--timeout SECONDS": `stop after this time (default: ${CALL_LIMIT_SECONDS} s, and the end of a request in flight)`,
      "--yes": "run cancel_job, cancel_jobs and RESTART without asking for confirmation",
    },
    examples: [
      ["mic-mcp call rank_divisions level=district by=mandalCount limit=5", "the five districts with the most mandals"],
      ["mic-mcp call find_district Hyderabad --emulator", "needs no account"],
      ["mic-mcp call get_job micjob_… --json | jq .data.state", "print one field, for scripts"],
      ['mic-mcp call submit_job --input \'{"recipeVersionId":"…","inputBindings":[…]}\'', "start a job"],
    ],
  },
  watch: {
    argumentsUsage: "JOB",
    summary: "Show the nine stages of a job and their units until the job ends",
    notes: [
      "Ctrl-C stops watching; the job keeps running. The exit code is 0 only if the job SUCCEEDED, and 5 if it ended otherwise.",
      "Without a terminal, the command prints a line for each change; with --json, each line is JSON.",
    ],
    flags: {
      "--timeout SECONDS": "stop watching after this time, with exit code 6 (default: never)",
      ...JSON_FLAG,
      ...EMULATOR_FLAG,
    },
    examples: [["mic-mcp watch micjob_… && echo done", "run a second command if the job succeeds"]],
  },
  show: {
    argumentsUsage: "VIEW [NAME=VALUE …]",
    hasToolArguments: true,
    summary: "Write a job, divisions, usage or actions to an HTML file for a browser",
    notes: [
      "VIEW: job JOB, divisions [state|district], usage [DAY|ENTITLEMENT], actions [STATE].",
      "The command prints the path of the page. The page contains its data and makes no requests; only its owner can read it.",
    ],
    flags: {
      "--open": "also open the page in the browser",
      ...JSON_FLAG,
      ...EMULATOR_FLAG,
    },
    examples: [
      ["mic-mcp show divisions --open", "all states as a table, a bar chart and a tile map"],
      ["mic-mcp show job micjob_… --open", "the current state of its stages"],
    ],
  },
  actions: {
    summary: "List the write requests in this journal, unresolved ones first, with the commands to resolve them",
    flags: {
      "--state S": `show only this state: ${ACTION_STATES.join(", ")}`,
      ...JSON_FLAG,
      ...EMULATOR_FLAG,
    },
    choices: { state: ACTION_STATES },
    examples: [["mic-mcp actions --state unknown", "requests that may have taken effect"]],
  },
  resolve: {
    argumentsUsage: "[KEY]",
    summary: "Find out the outcome of unresolved actions; an action that never reached the API may run now",
    notes: [
      "Without KEY, the command resolves all actions, oldest first. KEY is an idempotencyKey from mic-mcp actions.",
      "Each request is sent again with its idempotency key, so none runs twice; after 20 hours, the server reads the job instead.",
    ],
    flags: {
      "--dry-run": "list them and how each would be resolved; send nothing",
      ...JSON_FLAG,
      ...EMULATOR_FLAG,
      "--yes": "send cancellations and RESTART again without asking for confirmation",
    },
    examples: [["mic-mcp resolve --dry-run", "list the requests that would be sent"]],
  },
  demo: {
    summary: "Run a job from start to end against an emulator and print a transcript; needs no account",
    flags: {},
    examples: [["mic-mcp demo", "takes about 20 s"]],
  },
  install: {
    argumentsUsage: "CLIENT",
    summary: "Add this server to the configuration of an MCP client",
    notes: [
      `CLIENT: ${INSTALL_CLIENTS.join(", ")}.`,
      "The entry contains the absolute paths of Node and of this program, or npx if npx runs this command, but no secret. The command changes no other entries. For codex, it prints the codex mcp add command to run.",
    ],
    flags: {
      "--emulator": "the server uses an emulator of the MIC API",
      "--profile NAME": "the server uses this profile; the entry is called mic-NAME",
      "--print": "print the entry; change no file",
      ...JSON_FLAG,
    },
    examples: [
      ["mic-mcp install claude --emulator", "Claude Code, without an account"],
      ["mic-mcp install vscode --print", "print the entry of mcp.json"],
    ],
  },
  uninstall: {
    argumentsUsage: "CLIENT",
    summary: "Remove this server from the configuration of an MCP client",
    notes: [`CLIENT: ${INSTALL_CLIENTS.join(", ")}.`, "The command changes no other entries."],
    flags: {
      "--profile NAME": "remove the entry mic-NAME",
      "--print": "print what would be removed; change no file",
      ...JSON_FLAG,
    },
    examples: [["mic-mcp uninstall claude", "Claude Code"]],
  },
  login: {
    summary: "Verify client credentials and store them in the OS keychain",
    notes: ["Prompts for each value without a flag; the secret is not echoed. The stored values are the defaults."],
    flags: {
      "--base-url URL": "base URL of the MIC API",
      "--client-id ID": "client id",
      "--workspace-id ID": "default workspace",
      "--secret-stdin": "read the client secret from stdin (for scripts)",
      ...PROFILE_FLAG,
      ...JSON_FLAG,
    },
    examples: [
      ["mic-mcp login", "prompt for all values"],
      ["mic-mcp login --profile work", "a second login; MIC_PROFILE=work selects it"],
      [
        "pass mic | mic-mcp login --base-url https://service.example --client-id me --workspace-id micws_… --secret-stdin",
        "no prompts",
      ],
    ],
  },
  logout: {
    summary: "Remove the stored credentials and their tokens; other profiles keep theirs",
    flags: { ...PROFILE_FLAG, ...JSON_FLAG },
    examples: [["mic-mcp logout", "running servers detect it within 3 s"]],
  },
  doctor: {
    summary: "Show the settings and their sources, check the setup, and explain how to fix problems",
    notes: ["Secrets are never shown. The exit code is 0 only if all checks pass."],
    flags: {
      "--emulator": "check the setup of serve --emulator",
      "--offline": "skip the checks that send requests",
      "--scopes": "also request each scope of the API, and list the tools that this client can use",
      "--teams": "check a deployment for teams: settings, database, identity provider, teams",
      "--token FILE": "with --teams: explain the access token in this file",
      ...JSON_FLAG,
    },
    examples: [
      ["mic-mcp doctor", "check the setup of serve"],
      ["mic-mcp doctor --offline --json | jq .settings", "the settings, the stored tokens and the journal"],
      ["mic-mcp doctor --scopes", "print the line MIC_TOOLS=… for a client without all scopes"],
    ],
  },
  teams: {
    argumentsUsage: "ACTION [TEAM]",
    summary: "Manage the teams of a deployment, their credentials and members, and its database tables",
    actions: {
      "add TEAM": "verify the credentials and create the team; for an existing team, add members and set the claim",
      list: "list the teams without their secrets",
      "remove TEAM":
        "remove the members given with --member; without --member, the team (its actions stay in the journal)",
      "rotate-secret TEAM": "replace the client secret, starting with the next token request",
      "rotate-keys": "encrypt every stored secret with the first key of MIC_SECRET_KEYS_FILE",
      "check [TEAM]": "decrypt each secret and request a token with it; exit with 0 only if all checks pass",
      "actions [TEAM]": "list the latest 50 actions of a team or of all, with their users",
      "resolve TEAM [KEY]": "resolve the unknown actions of a team for their users, as resolve_actions does",
      audit: "with --job: list who did what with a job or another resource",
      "block SUBJECT": "let a user belong to no team, within 5 s, whatever their tokens and groups",
      "unblock SUBJECT": "end that",
      "export SUBJECT": "print what the database has of a user, as JSON",
      "erase SUBJECT": "delete a user's subject, memberships and actions, except those that may still be repeated",
      migrate:
        "create or update the database tables and the partitions of the audit; serve --teams does this unless MIC_MIGRATE=off",
    },
    notes: [
      "The command requires MIC_DATABASE_URL and MIC_SECRET_KEYS_FILE. --member also requires MIC_AUTH_ISSUER, the issuer of the subject.",
    ],
    flags: {
      "--base-url URL": "with add: base URL of the MIC API (default: MIC_BASE_URL)",
      "--client-id ID": "with add: client id; each client belongs to one team",
      "--workspace-id ID": "with add: the team's workspace",
      "--claim VALUE": "with add: the value that grants membership, in the claim that MIC_AUTH_TEAM_CLAIM names",
      "--member SUBJECT…": "with add, remove: subject of a member; repeat for each member",
      "--secret-stdin": "with add, rotate-secret: read the client secret from stdin (for scripts)",
      "--secret-file PATH":
        "with add, rotate-secret: file with the client secret, present on every instance; only its path is stored",
      "--job ID": "with audit: the id of the resource",
      "--dry-run": "with migrate: print the versions, and change nothing",
      "--state S": `with actions: list only this state: ${ACTION_STATES.join(", ")}`,
      ...JSON_FLAG,
    },
    choices: { state: ACTION_STATES },
    examples: [
      [
        "pass mic-red | mic-mcp teams add red --client-id me --workspace-id w1 --claim mic-red --secret-stdin",
        "create a team with members from the identity provider",
      ],
      ["mic-mcp teams add red --member 00u1abc", "add a member"],
      ["mic-mcp teams actions red --state unknown", "actions that may have taken effect"],
      ["mic-mcp teams rotate-keys && mic-mcp teams check", "after adding a new first key"],
      ["mic-mcp teams migrate", "before starting instances of a new version"],
    ],
  },
  emulator: {
    summary: "Run the emulator of the MIC API; print its URL and credentials as one JSON line",
    flags: {
      "--host H": "address to listen on (default: 127.0.0.1)",
      "--port P": "port (default: any free port)",
      "--seed TEXT": "seed that makes ids reproducible",
      "--stage-ms N": "duration of a stage in ms (default: 500)",
      "--requests-per-minute N": "rate limit of the geography API per address (default: 600)",
      "--clients N": "number of clients, each with its own workspace (default: 1)",
      "--scopes LIST": "scopes that the clients may request (default: all); mic-mcp doctor --scopes lists them",
    },
    examples: [["mic-mcp emulator --port 8940 --seed demo", "an API for development"]],
  },
  completion: {
    argumentsUsage: "SHELL",
    summary: "Print a shell completion script for commands, flags, tools and arguments",
    notes: [`SHELL: ${SHELLS.join(", ")}.`],
    flags: { "--jobs": "print the latest job ids of the journal instead; the scripts use it" },
    examples: [
      ["source <(mic-mcp completion bash)", "in ~/.bashrc"],
      [
        "mkdir -p ~/.zfunc && mic-mcp completion zsh > ~/.zfunc/_mic-mcp",
        "once; ~/.zshrc needs: fpath+=~/.zfunc; autoload -Uz compinit; compinit",
      ],
      [
        "mkdir -p ~/.config/fish/completions && mic-mcp completion fish > ~/.config/fish/completions/mic-mcp.fish",
        "once",
      ],
      ["mic-mcp completion powershell | Out-String | Invoke-Expression", "in $PROFILE"],
    ],
  },
} as const satisfies Readonly<Record<string, CommandDefinition>>;

export type CommandName = keyof typeof COMMANDS;

type FirstWord<Usage extends string> = Usage extends `${infer Word} ${string}` ? Word : Usage;
export type TeamSubcommand = FirstWord<keyof (typeof COMMANDS)["teams"]["actions"]>;
export const teamSubcommands = Object.keys(COMMANDS.teams.actions).map((usage) => usage.split(" ")[0] ?? usage);

export type ArgumentsOf<Name extends CommandName> = ParsedArguments<(typeof COMMANDS)[Name]>;

export type RunCommand<Name extends CommandName> = (
  args: ArgumentsOf<Name>,
  environment: NodeJS.ProcessEnv,
) => Promise<number>;

export interface Command extends CommandDefinition {
  readonly name: string;
}

export const commandOf = (name: CommandName): Command => ({ name, ...COMMANDS[name] });

export const isCommandName = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name);

export const commandNames: readonly string[] = Object.keys(COMMANDS);

export const commands: readonly Command[] = commandNames.filter(isCommandName).map(commandOf);

/** Returns the flags of a command, as options of parseArgs. `usage`: with the placeholder of the value. */
export const flagsOf = ({ flags }: Pick<CommandDefinition, "flags">) =>
  Object.entries(flags).map(([usage, about]) => {
    const [flag = "", value] = usage.split(" ");
    const type: "string" | "boolean" = value === undefined ? "boolean" : "string";
    return {
      name: flag.slice("--".length),
      usage: usage.replace(/…$/, ""),
      about,
      type,
      multiple: usage.endsWith("…"),
    };
  });

type FlagName<Usage> = Usage extends `--${infer Name} ${string}`
  ? Name
  : Usage extends `--${infer Name}`
    ? Name
    : never;
type FlagValue<Usage> = Usage extends `${string}…` ? string[] : Usage extends `${string} ${string}` ? string : boolean;

export interface ParsedArguments<C extends Pick<CommandDefinition, "flags">> {
  readonly values: { readonly [Usage in keyof C["flags"] as FlagName<Usage>]?: FlagValue<Usage> };
  readonly positionals: readonly string[];
}

/** Moves the words that are not flags of the command to the end, where a word that starts with a dash is not a flag. */
function moveToolArguments(command: CommandDefinition, args: readonly string[]): readonly string[] {
  const types = new Map(flagsOf(command).map(({ name, type }) => [`--${name}`, type]));
  const [flags, words]: [string[], string[]] = [[], []];
  for (let at = 0; at < args.length; at++) {
    const argument = args[at] ?? "";
    if (argument === "--") {
      words.push(...args.slice(at + 1));
      break;
    }
    const type = types.get(argument.split("=", 1)[0] ?? "");
    if (type === undefined && !/^-[a-z]/i.test(argument)) words.push(argument);
    else flags.push(...(type === "string" && !argument.includes("=") ? args.slice(at, ++at + 1) : [argument]));
  }
  return [...flags, "--", ...words];
}

/** Parses the arguments of a command. Throws the errors of parseArgs, which `reportError` converts to a UsageError. */
export function parseArguments<C extends CommandDefinition>(command: C, args: readonly string[]): ParsedArguments<C>;
export function parseArguments(command: CommandDefinition, args: readonly string[]): object {
  return parseArgs({
    args: [...(command.hasToolArguments ? moveToolArguments(command, args) : args)],
    options: Object.fromEntries(flagsOf(command).map((flag) => [flag.name, flag])),
    allowPositionals: command.argumentsUsage !== undefined,
  });
}

export function parseIntegerFlag(flag: string, text: string | undefined, max: number): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text) || Number(text) > max)
    throw new UsageError(`--${flag} must be a whole number from 0 to ${max}.`);
  return Number(text);
}

export interface HttpFlags {
  readonly host: string | undefined;
  readonly port: number | undefined;
  /** Whether `serve --http` accepts requests without a token. */
  readonly mayOmitToken: boolean;
}
