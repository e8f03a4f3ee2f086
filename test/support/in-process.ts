// Runs the server in the test's own process, on streams in memory, composed and served as by the command.
import { PassThrough, Transform } from "node:stream";
import { onTestFinished } from "vitest";
import { serveOnHttp } from "../../src/transports/http/serve.ts";
import { serveOnStdio } from "../../src/transports/stdio/serve.ts";
import { composeForTest } from "./compose.ts";

// The log of each composition adds a listener.
process.stderr.setMaxListeners(0);

/** As with a pipe, the reader gets a chunk only after the writer was notified that it was written. */
class Pipe extends Transform {
  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    done();
    setImmediate(() => this.destroyed || this.push(chunk));
  }
}

export function serveInProcess(env: Readonly<Record<string, string>>) {
  const { runtime, close } = composeForTest(env);
  const [stdin, stdout] = [new PassThrough(), new Pipe()];
  const closeProtocol = serveOnStdio(runtime, { stdin, stdout });
  return {
    stdin,
    stdout,
    /** Ends the server in an orderly way, with everything written. */
    async close() {
      // A message from the client after an answer shows that it has read the answer.
      if (!stdin.destroyed)
        stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/roots/list_changed" })}\n`);
      await new Promise((resolve) => setImmediate(resolve));
      await closeProtocol();
      await close();
      stdout.destroy();
    },
  };
}

/** Serves the same over HTTP and returns its URL. Without MIC_HTTP_TOKEN, it requires no token. It ends with the running test. */
export async function serveHttpInProcess(env: Readonly<Record<string, string>>): Promise<string> {
  const { runtime, close } = composeForTest(env);
  const { httpToken } = runtime.config;
  const access = httpToken === undefined ? undefined : { token: httpToken };
  const { url, drain } = await serveOnHttp(runtime, { address: "127.0.0.1", port: 0, access });
  onTestFinished(async () => {
    await drain(0, AbortSignal.abort());
    await close();
  });
  return url;
}
