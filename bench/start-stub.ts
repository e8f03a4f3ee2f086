// Starts the stub service in a separate process.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface Stub {
  readonly url: string;
  stop(): Promise<void>;
}

/** `latencyMs`: delay before each response, in milliseconds (default 0). */
export async function startStub(latencyMs = 0): Promise<Stub> {
  const stub = spawn(
    process.execPath,
    ["--import", "tsx", new URL("stub.ts", import.meta.url).pathname, String(latencyMs)],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const [line] = await once(createInterface(stub.stdout), "line");
  const { url } = JSON.parse(String(line));
  return {
    url: String(url),
    async stop() {
      const exited = once(stub, "exit");
      stub.stdin.end();
      await exited;
    },
  };
}
