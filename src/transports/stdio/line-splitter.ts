// Splits a byte stream into lines. Only the two ends of an overlong line are kept in memory.

const NEWLINE = 0x0a;
/** Size of each kept end: enough to find the id of a request. */
const END_BYTES = 4_096;
const FIRST_BUFFER_BYTES = 64 * 1024;

/**
 * Returns a function that takes chunks. `onLine` gets each line without its newline, and its length in bytes. If a line has more than
 * `maxBytes`, `text` consists of only its two ends. A last line without a newline is ignored.
 */
export function createLineSplitter(
  maxBytes: number,
  onLine: (text: string, bytes: number) => void,
): (chunk: Buffer) => void {
  let buffer = Buffer.allocUnsafe(FIRST_BUFFER_BYTES);
  let used = 0;
  let bytes = 0;

  function append(part: Buffer): void {
    if (used + part.length > buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, used + part.length));
      buffer.copy(larger, 0, 0, used);
      buffer = larger;
    }
    used += part.copy(buffer, used);
  }

  function reset(): void {
    used = 0;
    if (buffer.length > FIRST_BUFFER_BYTES) buffer = Buffer.allocUnsafe(FIRST_BUFFER_BYTES);
  }

  function add(part: Buffer): void {
    bytes += part.length;
    if (bytes <= maxBytes) {
      append(part);
      return;
    }
    const all = Buffer.concat([buffer.subarray(0, used), part]);
    reset();
    append(all.subarray(0, END_BYTES));
    append(all.subarray(Math.max(END_BYTES, all.length - END_BYTES)));
  }

  return (chunk) => {
    let rest = chunk;
    for (let at = rest.indexOf(NEWLINE); at !== -1; at = rest.indexOf(NEWLINE)) {
      add(rest.subarray(0, at));
      rest = rest.subarray(at + 1);
      const [text, length] = [buffer.toString("utf8", 0, used), bytes];
      reset();
      bytes = 0;
      onLine(text, length);
    }
    if (rest.length > 0) add(rest);
  };
}
