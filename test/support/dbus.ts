// Implements the part of the D-Bus wire protocol that owns a name and looks up an owner (D-Bus specification, "Message
// Protocol"). The mute keychain therefore needs no library and no other language.
import { createConnection, type Socket } from "node:net";

export interface BusConnection {
  /** Calls a method of the bus itself. Returns true for a method return and false for an error. */
  call(member: string, ...args: readonly (string | number)[]): Promise<boolean>;
  close(): void;
}

const METHOD_RETURN = 2;
const ERROR = 3;
const BUS = "org.freedesktop.DBus";

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const text = (value: string): Buffer => Buffer.concat([uint32(Buffer.byteLength(value)), Buffer.from(`${value}\0`)]);

/** Appends a part at the next multiple of `alignment` bytes from the start. */
const append = (bytes: Buffer, alignment: number, part: Buffer): Buffer =>
  Buffer.concat([bytes, Buffer.alloc(-bytes.length & (alignment - 1)), part]);

const EMPTY: Buffer = Buffer.alloc(0);

/** A method call in little-endian byte order. */
function methodCall(serial: number, member: string, args: readonly (string | number)[]): Buffer {
  const body = args.reduce<Buffer>(
    (bytes, arg) => append(bytes, 4, typeof arg === "string" ? text(arg) : uint32(arg)),
    EMPTY,
  );
  const field = (code: number, type: string, value: Buffer) =>
    Buffer.concat([Buffer.from([code, 1]), Buffer.from(`${type}\0`), value]);
  const signature = args.map((arg) => (typeof arg === "string" ? "s" : "u")).join("");
  const fields = [
    field(1, "o", text("/org/freedesktop/DBus")),
    field(2, "s", text(BUS)),
    field(3, "s", text(member)),
    field(6, "s", text(BUS)),
    ...(signature === "" ? [] : [field(8, "g", Buffer.from(`${String.fromCharCode(signature.length)}${signature}\0`))]),
  ].reduce<Buffer>((bytes, part) => append(bytes, 8, part), EMPTY);
  const start = Buffer.from([0x6c, 1, 0, 1]);
  const header = Buffer.concat([start, ...[body.length, serial, fields.length].map(uint32), fields]);
  return append(header, 8, body);
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
