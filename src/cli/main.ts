// The command line: which command, its flags, and the exit code (docs/interface.md, "Program").
import { UsageError } from "../config.ts";
import { Failure, reasonOf } from "../failure.ts";
import { wholeNumber } from "./flags.ts";
import { isParseError, serveFlags } from "./serve-flags.ts";
import { version } from "./version.ts";

const HELP = `mic-mcp ${version}: geography and job processing for AI agents, over MCP

  mic-mcp [serve]            the MCP server on stdin and stdout
  mic-mcp serve --emulator   the same, against an emulator of the service inside the process
  mic-mcp serve --http       the same over Streamable HTTP, on this machine; prints its URL as one JSON line
  mic-mcp emulator           the emulator alone; prints its address and credentials as one JSON line
  mic-mcp demo               the main job from end to end, told as a transcript
  mic-mcp login              keeps the client credentials in the OS keychain, once they are proven
  mic-mcp logout             removes them, and every token
  mic-mcp status [--json]    what is configured, and from where; never a secret
  mic-mcp doctor [--json]    checks everything, and says how to mend what is wrong

Flags of serve (each wins over the variable beside it):
  --emulator            MIC_EMULATOR=1     against an emulator inside the process
  --base-url URL        MIC_BASE_URL       the service's base URL
  --workspace-id ID     MIC_WORKSPACE_ID   default workspace
  --download-dir DIR    MIC_DOWNLOAD_DIR   where download_asset writes (default: ~/Downloads)
  --toolsets LIST       MIC_TOOLSETS       geography, jobs (default: both)
  --read-only           MIC_READ_ONLY=1    only operations without side effects
  --log-level LEVEL     MIC_LOG_LEVEL      debug, info, warn (default), error, silent
  --http, and with it   --host H (127.0.0.1, ::1 or localhost)  --port P (any)
                        MIC_HTTP_TOKEN     the bearer token that requests must carry; without it, on Linux,
                                           only those of the user who started the server are answered
Credentials: mic-mcp login, or MIC_CLIENT_ID and MIC_CLIENT_SECRET. MIC_KEYCHAIN=auto (default), require, off.

Flags of login, for scripts: --base-url U --client-id I [--workspace-id W] --secret-stdin

Flags of emulator:
  --host H (127.0.0.1)  --port P (any)  --seed TEXT  --stage-ms N (500)  --trust-forwarded-for

  --help, --version
Exit codes: 0 fine, 1 the work failed, 2 wrong usage or configuration.
`;

async function runServe(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { isHttp, isMisplaced, host, port, whole } = serveFlags(args, environment);
  if (isMisplaced) throw new UsageError("--host and --port belong to serve --http.");
  const { serve } = await import("./serve.ts");
  const http = isHttp ? { host, port: wholeNumber("port", port, 65535) } : undefined;
  return await serve(whole, http);
}

async function run(command: string, args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  switch (command) {
    case "serve":
      return await runServe(args, environment);
    case "emulator": {
      const { emulator } = await import("./emulator.ts");
      return await emulator(args);
    }
    case "demo": {
      const { demo } = await import("../demo/demo.ts");
      return await demo(args);
    }
    case "login": {
      const { login } = await import("./login.ts");
      return await login(args, environment);
    }
    case "logout": {
      const { logout } = await import("./login.ts");
      return await logout(args, environment);
    }
    case "status": {
      const { status } = await import("./status.ts");
      return await status(args, environment);
    }
    case "doctor": {
      const { doctor } = await import("./doctor.ts");
      return await doctor(args, environment);
    }
    default:
      throw new UsageError(`${JSON.stringify(command)} is not a command of mic-mcp.`);
  }
}

/** Runs one command line and gives its exit code. */
export async function main(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  if (argv.includes("--help") || argv.includes("-h")) {
    process.stdout.write(HELP);
    return 0;
  }
  if (argv.includes("--version")) {
    process.stdout.write(`${version}\n`);
    return 0;
  }
  const [first, ...rest] = argv;
  const named = first !== undefined && !first.startsWith("-");
  try {
    return await run(named ? first : "serve", named ? rest : argv, environment);
  } catch (error) {
    const usage = error instanceof UsageError || isParseError(error);
    const next = usage
      ? "Run mic-mcp --help for what it takes."
      : error instanceof Failure
        ? error.facts.next
        : undefined;
    process.stderr.write(`mic-mcp: ${reasonOf(error)}\n${next === undefined ? "" : `${next}\n`}`);
    return usage ? 2 : 1;
  }
}
