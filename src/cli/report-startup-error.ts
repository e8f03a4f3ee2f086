// Reports why the server cannot start as the error of the client's first request, in every protocol revision. Most clients show that error,
// but not stderr.
import { createInterface } from "node:readline";

/** JSON-RPC's internal error. */
const INTERNAL_ERROR = -32603;

/** After an error the client may send the first request of another protocol revision. */
const NEXT_REQUEST_LIMIT_MS = 500;
/** In case there is no client. */
const FIRST_REQUEST_LIMIT_MS = 5_000;

/** The id of a request; undefined for other lines. */
function parseRequestId(line: string): string | number | undefined {
  try {
    const message: unknown = JSON.parse(line);
    if (typeof message !== "object" || message === null || !("method" in message) || !("id" in message))
      return undefined;
    return typeof message.id === "string" || typeof message.id === "number" ? message.id : undefined;
  } catch {
    return undefined;
  }
}

/** Resolves when the client has its answer, has disconnected, or has sent no request. */
export async function reportStartupError(reason: string): Promise<void> {
  if (process.stdin.isTTY) return;
  const lines = createInterface({ input: process.stdin });
  let timer: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    timer = setTimeout(resolve, FIRST_REQUEST_LIMIT_MS);
    lines.once("close", resolve);
    lines.on("line", (line) => {
      const id = parseRequestId(line);
      if (id === undefined) return;
      const error = { code: INTERNAL_ERROR, message: `mic-mcp is not started: ${reason}` };
      process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`);
      clearTimeout(timer);
      timer = setTimeout(resolve, NEXT_REQUEST_LIMIT_MS);
    });
  });
  clearTimeout(timer);
  lines.close();
  process.stdin.destroy();
}
