// The server inside the test's own process, on streams in memory: composed and served as the command does it, without the
// start of a process. What is proven of processes, of their pipes, deaths and logs, starts the built one (child.ts, server.ts).
import { PassThrough, Transform } from "node:stream";
import { onTestFinished } from "vitest";
import { serveOnHttp } from "../../src/transports/http/serve.ts";
import { serveOnStdio } from "../../src/transports/stdio/serve.ts";
import { composeForTest } from "./compose.ts";

// Each composition's log listens to it.
process.stderr.setMaxListeners(0);

/** As from a pipe, the reader gets a thing after its writer knows that it has left. */
class Pipe extends Transform {
  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    done();
    setImmediate(() => this.destroyed || this.push(chunk));
  }
}

export interface InProcessStdio {
  readonly stdin: PassThrough;
  readonly stdout: Transform;
  /** Ends it in good order, everything written down. */
  close(): Promise<void>;
}

export function serveInProcess(env: Readonly<Record<string, string>>): InProcessStdio {
  const { runtime, close } = composeForTest(env);
  const [stdin, stdout] = [new PassThrough(), new Pipe()];
  const closeProtocol = serveOnStdio(runtime, { stdin, stdout });
  return {
    stdin,
    stdout,
    async close() {
      // A client that lives after an answer has read it: nobody has to look for its death.
      if (!stdin.destroyed)
        stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/roots/list_changed" })}\n`);
      await new Promise((resolve) => setImmediate(resolve));
      await closeProtocol();
      await close();
      stdout.destroy();
    },
  };
}

/** The same over HTTP: its URL. Ended when the running test is done. */
export async function serveHttpInProcess(env: Readonly<Record<string, string>>): Promise<string> {
  const { runtime, close } = composeForTest(env);
  const { url, drain } = await serveOnHttp(runtime, "127.0.0.1", 0);
  onTestFinished(async () => {
    await drain(0, AbortSignal.abort());
    await close();
  });
  return url;
}
