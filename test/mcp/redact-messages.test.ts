// Tests the redaction of outgoing messages: secrets are removed from each message, and everything else is unchanged.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRedactor } from "../../src/credentials/redaction.ts";
import { createRedact, redactEvents } from "../../src/mcp/messages.ts";

const redactorFor = (...secrets: readonly string[]) => {
  const redactor = createRedactor();
  for (const secret of secrets) redactor.add(secret);
  return createRedact(redactor);
};

const secret = fc.string({ minLength: 6, maxLength: 20, unit: "grapheme" }).filter((text) => text.trim().length >= 6);

describe("a message", () => {
  test("a message without a secret is unchanged", () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        expect(redactorFor("s3cr3t-0123456789")(json)).toBe(json);
      }),
    );
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

  test("numbers are kept if a secret has only digits", () => {
    const redactedJson = redactorFor("123456")(
      '{"jsonrpc":"2.0","id":1234567,"result":{"bytes":91234569,"text":"at 123456."}}',
    );
    expect(JSON.parse(redactedJson)).toEqual({
      jsonrpc: "2.0",
      id: 1_234_567,
      result: { bytes: 91_234_569, text: "at [redacted]." },
    });
  });

  test("the id of the client's request is kept, in a batch too", () => {
    const exit = redactorFor("s3cr3t");
    const one = { jsonrpc: "2.0", id: "my-s3cr3t-id", error: { code: -32_000, message: "s3cr3t" } };
    const cleaned = { ...one, error: { code: -32_000, message: "[redacted]" } };
    expect(JSON.parse(exit(JSON.stringify(one)))).toEqual(cleaned);
    expect(JSON.parse(exit(JSON.stringify([one, one])))).toEqual([cleaned, cleaned]);
  });
});

test("a secret that is a word of the protocol leaves the protocol fields unchanged", () => {
  for (const word of ["jsonrpc", "result", "notifications", "method"]) {
    const exit = redactorFor(word);
    const answer = exit(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { text: `a ${word} b` } }));
    expect(JSON.parse(answer)).toEqual({ jsonrpc: "2.0", id: 1, result: { text: "a [redacted] b" } });
    const notification = { jsonrpc: "2.0", method: "notifications/progress", params: { progress: 1, message: word } };
    expect(JSON.parse(exit(JSON.stringify(notification)))).toEqual({
      ...notification,
      params: { progress: 1, message: "[redacted]" },
    });
  }
});

test("each event in a chunk of an event stream is redacted and stays an event", () => {
  const event = (text: string) => `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", params: { text } })}\n\n`;
  const exit = redactorFor('odd"s3cr3t\\');
  expect(redactEvents(`${event('a odd"s3cr3t\\ b')}${event("plain")}: ping\n\n`, exit)).toBe(
    `${event("a [redacted] b")}${event("plain")}: ping\n\n`,
  );
});
