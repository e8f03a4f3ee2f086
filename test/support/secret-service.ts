// Starts a private D-Bus session with a private gnome-keyring: the real Secret Service, in the state that a test needs.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished, vi } from "vitest";
import { CODE_CACHE } from "./mcp.ts";
import { missingProgram, waitForExit } from "./process.ts";
import { describeUnless, linuxMissing } from "./unless.ts";

/** `absent`: a bus without a Secret Service. `mute`: a Secret Service that is suspended and never answers. */
export type KeychainState = "unlocked" | "absent" | "mute";

export const keychainMissing = linuxMissing ?? missingProgram("dbus-daemon") ?? missingProgram("gnome-keyring-daemon");

/** Defines a describe block that is skipped with a reason if the machine has no Secret Service. */
export function describeWithKeychain(name: string, body: () => void): void {
  describeUnless(keychainMissing, name, body);
}

const PASSWORD = "the keyring's own password";
const BUS = "org.freedesktop.DBus";
const SECRET_SERVICE = "org.freedesktop.secrets";
const STARTING_MS = 10_000;

// Without a service folder the bus itself starts nothing, so `absent` stays absent.
const busConfiguration = (socket: string, maxConnections = 256): string => `<!DOCTYPE busconfig PUBLIC
  "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=${socket}</listen>
  <limit name="max_connections_per_user">${maxConnections}</limit>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`;

async function killChild(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await waitForExit(child);
}

export async function sessionForTest(state: KeychainState = "unlocked") {
  const folder = await mkdtemp(join(tmpdir(), "mic-mcp-session-"));
  const [home, data, runtime] = [join(folder, "home"), join(folder, "data"), join(folder, "run")];
  const env = {
    HOME: home,
    XDG_DATA_HOME: data,
    XDG_RUNTIME_DIR: runtime,
    XDG_CONFIG_HOME: join(folder, "config"),
    XDG_CACHE_HOME: CODE_CACHE,
    XDG_STATE_HOME: join(folder, "state"),
    DBUS_SESSION_BUS_ADDRESS: `unix:path=${join(runtime, "bus")}`,
  };
  for (const path of [home, data, runtime]) await mkdir(path, { mode: 0o700 });
  const configuration = join(folder, "bus.conf");
  await writeFile(configuration, busConfiguration(join(runtime, "bus")));

  const children = new Set<ChildProcess>();
  onTestFinished(async () => {
    await Promise.all([...children].map(killChild));
    await rm(folder, { recursive: true, force: true });
  });
  function launch(command: string, args: readonly string[], input = ""): ChildProcess {
    const child = spawn(command, args, {
      env: { PATH: process.env["PATH"] ?? "", ...env },
      stdio: ["pipe", "ignore", "ignore"],
    });
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
    child.on("error", () => undefined);
    children.add(child);
    return child;
  }

  const daemon = launch("dbus-daemon", [`--config-file=${configuration}`, "--nofork"]);
  /** Calls a method of the bus itself and returns the answer. Rejects until the bus has started. */
  async function callBus(member: string, ...args: readonly string[]): Promise<string> {
    const options = [`--bus=${env.DBUS_SESSION_BUS_ADDRESS}`, `--dest=${BUS}`, "--print-reply"];
    const { stdout } = await promisify(execFile)("dbus-send", [...options, "/", `${BUS}.${member}`, ...args]);
    return stdout;
  }
  const isOwned = async () => (await callBus("NameHasOwner", `string:${SECRET_SERVICE}`)).includes("boolean true");
  const starting = { timeout: STARTING_MS, interval: 20 };
  await vi.waitFor(isOwned, starting);

  let keyring: ChildProcess | undefined;
  async function startKeyring(password: string | undefined): Promise<void> {
    if (keyring) await killChild(keyring);
    await vi.waitUntil(async () => !(await isOwned()), starting);
    const unlocking = password === undefined ? [] : ["--unlock"];
    keyring = launch("gnome-keyring-daemon", ["--foreground", "--components=secrets", ...unlocking], password);
    await vi.waitUntil(isOwned, starting);
  }

  if (state !== "absent") await startKeyring(PASSWORD);
  if (state === "mute") keyring?.kill("SIGSTOP");
  /** Variables with which a program finds this session: HOME, XDG folders, the bus. MIC_KEYCHAIN is empty, which means unset. */
  const variables: Readonly<Record<string, string>> = { ...env, MIC_KEYCHAIN: "" };
  return {
    env: variables,
    folder,
    /** Locks the Secret Service with all its contents, as in a session that the user has not unlocked. */
    lock: () => startKeyring(undefined),
    unlock: () => startKeyring(PASSWORD),
    /** Further connections of this user to the bus are refused with the bus's own error. */
    async exhaustConnections() {
      await writeFile(configuration, busConfiguration(join(runtime, "bus"), 1));
      await callBus("ReloadConfig");
    },
    /** Suspends the bus itself: no request gets an answer. */
    freezeBus: () => void daemon.kill("SIGSTOP"),
  };
}

export type Session = Awaited<ReturnType<typeof sessionForTest>>;
