// Runs several instances of the built server on fixed ports of this machine, which a test kills, stops and restarts.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";
import { bareEnvironment, entryArguments } from "./mcp.ts";
import { launchProcess, type RunningProcess } from "./process.ts";

const [UNSHARE, ...UNSHARE_OPTIONS] = ["unshare", "--pid", "--fork", "--kill-child"] as const;

/**
 * Reason why instances cannot have separate PID namespaces, as containers have; undefined if they can. Without namespaces an
 * instance detects at once that another one has died.
 */
export const namespacesMissing =
  spawnSync(UNSHARE, [...UNSHARE_OPTIONS, "true"]).status === 0 ? undefined : "needs root and PID namespaces";

export interface FleetOptions {
  readonly instances: number;
  readonly env: Readonly<Record<string, string>>;
  /** Runs each instance in a separate PID namespace, if this machine can. */
  readonly isolated?: boolean;
}

const READINESS_INTERVAL_MS = 50;
/** 60 s or more: then the start has failed. */
const MAX_READINESS_CHECKS = 1200;

const READY = /^200 /;
const readReadiness = (url: string): Promise<string> =>
  fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
    async (answer) => `${answer.status} ${await answer.text()}`,
    String,
  );

function createInstance(port: number, index: number, home: string, options: FleetOptions) {
  const isWrapped = options.isolated === true && namespacesMissing === undefined;
  const url = `http://127.0.0.1:${port}`;
  let running: RunningProcess | undefined;
  let previousOutput = "";
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    await running?.kill(signal);
    previousOutput = running?.output() ?? previousOutput;
    running = undefined;
  };
  return {
    name: `instance${index + 1}`,
    url,
    kill: () => end("SIGKILL"),
    terminate: () => end("SIGTERM"),
    /** Resolves when the instance is ready. `entry`: the entry point of another version (default: the built program). */
    async start(entry?: readonly string[]) {
      const command = [process.execPath, ...(entry ?? entryArguments()), "serve", "--teams", "--port", String(port)];
      const started = launchProcess(isWrapped ? [UNSHARE, ...UNSHARE_OPTIONS, ...command] : command, {
        env: { ...bareEnvironment(home), ...options.env },
        isWrapped,
      });
      running = started;
      for (let checks = 1; ; checks++) {
        const readiness = await readReadiness(url);
        if (READY.test(readiness)) return;
        if (!started.isRunning() || checks > MAX_READINESS_CHECKS)
          throw new Error(`an instance has ended or is not ready: ${readiness}; ${started.output()}`);
        await sleep(READINESS_INTERVAL_MS);
      }
    },
    signal: (name: NodeJS.Signals) => running?.signal(name),
    isReady: async () => READY.test(await readReadiness(url)),
    /** Id of the running process; 0 without one. */
    pid: () => running?.targetPid() ?? 0,
    output: () => running?.output() ?? previousOutput,
  };
}

/** Starts all instances and waits until they are ready. They keep their ports when they are restarted. */
export async function startFleet(options: FleetOptions) {
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
