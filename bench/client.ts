// A minimal MCP client over stdio, so that the benchmark measures the server and not the client.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

export interface Command {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Reply {
  /** The received line, without its line break. */
  readonly line: string;
}

export interface Client {
  readonly pid: number;
  request(method: string, params?: object): Promise<Reply>;
  /** Ends stdin; resolves when the process has exited. */
  close(): Promise<void>;
}

const INITIALIZE = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "bench", version: "1" },
};

function createStdioClient(child: ChildProcess): Client {
  const { stdin, stdout, pid } = child;
  if (stdin === null || stdout === null || pid === undefined) throw new Error("not started");
  const pendingRequests = new Map<number, { resolve: (reply: Reply) => void; reject: (error: Error) => void }>();
  let lastId = 0;
  let partialLine: Buffer[] = [];

  function handleLine(line: string): void {
    // The id is near the end or near the start: parsing 150 KB only for the id would add cost to the client, not to the server.
    const id = /"id":(\d+)[,}]/.exec(line.slice(0, 60)) ?? /"id":(\d+)\}$/.exec(line.slice(-40));
    if (!id) return;
    pendingRequests.get(Number(id[1]))?.resolve({ line });
    pendingRequests.delete(Number(id[1]));
  }
  stdout.on("data", (chunk: Buffer) => {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      partialLine.push(chunk.subarray(from, end));
      handleLine(Buffer.concat(partialLine).toString());
      partialLine = [];
      from = end + 1;
    }
    if (from < chunk.length) partialLine.push(chunk.subarray(from));
  });
  child.once("exit", () => {
    for (const { reject } of pendingRequests.values()) reject(new Error("the server has ended"));
  });
  stdin.on("error", () => undefined);
  return {
    pid,
    request(method, params) {
      const id = ++lastId;
      stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      return new Promise((resolve, reject) => pendingRequests.set(id, { resolve, reject }));
    },
    async close() {
      if (child.exitCode !== null) return;
      const exited = once(child, "exit");
      stdin.end();
      const killTimer = setTimeout(() => child.kill("SIGKILL"), 3_000);
      await exited;
      clearTimeout(killTimer);
    },
  };
}

/**
 * Starts a server and initializes the connection. As with most MCP clients, the server gets no environment except PATH, HOME and
 * `env`.
 */
export async function connect({ args, env }: Command): Promise<Client> {
  const child = spawn(process.execPath, args, {
    stdio: ["pipe", "pipe", "ignore"],
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
  });
  const client = createStdioClient(child);
  const ready = client.request("initialize", INITIALIZE);
  const failed = once(child, "error").then(([error]) => {
    throw error;
  });
  await Promise.race([ready, failed]);
  child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  return client;
}
