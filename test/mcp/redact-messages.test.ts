// Tests the redaction of outgoing messages: secrets are removed from each message, and everything else is unchanged.
import fc from "fast-check";
import { expect, test } from "vitest";
import { createRedactor } from "../../src/credentials/redaction.ts";
import { createRedact, redactEvents } from "../../src/mcp/messages.ts";

const redactorFor = (secret: string) => {
  const redactor = createRedactor();
  redactor.add(secret);
  return createRedact(redactor);
};

const secret = fc.string({ minLength: 6, maxLength: 20, unit: "grapheme" }).filter((text) => text.trim().length >= 6);

test("a message without a secret is unchanged", () => {
  fc.assert(fc.property(fc.json(), (json) => redactorFor("s3cr3t-0123456789")(json) === json));
});

test("a secret is redacted in names and values, at any depth, quoted or not", () => {
  fc.assert(
    fc.property(secret, fc.nat(3), (text, nesting) => {
      let quoted = `<${text}>`;
      for (let n = 0; n < nesting; n++) quoted = JSON.stringify({ inner: quoted });
      const message = { jsonrpc: "2.0", id: 7, result: { [quoted]: [[{ deep: quoted }]], plain: "plain" } };
      const redactedJson = redactorFor(text)(JSON.stringify(message));
      expect(redactedJson).toContain("[redacted]");
      expect(JSON.parse(redactedJson)).toMatchObject({ jsonrpc: "2.0", id: 7 });
      // The result does not contain the secret, even if it is unescaped as often as it was quoted.
      let strings = JSON.stringify(JSON.parse(redactedJson));
      for (let n = 0; n <= nesting; n++) {
        expect(strings.includes(`<${text}>`)).toBe(false);
        strings = strings.replaceAll(/\\(.)/g, "$1");
      }
    }),
  );
});

const error = (id: string, message: string) => ({ jsonrpc: "2.0", id, error: { code: -32_000, message } });
const result = (text: string) => ({ jsonrpc: "2.0", id: 1_234_567, result: { bytes: 91_234_569, text } });
const progress = (message: string) => ({ jsonrpc: "2.0", method: "notifications/progress", params: { message } });

test.each<readonly [string, string, object, object]>([
  ["numbers", "123456", result("at 123456."), result("at [redacted].")],
  ["the id of the client's request", "s3cr3t", error("my-s3cr3t-id", "s3cr3t"), error("my-s3cr3t-id", "[redacted]")],
  [
    "the ids of a batch",
    "s3cr3t",
    [error("s3cr3t", "s3cr3t"), result("")],
    [error("s3cr3t", "[redacted]"), result("")],
  ],
  ["protocol words", "jsonrpc", result("a jsonrpc"), result("a [redacted]")],
  ["protocol words", "result", result("a result"), result("a [redacted]")],
  ["protocol words", "method", progress("method"), progress("[redacted]")],
  ["protocol words", "notifications", progress("notifications"), progress("[redacted]")],
])("redaction keeps %s (secret: %s)", (_, text, message, expected) => {
  expect(JSON.parse(redactorFor(text)(JSON.stringify(message)))).toEqual(expected);
});

test("each event in a chunk of an event stream is redacted and stays an event", () => {
  const event = (text: string) => `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", params: { text } })}\n\n`;
  const redact = redactorFor('odd"s3cr3t\\');
  expect(redactEvents(`${event('a odd"s3cr3t\\ b')}${event("plain")}: ping\n\n`, redact)).toBe(
    `${event("a [redacted] b")}${event("plain")}: ping\n\n`,
  );
});
