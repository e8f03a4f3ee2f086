// Starts the built server over HTTP in a separate process, with its URL and a function that kills it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import * as z from "zod/v4";
import { launch } from "../stdio/child.ts";

const Started = z.strictObject({ url: z.url() });

interface HttpProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments after `serve --http`. */
  readonly args?: readonly string[];
}

/** Starts a server with a new journal, unless `env` names one. The caller must kill it. */
export async function launchHttp({ env = {}, args = [] }: HttpProgramOptions = {}) {
  const stateDir = await mkdtemp(join(tmpdir(), "mic-mcp-state-"));
  const program = launch(["serve", "--http", ...args], { env: { MIC_STATE_DIR: stateDir, ...env } });
  const { url } = Started.parse(await program.next());
  return {
    ...program,
    url,
    async kill() {
      program.process.kill("SIGKILL");
      await program.exit;
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

/** Starts a server that is killed when the running test ends. */
export async function startHttp(options: HttpProgramOptions = {}) {
  const program = await launchHttp(options);
  onTestFinished(program.kill);
  return program;
}
