// The keychain's own process: the addon can block for seconds or for ever, and a blocked server would be a dead one.
// Secrets come and go through the channel to the parent only. Its main thread passes messages on and never blocks, so that
// without the parent the process ends, whatever its thread waits for.
import { Worker } from "node:worker_threads";

function startThread(): Worker {
  if (!import.meta.url.endsWith(".ts")) return new Worker(new URL("./keychain-thread.js", import.meta.url));
  // From the sources: on Node 20 a thread does not take over what reads TypeScript for the process.
  const [api, thread] = [import.meta.resolve("tsx/esm/api"), new URL("./thread.ts", import.meta.url).href];
  const code = `import { register } from ${JSON.stringify(api)}; register(); await import(${JSON.stringify(thread)});`;
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`));
}

const thread = startThread();

// An ordinary exit would wait for a call that the keychain still holds.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
// The parent decides when it ends: a signal for the whole group (Ctrl-C) is the parent's business.
process.on("SIGINT", () => undefined);
process.on("message", (request) => thread.postMessage(request));
thread.on("message", (reply) => process.send?.(reply));
