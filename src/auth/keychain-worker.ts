// The keychain's own process: the addon can block for seconds or for ever, and a blocked server would be a dead one.
// Secrets come and go through the channel to the parent only. Its main thread passes messages on and never blocks, so that
// without the parent the process ends, whatever its thread waits for.
import { Worker } from "node:worker_threads";

const source = import.meta.url.endsWith(".ts");
const thread = new Worker(new URL(source ? "./keychain-thread.ts" : "./keychain-thread.js", import.meta.url));

// An ordinary exit would wait for a call that the keychain still holds.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
// The parent decides when it ends: a signal for the whole group (Ctrl-C) is the parent's business.
process.on("SIGINT", () => undefined);
process.on("message", (request) => thread.postMessage(request));
thread.on("message", (reply) => process.send?.(reply));
