// Tests that the Basic header carries any client id and secret, for token endpoints with and without form decoding.
import fc from "fast-check";
import { expect } from "vitest";
import type { ApiClient } from "../../src/api-client/client.ts";
import { getMicPublicOperation } from "../../src/contract/endpoints/job-processing.ts";
import { basicHeader, type ClientCredentials } from "../../src/credentials/oauth.ts";
import { clientForTest, createCallContext, expectFailure, readJob } from "../api-client/client.ts";
import { enveloped, job, operation } from "../contract/samples.ts";
import { test } from "../support/fixtures.ts";
import { answer, type Step, type Stub } from "../support/stub.ts";

const decodePair = (header: string): string => {
  expect(header).toMatch(/^Basic [A-Za-z0-9+/]+=*$/);
  return Buffer.from(header.slice("Basic ".length), "base64").toString();
};

// Form decoding of RFC 6749, appendix B, as a server does it.
const decodeForm = (text: string): string => new URLSearchParams(`v=${text}`).get("v") ?? "";

const visible = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
});

test("every printable character survives in the Basic header", () => {
  fc.assert(
    fc.property(visible, visible, (clientId, clientSecret) => {
      const pair = decodePair(basicHeader({ clientId, clientSecret }));
      const colon = pair.indexOf(":");
      expect([pair.slice(0, colon), pair.slice(colon + 1)].map(decodeForm)).toEqual([clientId, clientSecret]);
    }),
  );
});

test("plain characters are not encoded, so that a server without form decoding reads them too", () => {
  const plain = fc.stringMatching(/^[A-Za-z0-9._~-]+$/);
  fc.assert(
    fc.property(plain, plain, (clientId, clientSecret) => {
      expect(decodePair(basicHeader({ clientId, clientSecret }))).toBe(`${clientId}:${clientSecret}`);
    }),
  );
});

const invalidClient = answer(401, { error: "invalid_client" });
const special = { clientId: "client", clientSecret: "sec+ret/=:%25x y" } as const;
const ordinary = { clientId: "client", clientSecret: "secret-0123456789.~_" } as const;

/** The stub becomes a token endpoint that accepts one client. `read`: how it reads the parts of the header. */
function acceptOnly(stub: Stub, known: ClientCredentials, read: (text: string) => string, refusal = invalidClient) {
  stub.respondToToken(({ headers }) => {
    const pair = decodePair(headers.authorization ?? "");
    const colon = pair.indexOf(":");
    const isKnown = read(pair.slice(0, colon)) === known.clientId && read(pair.slice(colon + 1)) === known.clientSecret;
    return isKnown ? answer(200, { access_token: `token-number-${stub.tokenRequests.length}` }) : refusal;
  });
  stub.respond(({ target }) =>
    target.includes("/operations/") ? answer(200, enveloped(operation)) : answer(200, enveloped(job)),
  );
}

const clientOf = ({ baseUrl }: Stub, credentials: ClientCredentials) => clientForTest(baseUrl, { credentials }).service;
const readOperation = (service: ApiClient) =>
  service.call(getMicPublicOperation, { path: { operationId: operation.id } }, createCallContext(10_000));

for (const [description, refusal] of [
  ["401 invalid_client", invalidClient],
  ["400 invalid_client", answer(400, { error: "invalid_client" })],
  ["401 without a body", answer(401)],
] as const)
  test(`an API that reads the pair without decoding is detected by its ${description}, once`, {
    tags: ["5/assumes-no-basic-form", "5/token-basic"],
  }, async ({ stub }) => {
    acceptOnly(stub, special, (text) => text, refusal);
    const service = clientOf(stub, special);
    await readJob(service);
    expect(stub.tokenRequests).toHaveLength(2);
    // Another scope set needs another token, but the form is known by then.
    await readOperation(service);
    expect(stub.tokenRequests).toHaveLength(3);
  });

test("an API that decodes the pair gets one request, and never the other form", {
  tags: ["5/assumes-no-basic-form", "5/token-basic"],
}, async ({ stub }) => {
  acceptOnly(stub, special, decodeForm);
  const service = clientOf(stub, special);
  await readJob(service);
  expect(stub.tokenRequests).toHaveLength(1);
  stub.respondToToken(() => invalidClient);
  const error = await expectFailure(readOperation(service));
  expect(error).toMatchObject({ kind: "unauthorized" });
  expect(stub.tokenRequests).toHaveLength(2);
});

const refusedOnce: readonly (readonly [string, ClientCredentials, Step, string])[] = [
  ["an ordinary pair that is wrong", ordinary, invalidClient, "unauthorized"],
  // Without decoding, the id would end at its own colon.
  ["an id with a colon", { ...special, clientId: "a:b" }, invalidClient, "unauthorized"],
  ["a scope that is refused", special, answer(400, { error: "invalid_scope" }), "forbidden"],
  ["a request that is refused", special, answer(400, { error: "invalid_request" }), "contract_violation"],
  ["a gateway that forbids", special, answer(403), "forbidden"],
];
for (const [what, credentials, refusal, kind] of refusedOnce)
  test(`${what} counts as one failed login, not two`, async ({ stub }) => {
    stub.respondToToken(() => refusal);
    const service = clientOf(stub, credentials);
    const error = await expectFailure(readJob(service));
    expect(error).toMatchObject({ kind, sideEffect: "none" });
    expect(stub.tokenRequests).toHaveLength(1);
  });

test("a wrong pair with special characters is tried in both forms, and reported as wrong", async ({ stub }) => {
  acceptOnly(stub, { ...special, clientSecret: "another" }, decodeForm);
  const service = clientOf(stub, special);
  const error = await expectFailure(readJob(service));
  expect(error).toMatchObject({ kind: "unauthorized", status: 401, code: "invalid_client", retryable: false });
  expect(stub.tokenRequests.map(({ headers }) => decodePair(headers.authorization ?? ""))).toEqual([
    `client:${encodeURIComponent(special.clientSecret)}`,
    `client:${special.clientSecret}`,
  ]);
});
