// Tests POST endpoints, docs/contract.md, 4.2: their headers, and bodies that are well-formed but conflict with the service's data.
// fields.test.ts tests the values of headers and fields.
import { expect, test } from "vitest";
import { jobOperations, type OperationId, operations, type PostId } from "../operations.ts";
import { createRequest, exampleDataForFile } from "./example.ts";
import { type Answer, exchangeBytes, expectProblem, parseJson, valueAt } from "./http.ts";
import { fillPath, nextKey, type Parts, serviceForFile, serviceForTest } from "./service.ts";
import { createProcessingBody, FILE, findOneInputOffer, registerInput } from "./work.ts";

const service = serviceForFile();
const exampleData = exampleDataForFile(service);
const posts = jobOperations.filter(({ method }) => method === "POST");

async function callWith(id: OperationId, parts: Parts): Promise<Answer> {
  return service().call(operations[id], { ...(await createRequest(await exampleData(), id)), ...parts });
}

test("a POST without a key is refused and has no effect [4.2/idempotency-key-required]", async () => {
  for (const operation of posts) {
    const parts = await createRequest(await exampleData(), operation.id);
    const before = await service().admin("GET", "executions");
    for (const key of [undefined, "", " ".repeat(10), "\t".repeat(10)])
      expectProblem(await service().call(operation, { ...parts, headers: { "idempotency-key": key } }), 400);
    expect(await service().admin("GET", "executions")).toEqual(before);
  }
});

test("a key with control characters that HTTP forbids is refused [4.2/job-key-characters]", async () => {
  const { path, scopes } = operations.createMicJob;
  const token = await service().token(scopes);
  for (const control of ["\u0000", "\u0001", "\u001f", "\u007f"]) {
    const head = [
      `POST ${path} HTTP/1.1`,
      "Host: 127.0.0.1",
      `Authorization: Bearer ${token}`,
      "Content-Type: application/json",
      `Idempotency-Key: control${control}inside`,
      "Content-Length: 2",
      "Connection: close",
    ];
    expect(await exchangeBytes(service().emulator.baseUrl, `${head.join("\r\n")}\r\n\r\n{}`)).toMatch(
      /^HTTP\/1\.1 4(00|22) /,
    );
  }
});

test("a cancellation without If-Match is refused [4.2/if-match-required]", async () => {
  expectProblem(await callWith("cancelMicJob", { headers: { "if-match": undefined } }), 428);
  expectProblem(await callWith("cancelMicJob", { headers: { "if-match": "" } }), 400);
});

test("a POST accepts only the content type application/json [4.2/content-type]", async () => {
  for (const { id, success } of posts) {
    for (const type of [
      undefined,
      "",
      "text/plain",
      "application/x-www-form-urlencoded",
      "application/problem+json",
      "json",
      "application/jsonp",
    ])
      expectProblem(await callWith(id, { headers: { "content-type": type } }), 415);
    for (const type of ["application/json; charset=utf-8", "Application/JSON", "application/json;charset=UTF-8"]) {
      const answer = await callWith(id, { headers: { "content-type": type } });
      expect(answer.status, answer.text).toBe(success);
    }
  }
});

test("a request with two Idempotency-Key headers is refused", async () => {
  const { path, scopes } = operations.createMicJob;
  const { body } = await createRequest(await exampleData(), "createMicJob");
  const text = JSON.stringify(body);
  const head = [
    `POST ${fillPath(path, {})} HTTP/1.1`,
    "Host: 127.0.0.1",
    `Authorization: Bearer ${await service().token(scopes)}`,
    "Content-Type: application/json",
    `Idempotency-Key: ${nextKey()}`,
    `Idempotency-Key: ${nextKey()}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
    "Connection: close",
  ];
  const answer = await exchangeBytes(service().emulator.baseUrl, `${head.join("\r\n")}\r\n\r\n${text}`);
  expect(answer).toMatch(/^HTTP\/1\.1 4(00|22) /);
});

test("each response of the job API has a unique request id", async () => {
  const ids = await Promise.all(
    Array.from({ length: 10 }, async () =>
      valueAt(parseJson((await callWith("getMicJob", {})).text), "meta", "requestId"),
    ),
  );
  expect(new Set(ids).size).toBe(10);
});

const hex = "0123456789abcdef0123456789abcdef";

async function postWithChange(id: PostId, change: Readonly<Record<string, unknown>>, key = nextKey()) {
  const parts = await createRequest(await exampleData(), id);
  return service().call(operations[id], { ...parts, key, body: { ...Object(parts.body), ...change } });
}

/** Expects an error at this field, and no effect. */
async function expectRefusal(
  id: PostId,
  pointer: string,
  change: Readonly<Record<string, unknown>>,
  status: 409 | 422,
) {
  const key = nextKey();
  const { fieldErrors } = expectProblem(await postWithChange(id, change, key), status);
  expect(fieldErrors.map((one) => one.pointer).filter((one) => one.startsWith(pointer))).not.toEqual([]);
  expect(await service().countExecutions(key)).toBe(0);
}

test("an M4_FILE must refer to a file of the caller by devfile_ or devsignfile_ [4.2/input-reference-file]", async () => {
  for (const id of service().emulator.fileIds) expect(id).toMatch(/^dev(sign)?file_.+/);
  for (const referenceId of ["devfile_", "devfile_of-another", "devsignfile_of-another"])
    await expectRefusal("createMicPublicInput", "/referenceId", { referenceId }, 422);
});

test("a recipe that is not offered and an input that does not exist are refused [4.2/job-ids, 4.2/processing-request-ids]", async () => {
  for (const id of ["createMicJob", "requestMicSharedFileProcessing"] as const)
    await expectRefusal(id, "/recipeVersionId", { recipeVersionId: `micrecipev_${hex}` }, 422);
  await expectRefusal("requestMicSharedFileProcessing", "/inputId", { inputId: `micinput_${hex}` }, 422);
});

test("an input of another workspace is refused [4.2/job-input-binding-owned]", async () => {
  const port = valueAt((await createRequest(await exampleData(), "createMicJob")).body, "inputBindings", 0, "port");
  for (const inputId of [`micinput_${hex}`, "a", "a".repeat(128)])
    await expectRefusal("createMicJob", "/inputBindings/0/inputId", { inputBindings: [{ port, inputId }] }, 422);
});

test("a recipeVersionHash that is not the current one is refused [9/recipe-version-hash-current]", async () => {
  const { versionHash } = (await exampleData()).offer.recipe;
  const recipeVersionHash = (versionHash.startsWith("0") ? "1" : "0") + versionHash.slice(1);
  await expectRefusal("requestMicSharedFileProcessing", "/recipeVersionHash", { recipeVersionHash }, 409);
});

const toInstant = (offsetMs: number) => new Date(service().clock.now() + offsetMs).toISOString();

test("an expiresAt with up to six fractional digits is accepted [4.2/processing-request-expires-at]", async () => {
  const second = toInstant(3_600_000).slice(0, 19);
  for (const fraction of ["", ".1", ".123", ".123456"])
    expect(
      (await postWithChange("requestMicSharedFileProcessing", { expiresAt: `${second}${fraction}Z` })).status,
    ).toBe(201);
});

test("an expiresAt that is not in the future is refused [4.2/processing-request-expires-in-future]", async () => {
  for (const expiresAt of [toInstant(0), toInstant(-1), "1970-01-01T00:00:00Z"])
    await expectRefusal("requestMicSharedFileProcessing", "/expiresAt", { expiresAt }, 422);
});

test("an expiresAt after the expiry of file or recipe is refused [4.2/processing-request-expires-within-approved]", async () => {
  const own = await serviceForTest();
  const [offer, input] = await Promise.all([findOneInputOffer(own), registerInput(own, FILE.succeeds)]);
  const approved = [offer.expiresAt, input.expiresAt ?? offer.expiresAt].map((one) => Date.parse(one));
  const untilMs = Math.min(...approved);
  own.clock.advance(untilMs - own.clock.now() - 3_600_000);
  const requestPermission = (expiresAtMs: number) =>
    own.call(operations.requestMicSharedFileProcessing, {
      body: { ...createProcessingBody(own, offer, input.id), expiresAt: new Date(expiresAtMs).toISOString() },
    });
  expect((await requestPermission(untilMs - 1)).status).toBe(201);
  for (const tooLate of [untilMs + 1, untilMs + 1000, Date.parse("9999-12-31T23:59:59Z")])
    expect(expectProblem(await requestPermission(tooLate), 422).fieldErrors.map(({ pointer }) => pointer)).toEqual([
      "/expiresAt",
    ]);
});

test("a body with several errors gets all of them, at most 100 [7.2/bounds-refused]", async () => {
  const two = expectProblem(await postWithChange("retryMicJob", { retryMode: "NEVER", reason: "" }), 400);
  expect([...new Set(two.fieldErrors.map(({ pointer }) => pointer))].sort()).toEqual(["/reason", "/retryMode"]);
  const inputBindings = Array.from({ length: 400 }, () => ({ port: "", inputId: "" }));
  const many = expectProblem(await postWithChange("createMicJob", { inputBindings }), 400);
  expect(many.fieldErrors.length).toBeLessThanOrEqual(100);
});
