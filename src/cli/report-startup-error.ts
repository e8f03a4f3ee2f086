// Reports why the server cannot start as the error of the client's first request: most clients show that error, but not stderr.
import { createInterface } from "node:readline";
import { isJsonObject, parseJson } from "../contract/json.ts";

/** The code for an internal error (JSON-RPC 2.0, section 5.1). */
const INTERNAL_ERROR = -32603;

/** After an error, the client may send the first request of another protocol revision within this time. */
const NEXT_REQUEST_LIMIT_MS = 500;
/** The process ends after this time if no client sends a request. */
const FIRST_REQUEST_LIMIT_MS = 5_000;

function parseRequestId(line: string): string | number | undefined {
  const message = parseJson(line);
  if (!isJsonObject(message) || !("method" in message)) return undefined;
  const { id } = message;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

/** Answers requests with an error. Resolves 500 ms after the last answer, after 5 s without a request, or when the client disconnects. */
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
      const error = { code: INTERNAL_ERROR, message: `mic-mcp could not start: ${reason}` };
      process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`);
      clearTimeout(timer);
      timer = setTimeout(resolve, NEXT_REQUEST_LIMIT_MS);
    });
  });
  clearTimeout(timer);
  lines.close();
  process.stdin.destroy();
}
