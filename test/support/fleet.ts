// Runs several instances of the built server on fixed ports of this machine, which a test kills, stops and restarts.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";
import { bareEnvironment, entryArguments } from "./mcp.ts";
import { launchProcess, type RunningProcess } from "./process.ts";

function reasonNamespacesMissing(): string | undefined {
  if (process.getuid?.() !== 0) return "needs root";
  try {
    execFileSync("unshare", ["--pid", "--fork", "--kill-child", "true"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "this machine allows no PID namespace";
  }
}

/**
 * Reason why instances cannot have separate PID namespaces, as containers have; undefined if they can. Without namespaces an
 * instance detects at once that another one has died.
 */
export const namespacesMissing = reasonNamespacesMissing();

export interface Instance {
  readonly name: string;
  readonly url: string;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  /** Sends SIGTERM; resolves when the process has ended. */
  terminate(): Promise<void>;
  /** Resolves when the instance is ready. `entry`: the entry point of another version (default: the built program). */
  start(entry?: readonly string[]): Promise<void>;
  signal(name: NodeJS.Signals): void;
  isReady(): Promise<boolean>;
  /** Id of the running process; 0 without one. */
  pid(): number;
  output(): string;
}

export interface Fleet {
  readonly instances: readonly Instance[];
  stop(): Promise<void>;
}

export interface FleetOptions {
  readonly instances: number;
  readonly env: Readonly<Record<string, string>>;
  /** Runs each instance in a separate PID namespace, if this machine can. */
  readonly isolated?: boolean;
}

const PID_NAMESPACE_COMMAND = ["unshare", "--pid", "--fork", "--kill-child"];

const READINESS_INTERVAL_MS = 50;
/** 60 s or more: then the start has failed. */
const MAX_READINESS_CHECKS = 1200;

const describeReadiness = (url: string): Promise<string> =>
  fetch(`${url}/readyz`).then(
    async (answer) => `${answer.status} ${await answer.text()}`,
    (error: unknown) => String(error),
  );

async function isReadyAt(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) });
    await answer.arrayBuffer();
    return answer.status === 200;
  } catch {
    return false;
  }
}

function createInstance(port: number, index: number, home: string, options: FleetOptions): Instance {
  const isWrapped = options.isolated === true && namespacesMissing === undefined;
  const url = `http://127.0.0.1:${port}`;
  let running: RunningProcess | undefined;
  let previousOutput = "";
  const recordExit = (): void => {
    previousOutput = running?.output() ?? previousOutput;
    running = undefined;
  };
  return {
    name: `instance${index + 1}`,
    url,
    async kill() {
      await running?.kill("SIGKILL");
      recordExit();
    },
    async terminate() {
      await running?.kill("SIGTERM");
      recordExit();
    },
    async start(entry) {
      const command = [process.execPath, ...(entry ?? entryArguments()), "serve", "--teams", "--port", String(port)];
      const started = launchProcess(isWrapped ? [...PID_NAMESPACE_COMMAND, ...command] : command, {
        env: { ...bareEnvironment(home), ...options.env },
        isWrapped,
      });
      running = started;
      for (let checks = 1; !(await isReadyAt(url)); checks++) {
        if (!started.isRunning()) throw new Error(`an instance has ended: ${started.output()}`);
        if (checks > MAX_READINESS_CHECKS)
          throw new Error(`an instance is not ready: ${await describeReadiness(url)}; ${started.output()}`);
        await sleep(READINESS_INTERVAL_MS);
      }
    },
    signal: (name) => running?.signal(name),
    isReady: () => isReadyAt(url),
    pid: () => running?.targetPid() ?? 0,
    output: () => running?.output() ?? previousOutput,
  };
}

/** Starts all instances and waits until they are ready. They keep their ports when they are restarted. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const home = mkdtempSync(join(tmpdir(), "mic-mcp-fleet-"));
  const ports = await Promise.all(Array.from({ length: options.instances }, freePort));
  const instances = ports.map((port, index) => createInstance(port, index, home, options));
  const stop = async (): Promise<void> => {
    await Promise.all(instances.map((each) => each.kill()));
    rmSync(home, { recursive: true, force: true });
  };
  try {
    // The first instance migrates the tables if necessary.
    for (const each of instances) await each.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return { instances, stop };
}
