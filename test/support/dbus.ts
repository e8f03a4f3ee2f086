// Implements the part of the D-Bus wire protocol that owns a name and looks up an owner (D-Bus specification, "Message
// Protocol"). The mute keychain therefore needs no library and no other language.
import { createConnection, type Socket } from "node:net";

export interface BusConnection {
  /** Calls a method of the bus itself. Returns true for a method return and false for an error. */
  call(member: string, ...args: readonly (string | number)[]): Promise<boolean>;
  close(): void;
}

const METHOD_CALL = 1;
const METHOD_RETURN = 2;
const ERROR = 3;
const BUS = "org.freedesktop.DBus";

/** Little-endian marshaling. Every alignment counts from the first byte of the message. */
class Marshal {
  private bytes: number[] = [];

  align(to: number): this {
    while (this.bytes.length % to !== 0) this.bytes.push(0);
    return this;
  }
  byte(...values: readonly number[]): this {
    this.bytes.push(...values);
    return this;
  }
  uint32(value: number): this {
    this.align(4);
    return this.byte(value & 255, (value >>> 8) & 255, (value >>> 16) & 255, value >>> 24);
  }
  string(text: string): this {
    const utf8 = Buffer.from(text);
    return this.uint32(utf8.length).byte(...utf8, 0);
  }
  signature(text: string): this {
    return this.byte(text.length, ...Buffer.from(text), 0);
  }
  append(other: Marshal): this {
    return this.byte(...other.bytes);
  }
  get length(): number {
    return this.bytes.length;
  }
  toBuffer(): Buffer {
    return Buffer.from(this.bytes);
  }
}

function methodCall(serial: number, member: string, args: readonly (string | number)[]): Buffer {
  const body = new Marshal();
  for (const arg of args) typeof arg === "string" ? body.string(arg) : body.uint32(arg);
  const fields = new Marshal();
  const field = (code: number, type: "s" | "o", value: string) =>
    fields.align(8).byte(code).signature(type).string(value);
  field(1, "o", "/org/freedesktop/DBus");
  field(2, "s", BUS);
  field(3, "s", member);
  field(6, "s", BUS);
  if (args.length > 0)
    fields
      .align(8)
      .byte(8)
      .signature("g")
      .signature(args.map((arg) => (typeof arg === "string" ? "s" : "u")).join(""));
  const message = new Marshal().byte(0x6c, METHOD_CALL, 0, 1).uint32(body.length).uint32(serial).uint32(fields.length);
  return message.append(fields).align(8).append(body).toBuffer();
}

interface Reply {
  readonly type: number;
  /** Serial of the call that it answers. */
  readonly serial: number | undefined;
}

/** Returns the first complete message in the bytes, and the offset of the next one. */
function readMessage(bytes: Buffer): { reply: Reply; end: number } | undefined {
  if (bytes.length < 16) return undefined;
  const fieldsLength = bytes.readUInt32LE(12);
  const end = Math.ceil((16 + fieldsLength) / 8) * 8 + bytes.readUInt32LE(4);
  if (bytes.length < end) return undefined;
  // The field REPLY_SERIAL: code 5, signature "u", value at the next multiple of 4.
  const at = bytes.subarray(16, 16 + fieldsLength).indexOf(Buffer.from([5, 1, 0x75, 0]));
  return { reply: { type: bytes[1] ?? 0, serial: at < 0 ? undefined : bytes.readUInt32LE(16 + at + 4) }, end };
}

async function authenticate(socket: Socket): Promise<void> {
  const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString("hex");
  const answered = new Promise<string>((resolve, reject) => {
    socket.once("data", (data) => resolve(data.toString()));
    socket.once("error", reject);
  });
  socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
  const answer = await answered;
  if (!answer.startsWith("OK ")) throw new Error(`the bus refused us: ${answer}`);
  socket.write("BEGIN\r\n");
}

/** Connects to the bus at a socket. Calls of other clients are never answered. */
export async function connectToBus(path: string): Promise<BusConnection> {
  const socket = createConnection(path);
  await authenticate(socket);
  const waiting = new Map<number, (returned: boolean) => void>();
  let pending = Buffer.alloc(0);
  let serial = 0;
  socket.on("error", () => undefined);
  socket.on("data", (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    for (let message = readMessage(pending); message; message = readMessage(pending)) {
      pending = pending.subarray(message.end);
      const { type, serial: answers } = message.reply;
      if (answers !== undefined && (type === METHOD_RETURN || type === ERROR))
        waiting.get(answers)?.(type === METHOD_RETURN);
    }
  });
  const connection: BusConnection = {
    call(member, ...args) {
      serial += 1;
      const mine = serial;
      const answered = new Promise<boolean>((resolve) => waiting.set(mine, resolve));
      socket.write(methodCall(mine, member, args));
      return answered;
    },
    close: () => socket.destroy(),
  };
  if (!(await connection.call("Hello"))) {
    connection.close();
    throw new Error("the bus accepts no more connections");
  }
  return connection;
}
