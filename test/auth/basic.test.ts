// The Basic header carries any client id and secret: what the token endpoint decodes is what was configured.
import fc from "fast-check";
import { expect, test } from "vitest";
import { createIdentity } from "../../src/auth/identity.ts";
import { basicHeader } from "../../src/auth/oauth.ts";
import { createRedactor } from "../../src/auth/redaction.ts";
import { noTokenStore } from "../../src/auth/token-store.ts";
import { createTokens } from "../../src/auth/tokens.ts";
import { createTransport } from "../../src/service/transport.ts";
import { proves } from "../proves.ts";
import { eagerTiming, within } from "../service/client.ts";
import { emulatorForTest } from "../support/emulator.ts";

const pairOf = (header: string): string => {
  expect(header).toMatch(/^Basic [A-Za-z0-9+/]+=*$/);
  return Buffer.from(header.slice("Basic ".length), "base64").toString();
};

// RFC 6749, appendix B, as a server decodes it.
const formDecoded = (text: string): string => new URLSearchParams(`v=${text}`).get("v") ?? "";

const visible = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
});

test("every printable character survives", () => {
  fc.assert(
    fc.property(visible, visible, (clientId, clientSecret) => {
      const pair = pairOf(basicHeader({ clientId, clientSecret }));
      const colon = pair.indexOf(":");
      expect([pair.slice(0, colon), pair.slice(colon + 1)].map(formDecoded)).toEqual([clientId, clientSecret]);
    }),
  );
});

test("plain characters stay as they are, so that a server that decodes nothing understands them too", () => {
  const plain = fc.stringMatching(/^[A-Za-z0-9._~-]+$/);
  fc.assert(
    fc.property(plain, plain, (clientId, clientSecret) => {
      expect(pairOf(basicHeader({ clientId, clientSecret }))).toBe(`${clientId}:${clientSecret}`);
    }),
  );
});

for (const [clientId, clientSecret] of [
  ["client-id_1.2", "s3:cr/et+=~!"],
  ["a:b", "c d%20é".replace("é", "&")],
  ["client", `'"\\<>{}[]|^\`;,?@#$*()`],
] as const)
  proves("5/token-basic", `the emulator gives ${clientId} a token for ${clientSecret}`, async () => {
    const emulator = await emulatorForTest({ secrets: { clientId, clientSecret } });
    const transport = createTransport();
    const redactor = createRedactor();
    const given = { baseUrl: emulator.baseUrl, credentials: { clientId, clientSecret }, workspaceId: undefined };
    const identity = createIdentity({ given, keychain: undefined, required: false, redactor, now: eagerTiming.now });
    const tokens = createTokens({ identity, store: noTokenStore, transport, timing: eagerTiming, redactor });
    expect(await tokens.get(["mic.jobs:read"], within(5000))).toMatch(/\S+/);
    await transport.close();
  });
