// A server that cannot start says why where its client looks: as the error of the client's first request, in either protocol
// era. Clients show that; what stands on stderr they mostly do not.
import { createInterface } from "node:readline";

/** JSON-RPC's internal error. */
const INTERNAL_ERROR = -32603;

/** A client that has its answer may still ask what the other era begins with. */
const AFTER_ANSWER_MS = 500;
/** Nobody may be there. */
const WITHOUT_REQUEST_MS = 5_000;

/** The id of a request; undefined of anything else. */
function idOf(line: string): string | number | undefined {
  try {
    const message: unknown = JSON.parse(line);
    if (typeof message !== "object" || message === null || !("method" in message) || !("id" in message))
      return undefined;
    return typeof message.id === "string" || typeof message.id === "number" ? message.id : undefined;
  } catch {
    return undefined;
  }
}

/** Resolves when the client has its answer, has gone, or has not asked. */
export async function refuseClient(reason: string): Promise<void> {
  if (process.stdin.isTTY) return;
  const lines = createInterface({ input: process.stdin });
  let alarm: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    alarm = setTimeout(resolve, WITHOUT_REQUEST_MS);
    lines.once("close", resolve);
    lines.on("line", (line) => {
      const id = idOf(line);
      if (id === undefined) return;
      const error = { code: INTERNAL_ERROR, message: `mic-mcp is not started: ${reason}` };
      process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`);
      clearTimeout(alarm);
      alarm = setTimeout(resolve, AFTER_ANSWER_MS);
    });
  });
  clearTimeout(alarm);
  lines.close();
  process.stdin.destroy();
}
