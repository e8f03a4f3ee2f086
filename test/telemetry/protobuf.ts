// Decodes OTLP messages from protobuf, as far as the tests read them. The field numbers are those of opentelemetry-proto 1.x.

/** How a field is decoded: a scalar, a message, or a list of messages. */
type Field = readonly [name: string, kind: "text" | "bytes" | "number" | "double" | "bool" | Message, isList?: boolean];
interface Message {
  readonly [fieldNumber: number]: Field;
}

const Value: Message = {
  1: ["stringValue", "text"],
  2: ["boolValue", "bool"],
  3: ["intValue", "number"],
  4: ["doubleValue", "double"],
};
const Attribute: Message = { 1: ["key", "text"], 2: ["value", Value] };
const Link: Message = { 1: ["traceId", "bytes"], 2: ["spanId", "bytes"] };
const Status: Message = { 2: ["message", "text"], 3: ["code", "number"] };
const Span: Message = {
  1: ["traceId", "bytes"],
  2: ["spanId", "bytes"],
  4: ["parentSpanId", "bytes"],
  5: ["name", "text"],
  6: ["kind", "number"],
  9: ["attributes", Attribute, true],
  13: ["links", Link, true],
  15: ["status", Status],
};
const NumberPoint: Message = { 4: ["asDouble", "double"], 6: ["asInt", "number"], 7: ["attributes", Attribute, true] };
const HistogramPoint: Message = { 4: ["count", "number"], 9: ["attributes", Attribute, true] };
const Metric: Message = {
  1: ["name", "text"],
  5: ["gauge", { 1: ["dataPoints", NumberPoint, true] }],
  7: ["sum", { 1: ["dataPoints", NumberPoint, true] }],
  9: ["histogram", { 1: ["dataPoints", HistogramPoint, true] }],
};
const LogRecord: Message = {
  3: ["severityText", "text"],
  5: ["body", Value],
  6: ["attributes", Attribute, true],
  9: ["traceId", "bytes"],
  10: ["spanId", "bytes"],
};

const inScopes = (resources: string, scopes: string, items: string, item: Message): Message => ({
  1: [resources, { 2: [scopes, { 2: [items, item, true] }, true] }, true],
});
const requests: Readonly<Record<string, Message>> = {
  "/v1/traces": inScopes("resourceSpans", "scopeSpans", "spans", Span),
  "/v1/metrics": inScopes("resourceMetrics", "scopeMetrics", "metrics", Metric),
  "/v1/logs": inScopes("resourceLogs", "scopeLogs", "logRecords", LogRecord),
};

function readVarint(bytes: Buffer, start: number): { readonly value: bigint; readonly end: number } {
  let value = 0n;
  for (let at = start, shift = 0n; ; at += 1, shift += 7n) {
    const byte = bytes.readUInt8(at);
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return { value: BigInt.asIntN(64, value), end: at + 1 };
  }
}

/** The bytes of one field; a varint as 8 bytes, little-endian. */
interface RawField {
  readonly number: number;
  readonly content: Buffer;
}

/** Throws RangeError if the message is truncated, and Error if it has a group, which OTLP does not use. */
function* readFields(bytes: Buffer): Generator<RawField> {
  for (let at = 0; at < bytes.length; ) {
    const tag = readVarint(bytes, at);
    const number = Number(tag.value >> 3n);
    const wireType = Number(tag.value & 7n);
    if (wireType === 0) {
      const { value, end } = readVarint(bytes, tag.end);
      const content = Buffer.alloc(8);
      content.writeBigInt64LE(value);
      yield { number, content };
      at = end;
      continue;
    }
    const size = wireType === 2 ? readVarint(bytes, tag.end) : undefined;
    const start = size?.end ?? tag.end;
    if (size === undefined && wireType !== 1 && wireType !== 5) throw new Error(`wire type ${wireType}`);
    const end = start + (size === undefined ? (wireType === 1 ? 8 : 4) : Number(size.value));
    if (end > bytes.length) throw new RangeError("truncated message");
    yield { number, content: bytes.subarray(start, end) };
    at = end;
  }
}

function decodeField(content: Buffer, kind: Field[1]): unknown {
  if (typeof kind === "object") return decodeMessage(content, kind);
  if (kind === "text") return content.toString();
  if (kind === "bytes") return content.toString("base64");
  if (kind === "double") return content.readDoubleLE();
  const number = Number(content.readBigInt64LE());
  return kind === "bool" ? number !== 0 : number;
}

function decodeMessage(bytes: Buffer, message: Message): Readonly<Record<string, unknown>> {
  const decoded: Record<string, unknown> = {};
  for (const { number, content } of readFields(bytes)) {
    const [name, kind, isList = false] = message[number] ?? [];
    if (name === undefined || kind === undefined) continue;
    const value = decodeField(content, kind);
    decoded[name] = isList ? [...[decoded[name] ?? []].flat(), value] : value;
  }
  return decoded;
}

/** Decodes the body of an export request. `path`: /v1/traces, /v1/metrics or /v1/logs. */
export function decodeExport(path: string, bytes: Buffer): unknown {
  const message = requests[path];
  if (message === undefined) throw new Error(`${path} is not a path of OTLP`);
  return decodeMessage(bytes, message);
}
