// A client of the newer era and the server in this process, with stdio's own transport on two pipes between them: for the many
// calls that are about what a tool does. What a program of its own is needed for (its start, its end, its limits) has mcp.ts.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { compose } from "../../src/cli/compose.ts";
import { readConfig } from "../../src/config.ts";
import { serveOnStdio } from "../../src/mcp/stdio/serve.ts";
import { bareEnvironment, type ClientFace, type ConnectOptions, openModern } from "./mcp.ts";

/** The client's end of the pipes. */
class PipeTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #toServer: PassThrough;
  readonly #fromServer: PassThrough;

  constructor(toServer: PassThrough, fromServer: PassThrough) {
    this.#toServer = toServer;
    this.#fromServer = fromServer;
  }

  async start(): Promise<void> {
    // Between two programs the writer hears of its write before the reader can answer.
    createInterface(this.#fromServer).on("line", (line) =>
      setImmediate(() => this.onmessage?.(deserializeMessage(line))),
    );
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#toServer.write(serializeMessage(message));
  }

  async close(): Promise<void> {
    this.#toServer.end();
    this.onclose?.();
  }
}

/** Starts a server that sees `env` and nothing else of this machine, and connects a client to it. */
export async function connectInProcess({ env = {}, person }: ConnectOptions = {}): Promise<ClientFace> {
  const home = await mkdtemp(join(tmpdir(), "mic-mcp-test-"));
  const folders = { MIC_STATE_DIR: join(home, "state"), MIC_DOWNLOAD_DIR: join(home, "downloads") };
  const config = readConfig({ ...bareEnvironment(home), ...folders, ...env });
  const server = compose({ ...config, loginFolder: home }, { notes: [], inProcess: false, keychainLimitMs: 1_000 });
  const [toServer, fromServer] = [new PassThrough(), new PassThrough()];
  const closeProtocol = serveOnStdio(server.runtime, { stdin: toServer, stdout: fromServer });
  const client = await openModern(new PipeTransport(toServer, fromServer), false, person);
  return {
    ...client,
    async close() {
      await client.close();
      // As a client that is gone: nobody reads any more.
      fromServer.destroy();
      await closeProtocol();
      await server.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}
