#!/usr/bin/env node
// Entry point. Before anything else is loaded: is this Node new enough, and stdout belongs to the protocol.
const MINIMUM = [20, 19] as const;
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < MINIMUM[0] || (major === MINIMUM[0] && minor < MINIMUM[1])) {
  process.stderr.write(`mic-mcp needs Node ${MINIMUM.join(".")} or newer; this is ${process.versions.node}.\n`);
  process.exit(2);
}
// A stray print of any dependency would break the protocol.
console.log = console.info = console.debug = console.error;

// Not awaited: what is built is CommonJS, since its loader is there already when a program starts.
import("./start/start.ts").then(({ start }) => start(process.argv.slice(2), process.env));
