// Gets, sets and deletes secrets in the OS keychain, within a time limit even if the keychain does not answer.
import { type ChildProcess, fork, type StdioOptions } from "node:child_process";
import { lstatSync } from "node:fs";
import { fileURLToPath } from "node:url";
import * as z from "zod/v4";
import { withoutMicVariables } from "../../core/environment-variables.ts";
import { ifAbsolute } from "../../core/platform-folders.ts";

// Messages between the server and the keychain's process (worker.ts).

export const KeychainRequest = z.object({
  id: z.int(),
  operation: z.enum(["get", "set", "delete", "list"]),
  account: z.string().optional(),
  password: z.string().optional(),
});
export type KeychainRequest = z.infer<typeof KeychainRequest>;

/** Why a keychain returned no usable result. */
export const KeychainErrorKind = z.enum(["absent", "unusable", "locked", "silent", "failed"]);
export type KeychainErrorKind = z.infer<typeof KeychainErrorKind>;

export const KeychainReply = z.object({
  id: z.int(),
  password: z.string().optional(),
  existed: z.boolean().optional(),
  accounts: z.array(z.string()).optional(),
  kind: KeychainErrorKind.optional(),
  /** Original message of the addon or of D-Bus; not shown to users. */
  message: z.string().optional(),
});
export type KeychainReply = z.infer<typeof KeychainReply>;

export class KeychainError extends Error {
  override readonly name = "KeychainError";
  readonly kind: KeychainErrorKind;
  /** Original message of the keychain, for debugging; users cannot act on it. */
  readonly detail: string | undefined;

  /** `message` is shown to users. */
  constructor(kind: KeychainErrorKind, message: string, detail?: string) {
    super(message);
    this.kind = kind;
    this.detail = detail;
  }

  get fix(): string {
    return `${describeFix(this.kind)} ${WITHOUT_KEYCHAIN}`;
  }
}

/** Longest time that a call to a server waits for the keychain. */
export const SERVER_LIMIT_MS = 4_500;
/** Longest time that a command waits, because the user may have to type the keychain's own password. */
export const COMMAND_LIMIT_MS = 60_000;

// Windows' Credential Manager accepts at most 2560 bytes; other keychains have space for the largest token.
const maxBytes = (platform: NodeJS.Platform): number => (platform === "win32" ? 2_560 : 65_536);

export const fitsKeychain = (password: string, platform: NodeJS.Platform = process.platform): boolean =>
  Buffer.byteLength(password) <= maxBytes(platform);

const ERROR_MESSAGES: Readonly<Record<KeychainErrorKind, string>> = {
  absent: "no OS keychain was found",
  unusable: "the OS keychain cannot be used",
  locked: "the OS keychain is locked",
  silent: "the OS keychain is not responding",
  failed: "the OS keychain operation failed",
};

/** Explanations for those messages of the addon and of D-Bus that users can act on. */
const REASONS: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/native binding|cannot find (?:module|package)/i, "the package @napi-rs/keyring is not installed"],
  [/DBUS_SESSION_BUS_ADDRESS|autolaunch/i, "DBUS_SESSION_BUS_ADDRESS does not identify a session bus"],
  [/not provided/i, "no Secret Service provider is running"],
];

function toErrorMessage(kind: KeychainErrorKind, detail = ""): string {
  const why = REASONS.find(([pattern]) => pattern.test(detail))?.[1];
  return why === undefined ? ERROR_MESSAGES[kind] : `${ERROR_MESSAGES[kind]} (${why})`;
}

/** Returns what users of this platform can do if the keychain is locked, or if it does not respond. */
export function describeHelp(platform: NodeJS.Platform = process.platform) {
  switch (platform) {
    case "darwin":
      return {
        unlock: "answer the dialog of the keychain, or run security unlock-keychain",
        respond: "answer the dialog of the keychain, which macOS shows once for each version of Node",
      } as const;
    case "win32":
      return { unlock: "log in to Windows", respond: "restart the Windows service Credential Manager" } as const;
    default:
      return {
        unlock: "log in to the desktop, or run gnome-keyring-daemon --unlock",
        respond: "restart the keychain (systemctl --user restart gnome-keyring-daemon)",
      } as const;
  }
}

/** The settings of docs/use/clients.md, "Credentials without a keychain", for a person at a terminal. */
export const WITHOUT_KEYCHAIN =
  "Without a keychain, write the client secret to a file that only you can read (chmod 600), and set in your shell and in the env of the client's entry: MIC_BASE_URL=https://service.example MIC_CLIENT_ID=… MIC_CLIENT_SECRET_FILE=/home/me/.config/mic-mcp/secret MIC_WORKSPACE_ID=micws_…";

export function describeFix(kind: KeychainErrorKind, platform?: NodeJS.Platform): string {
  const { unlock, respond } = describeHelp(platform);
  switch (kind) {
    case "absent":
      return "Install one (on Debian: apt install gnome-keyring dbus).";
    case "unusable":
      return "Install mic-mcp again with its optional packages (npm install --include=optional).";
    case "locked":
      return `To unlock it, ${unlock}.`;
    case "silent":
      return `To continue, ${respond}.`;
    case "failed":
      return `Try again. If it fails again, ${respond}.`;
  }
}

/** MCP clients strip the environment, and without the bus address the Secret Service cannot be found. */
function findBusAddress(environment: NodeJS.ProcessEnv): string | undefined {
  const given = environment["DBUS_SESSION_BUS_ADDRESS"];
  const uid = process.getuid?.();
  if (given || process.platform !== "linux" || uid === undefined) return given;
  const path = `${ifAbsolute(environment["XDG_RUNTIME_DIR"]) ?? `/run/user/${uid}`}/bus`;
  const socket = lstatSync(path, { throwIfNoEntry: false });
  return socket?.isSocket() && socket.uid === uid ? `unix:path=${path}` : undefined;
}

function workerEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const address = findBusAddress(environment);
  return { ...withoutMicVariables(environment), ...(address !== undefined && { DBUS_SESSION_BUS_ADDRESS: address }) };
}

function startWorker(environment: NodeJS.ProcessEnv): ChildProcess {
  const isSource = import.meta.url.endsWith(".ts");
  const file = fileURLToPath(new URL(isSource ? "./worker.ts" : "./keychain-worker.js", import.meta.url));
  // The types of fork lack windowsHide, which fork passes on to spawn.
  const options = {
    execArgv: isSource ? ["--import", import.meta.resolve("tsx")] : [],
    env: workerEnvironment(environment),
    stdio: ["ignore", "ignore", "ignore", "ipc"] satisfies StdioOptions,
    windowsHide: true,
  };
  return fork(file, options);
}

/** The worker starts with the first call and ends this long after the last one. */
const IDLE_MS = 10_000;

export type Keychain = ReturnType<typeof openKeychain>;

/** Every method except `close` throws KeychainError. `environment` names the session bus. */
export function openKeychain(limitMs: number, idleMs = IDLE_MS, environment = process.env) {
  let worker: ChildProcess | undefined;
  let idleTimer: NodeJS.Timeout | undefined;
  let lastId = 0;
  const pending = new Map<number, (reply: KeychainReply | KeychainError) => void>();

  /** Ends the worker; all pending calls fail. */
  function stop(kind: KeychainErrorKind, reason: string): void {
    clearTimeout(idleTimer);
    const stopped = worker;
    worker = undefined;
    stopped?.removeAllListeners();
    stopped?.on("error", () => undefined);
    stopped?.kill("SIGKILL");
    for (const resolvePending of pending.values())
      resolvePending(new KeychainError(kind, `${ERROR_MESSAGES[kind]} (${reason})`));
  }

  function getOrStartWorker(): ChildProcess {
    if (worker) return worker;
    const started = startWorker(environment);
    started.on("message", (message) => {
      const reply = KeychainReply.safeParse(message);
      if (reply.success) pending.get(reply.data.id)?.(reply.data);
    });
    for (const event of ["error", "disconnect", "exit"] as const)
      started.once(event, () => stop("failed", "its process ended"));
    worker = started;
    return started;
  }

  // A waiting call keeps this process alive; an idle worker does not.
  function setReferenced(child: ChildProcess, isReferenced: boolean): void {
    if (isReferenced) {
      child.ref();
      child.channel?.ref();
    } else {
      child.unref();
      child.channel?.unref();
    }
  }

  async function sendRequest(request: Omit<KeychainRequest, "id">): Promise<KeychainReply> {
    const child = getOrStartWorker();
    clearTimeout(idleTimer);
    setReferenced(child, true);
    const id = ++lastId;
    const reply = await new Promise<KeychainReply | KeychainError>((resolve) => {
      const timer = setTimeout(() => stop("silent", `nothing within ${limitMs / 1000} s`), limitMs);
      pending.set(id, (result) => {
        pending.delete(id);
        clearTimeout(timer);
        resolve(result);
      });
      child.send({ ...request, id }, (error) => {
        if (error && worker === child) stop("failed", "its process ended");
      });
    });
    if (pending.size === 0 && worker) {
      setReferenced(worker, false);
      idleTimer = setTimeout(() => stop("failed", "closed"), idleMs).unref();
    }
    if (reply instanceof KeychainError) throw reply;
    if (reply.kind) throw new KeychainError(reply.kind, toErrorMessage(reply.kind, reply.message), reply.message);
    return reply;
  }

  return {
    getPassword: async (account: string) => (await sendRequest({ operation: "get", account })).password,
    async setPassword(account: string, password: string): Promise<void> {
      if (!fitsKeychain(password))
        throw new KeychainError("failed", `a keychain entry holds at most ${maxBytes(process.platform)} bytes`);
      await sendRequest({ operation: "set", account, password });
    },
    /** Returns false if the entry did not exist. */
    deletePassword: async (account: string) => (await sendRequest({ operation: "delete", account })).existed ?? false,
    listAccounts: async (): Promise<readonly string[]> => (await sendRequest({ operation: "list" })).accounts ?? [],
    close: (): void => stop("failed", "closed"),
  };
}
