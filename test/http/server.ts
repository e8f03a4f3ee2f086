// The built server over HTTP, in a process of its own: its URL, and its end in our hands.
import * as z from "zod/v4";
import { type Program, start } from "../process/child.ts";

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
