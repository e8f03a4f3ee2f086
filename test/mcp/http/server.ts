// Starts the built server over HTTP in a separate process, with its URL and a function that kills it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import * as z from "zod/v4";
import { launch } from "../stdio/child.ts";

const Started = z.strictObject({ url: z.url(), tokenFile: z.string().optional() });

interface HttpProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments after `serve --http`. */
  readonly args?: readonly string[];
}

/** Starts a server that requires a token. It has a new state folder, unless `env` names one. The caller must kill it. */
export async function launchHttp({ env = {}, args = [] }: HttpProgramOptions = {}) {
  const stateDir = await mkdtemp(join(tmpdir(), "mic-mcp-state-"));
  const program = launch(["serve", "--http", ...args], { env: { MIC_STATE_DIR: stateDir, ...env } });
  const started = Started.parse(await program.next());
  return {
    ...program,
    ...started,
    async kill() {
      program.process.kill("SIGKILL");
      await program.exit;
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

/** Starts a server that is killed when the running test ends. It requires no token, unless `env` names one. */
export async function startHttp({ env = {}, args = [] }: HttpProgramOptions = {}) {
  const open = "MIC_HTTP_TOKEN" in env ? [] : ["--no-token"];
  const program = await launchHttp({ env, args: [...open, ...args] });
  onTestFinished(program.kill);
  return program;
}
