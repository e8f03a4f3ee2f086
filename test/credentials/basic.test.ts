// Tests that the Basic header carries any client id and secret, for token endpoints with and without form decoding.
import fc from "fast-check";
import { expect } from "vitest";
import type { ApiClient } from "../../src/api-client/client.ts";
import { getMicPublicOperation } from "../../src/contract/endpoints/job-processing.ts";
import { basicHeader, type ClientCredentials } from "../../src/credentials/oauth.ts";
import { clientForTest, createCallContext, expectFailure, readJob } from "../api-client/client.ts";
import { enveloped, job, operation } from "../contract/samples.ts";
import { emulatorForTest } from "../support/emulator.ts";
import { test } from "../support/fixtures.ts";
import { answer, type Step, type Stub, stubForTest } from "../support/stub.ts";

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

for (const [clientId, clientSecret] of [
  ["client-id_1.2", "s3:cr/et+=~!"],
  ["a:b", "c d%20é".replace("é", "&")],
  ["client", `'"\\<>{}[]|^\`;,?@#$*()`],
] as const)
  test(`the emulator issues ${clientId} a token for ${clientSecret} [5/token-basic]`, async () => {
    const { baseUrl } = await emulatorForTest({ credentials: { clientId, clientSecret } });
    const { tokens } = clientForTest(baseUrl, { credentials: { clientId, clientSecret } });
    expect(await tokens.get(["mic.jobs:read"], createCallContext(5000))).toMatch(/\S+/);
  });

/** How a token endpoint reads the pair from the header. */
const READINGS = { "decodes it": decodeForm, "takes it as it stands": (text: string) => text } as const;
type Reading = keyof typeof READINGS;

const REFUSALS = {
  "401 invalid_client": answer(401, { error: "invalid_client" }),
  "400 invalid_client": answer(400, { error: "invalid_client" }),
  "401 and nothing": answer(401),
} as const;

const special = { clientId: "client", clientSecret: "sec+ret/=:%25x y" } as const;
const ordinary = { clientId: "client", clientSecret: "secret-0123456789.~_" } as const;

/** Starts a token endpoint that accepts one client and reads its header in one way. */
async function startTokenService(
  reading: Reading,
  known: ClientCredentials,
  refusal: Step = REFUSALS["401 invalid_client"],
) {
  const stub = await stubForTest();
  const read = READINGS[reading];
  stub.respondToToken(({ headers }) => {
    const pair = decodePair(headers.authorization ?? "");
    const colon = pair.indexOf(":");
    const isKnown = read(pair.slice(0, colon)) === known.clientId && read(pair.slice(colon + 1)) === known.clientSecret;
    return isKnown ? answer(200, { access_token: `token-number-${stub.tokenRequests.length}` }) : refusal;
  });
  stub.respond(({ target }) =>
    target.includes("/operations/") ? answer(200, enveloped(operation)) : answer(200, enveloped(job)),
  );
  return stub;
}

const clientOf = ({ baseUrl }: Stub, credentials: ClientCredentials) => clientForTest(baseUrl, { credentials }).service;
const readOperation = (service: ApiClient) =>
  service.call(getMicPublicOperation, { path: { operationId: operation.id } }, createCallContext(10_000));

for (const [description, refusal] of Object.entries(REFUSALS))
  test(`an API that reads the pair without decoding is detected by its ${description}, once [5/assumes-no-basic-form, 5/token-basic]`, async () => {
    const stub = await startTokenService("takes it as it stands", special, refusal);
    const service = clientOf(stub, special);
    await readJob(service);
    expect(stub.tokenRequests).toHaveLength(2);
    // Another scope set needs another token, but the form is known by then.
    await readOperation(service);
    expect(stub.tokenRequests).toHaveLength(3);
  });

test("an API that decodes the pair gets one request, and never the other form [5/assumes-no-basic-form, 5/token-basic]", async () => {
  const stub = await startTokenService("decodes it", special);
  const service = clientOf(stub, special);
  await readJob(service);
  expect(stub.tokenRequests).toHaveLength(1);
  stub.respondToToken(() => REFUSALS["401 invalid_client"]);
  const error = await expectFailure(readOperation(service));
  expect(error).toMatchObject({ kind: "unauthorized" });
  expect(stub.tokenRequests).toHaveLength(2);
});

for (const reading of ["decodes it", "takes it as it stands"] as const)
  test(`an API that ${reading} gets one request with an ordinary pair [5/assumes-no-basic-form]`, async () => {
    const stub = await startTokenService(reading, ordinary);
    const service = clientOf(stub, ordinary);
    await readJob(service);
    expect(stub.tokenRequests).toHaveLength(1);
  });

const refusedOnce: readonly (readonly [string, ClientCredentials, Step, string])[] = [
  ["an ordinary pair that is wrong", ordinary, REFUSALS["401 invalid_client"], "unauthorized"],
  // Without decoding, the id would end at its own colon.
  ["an id with a colon", { ...special, clientId: "a:b" }, REFUSALS["401 invalid_client"], "unauthorized"],
  ["a scope that is refused", special, answer(400, { error: "invalid_scope" }), "forbidden"],
  ["a request that is refused", special, answer(400, { error: "invalid_request" }), "unauthorized"],
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

test("a wrong pair with special characters is tried in both forms, and reported as wrong", async () => {
  const stub = await startTokenService("decodes it", { ...special, clientSecret: "another" });
  const service = clientOf(stub, special);
  const error = await expectFailure(readJob(service));
  expect(error).toMatchObject({ kind: "unauthorized", status: 401, code: "invalid_client", retryable: false });
  expect(stub.tokenRequests.map(({ headers }) => decodePair(headers.authorization ?? ""))).toEqual([
    `client:${encodeURIComponent(special.clientSecret)}`,
    `client:${special.clientSecret}`,
  ]);
});
