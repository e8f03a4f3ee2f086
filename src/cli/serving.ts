// What a transport of `mic-mcp serve` does, whichever it is.
import type { Runtime } from "../mcp/runtime.ts";

/** Resolves, when serving should stop, with a function that closes the protocol. Rejects when serving cannot begin. */
export type Serving = (runtime: Runtime) => Promise<() => Promise<void>>;
