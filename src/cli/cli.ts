#!/usr/bin/env node
// This entry point checks the Node version, keeps stray output off stdout, and loads the program.
import { enableCodeCache } from "./code-cache.ts";
import { onSignal } from "./signals.ts";

const MINIMUM = [20, 19] as const;
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < MINIMUM[0] || (major === MINIMUM[0] && minor < MINIMUM[1])) {
  process.stderr.write(`mic-mcp needs Node ${MINIMUM.join(".")} or newer; this is ${process.versions.node}.\n`);
  process.exit(2);
}
// stdout carries the protocol: stray output from a dependency would corrupt it.
console.log = console.info = console.debug = console.error;
let isOutputLost = false;
process.stdout.on("error", (error) => {
  // A reader that closes stdout early is not an error: the command finishes its work.
  if (isOutputLost || ("code" in error && error.code === "EPIPE")) return;
  isOutputLost = true;
  process.exitCode = 1;
  process.stderr.write(`mic-mcp: the output could not be written: ${error.message}.\n`);
});

const argv = process.argv.slice(2);
const [command = "serve"] = argv;
// Handles signals until the server installs its own handlers, because loading the server takes a moment.
if (command === "serve" || command.startsWith("-")) onSignal(() => process.exit(0));

enableCodeCache(process.env);
// Not awaited, because the build is CommonJS, which has no top-level await.
import("./main.ts").then(async ({ main }) => {
  const code = await main(argv, process.env);
  process.exitCode = isOutputLost ? 1 : code;
});
