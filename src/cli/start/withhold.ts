// What the start has answered, the server answers once more: that is taken out of stdout, where nobody can tell.
import type { Writable } from "node:stream";

type Done = (error?: Error | null) => void;

const OURS = `mic-mcp-start-${process.pid}-`;
/** Ids that no client has: under them the start asks the server what it has answered itself. */
export const idOfOurs = (count: number): string => `${OURS}${count}`;
export const isIdOfOurs = (id: string | number): boolean => typeof id === "string" && id.startsWith(OURS);

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** The id that this line answers, if it is one of ours. */
function answeredBy(line: string): unknown {
  const message = line.includes(OURS) ? parse(line) : undefined;
  const isAnswer = typeof message === "object" && message !== null && "id" in message && !("method" in message);
  return isAnswer ? message.id : undefined;
}

/** Takes the answers to these requests out of a stream of lines, whose ends alone may come apart; then it steps aside. */
export function withhold(stream: Writable, requests: readonly string[]): void {
  const ids = new Set<unknown>(requests);
  if (ids.size === 0) return;
  const { write } = stream;
  let isAtStart = true;
  let isWithheld = false;

  function keep(text: string): string {
    let kept = "";
    for (const piece of text.split(/(?<=\n)/)) {
      if (isAtStart) isWithheld = ids.delete(answeredBy(piece));
      if (!isWithheld) kept += piece;
      isAtStart = piece.endsWith("\n");
    }
    return kept;
  }

  stream.write = (chunk: Uint8Array | string, encoding?: BufferEncoding | Done, done?: Done): boolean => {
    const written = typeof encoding === "function" ? encoding : done;
    const kept = keep(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString());
    if (ids.size === 0 && isAtStart) stream.write = write;
    if (kept !== "") return write.call(stream, kept, "utf8", written);
    if (written) process.nextTick(written);
    return !stream.writableNeedDrain;
  };
}
