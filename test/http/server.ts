// The built server over HTTP, in a process of its own: its URL, and its end in our hands.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import * as z from "zod/v4";
import { type Program, start } from "../process/child.ts";
import { credentials } from "../service/client.ts";
import { emulatorEnv } from "../support/mcp.ts";

const Started = z.strictObject({ url: z.url() });

export interface HttpProgram extends Program {
  readonly url: string;
}

interface HttpProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** After `serve --http`. */
  readonly args?: readonly string[];
  readonly under?: readonly string[];
}

/** Killed when the running test is done. */
export async function startHttp({ env = {}, args = [], under = [] }: HttpProgramOptions = {}): Promise<HttpProgram> {
  const program = start(["serve", "--http", ...args], { env, under });
  const { url } = Started.parse(await program.next());
  return { ...program, url };
}

/** Connects a server to a stub, with a journal of its own. */
export async function stubEnv({ baseUrl }: { readonly baseUrl: string }): Promise<Record<string, string>> {
  const stateDir = await mkdtemp(join(tmpdir(), "mic-mcp-state-"));
  onTestFinished(() => rm(stateDir, { recursive: true, force: true }));
  return { ...emulatorEnv({ baseUrl, ...credentials }), MIC_STATE_DIR: stateDir };
}
