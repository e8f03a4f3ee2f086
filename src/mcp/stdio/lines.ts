// Cuts bytes into lines. It never holds a line that is too long: it hands on that line's two ends.

const NEWLINE = 0x0a;
/** Enough to find a request's id in. */
export const END_BYTES = 4_096;
const FIRST_ROOM_BYTES = 64 * 1024;

export interface LongLine {
  readonly bytes: number;
  readonly head: string;
  readonly tail: string;
}

export interface LineHandler {
  /** Without its newline. */
  line(text: string): void;
  longLine(line: LongLine): void;
}

/** Returns a function that takes chunks. A last line without a newline does not count. */
export function createLines(maxBytes: number, handler: LineHandler): (chunk: Buffer) => void {
  // The line so far: `used` bytes of `room`. Of a long one, only the last bytes.
  let room = Buffer.allocUnsafe(FIRST_ROOM_BYTES);
  let used = 0;
  let long: { bytes: number; readonly head: string } | undefined;

  function hold(part: Buffer): void {
    if (used + part.length > room.length) {
      const larger = Buffer.allocUnsafe(Math.max(room.length * 2, used + part.length));
      room.copy(larger, 0, 0, used);
      room = larger;
    }
    part.copy(room, used);
    used += part.length;
  }

  function holdEnd(part: Buffer): void {
    const end = part.subarray(-END_BYTES);
    const before = room.subarray(used - Math.min(used, END_BYTES - end.length), used);
    if (room.length > FIRST_ROOM_BYTES) room = Buffer.allocUnsafe(FIRST_ROOM_BYTES);
    used = before.copy(room);
    hold(end);
  }

  function add(part: Buffer): void {
    if (!long && used + part.length > maxBytes) {
      const head = Buffer.concat([room.subarray(0, Math.min(used, END_BYTES)), part.subarray(0, END_BYTES)]);
      long = { bytes: used, head: head.toString("utf8", 0, END_BYTES) };
    }
    if (long) {
      long.bytes += part.length;
      holdEnd(part);
    } else hold(part);
  }

  function end(): void {
    const text = room.toString("utf8", 0, used);
    const tooLong = long;
    used = 0;
    long = undefined;
    if (room.length > FIRST_ROOM_BYTES) room = Buffer.allocUnsafe(FIRST_ROOM_BYTES);
    if (tooLong) handler.longLine({ ...tooLong, tail: text });
    else handler.line(text);
  }

  return (chunk) => {
    let rest = chunk;
    for (let at = rest.indexOf(NEWLINE); at !== -1; at = rest.indexOf(NEWLINE)) {
      add(rest.subarray(0, at));
      rest = rest.subarray(at + 1);
      end();
    }
    if (rest.length > 0) add(rest);
  };
}
