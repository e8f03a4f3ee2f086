// Runs commands of the built program in the test's own process, which takes much less time than to start it. Tests about processes, signals,
// pipes and terminals start the built program instead (test/mcp/stdio/child.ts).
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { createEmptyHome } from "./empty-home.ts";
import { bareEnvironment } from "./mcp.ts";

const require = createRequire(import.meta.url);

interface Options {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

async function execute(args: readonly string[], { env = {}, input = "" }: Options) {
  const { main }: typeof import("../../src/cli/main.ts") = require("../../dist/main.js");
  const home = createEmptyHome();
  const environment = { ...bareEnvironment(env["HOME"] ?? home.path), ...env };
  const output = { stdout: "", stderr: "" };
  const streams = (["stdout", "stderr"] as const).map((name) => {
    const { write } = process[name];
    process[name].write = (chunk: unknown, ...rest: readonly unknown[]) => {
      output[name] += chunk;
      for (const done of rest) if (typeof done === "function") done();
      return true;
    };
    return { name, write };
  });
  const stdin = Object.getOwnPropertyDescriptor(process, "stdin") ?? {};
  Object.defineProperty(process, "stdin", { configurable: true, value: Readable.from([Buffer.from(input)]) });
  const { env: previousEnvironment } = process;
  process.env = environment;
  try {
    return { code: await main(args, environment), ...output };
  } finally {
    process.env = previousEnvironment;
    Object.defineProperty(process, "stdin", stdin);
    for (const { name, write } of streams) process[name].write = write;
    home.remove();
  }
}

let previous: Promise<unknown> = Promise.resolve();

/**
 * Runs `mic-mcp <args>` with an environment of PATH, HOME (an empty folder), MIC_KEYCHAIN=off and `env`: one at a time. A server that starts
 * would end the test's process.
 */
export function runInProcess(args: readonly string[], options: Options = {}): ReturnType<typeof execute> {
  const next = previous.then(() => execute(args, options));
  previous = next.catch(() => undefined);
  return next;
}
