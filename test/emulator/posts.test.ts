// Tests POST endpoints, docs/contract.md, 4.2: their headers, and well-formed bodies that conflict with the service's data.
import { expect } from "vitest";
import { operations, type PostId, postIds } from "../operations.ts";
import { createRequest, exampleDataForFile } from "./example.ts";
import { expectProblem, valueAt } from "./http.ts";
import { nextKey, type Parts, serviceForFile, test } from "./service.ts";
import { createProcessingBody, FILE, findOneInputOffer, registerInput } from "./work.ts";

const fileService = serviceForFile();
const exampleData = exampleDataForFile(fileService);

const callWith = async (id: PostId, parts: Parts) =>
  fileService().call(operations[id], { ...(await createRequest(await exampleData(), id)), ...parts });

test("a POST without a key is refused and has no effect", { tags: ["4.2/idempotency-key-required"] }, async () => {
  for (const id of postIds) {
    const parts = await createRequest(await exampleData(), id);
    const before = await fileService().admin("GET", "executions");
    for (const key of [undefined, "", " ".repeat(10), "\t".repeat(10)])
      expectProblem(await fileService().call(operations[id], { ...parts, headers: { "idempotency-key": key } }), 400);
    expect(await fileService().admin("GET", "executions")).toEqual(before);
  }
});

test("a cancellation without If-Match is refused", { tags: ["4.2/if-match-required"] }, async () => {
  expectProblem(await callWith("cancelMicJob", { headers: { "if-match": undefined } }), 428);
  expectProblem(await callWith("cancelMicJob", { headers: { "if-match": "" } }), 400);
});

test("a POST accepts only the content type application/json", { tags: ["4.2/content-type"] }, async () => {
  const others = ["text/plain", "application/x-www-form-urlencoded", "application/problem+json", "json"];
  for (const id of postIds) {
    for (const type of [undefined, "", ...others, "application/jsonp"])
      expectProblem(await callWith(id, { headers: { "content-type": type } }), 415);
    for (const type of ["Application/JSON", "application/json;charset=UTF-8"]) {
      const answer = await callWith(id, { headers: { "content-type": type } });
      expect(answer.status, answer.text).toBe(operations[id].success);
    }
  }
});

async function postWithChange(id: PostId, change: Readonly<Record<string, unknown>>, key = nextKey()) {
  const { body, ...parts } = await createRequest(await exampleData(), id);
  return fileService().call(operations[id], { ...parts, key, body: { ...Object(body), ...change } });
}

const hex = "0123456789abcdef0123456789abcdef";
const PROCESSING = "requestMicSharedFileProcessing";
const fileReferences = ["devfile_", "devfile_of-another", "devsignfile_of-another"];

test("a body that conflicts with the service's data is refused with the field, and has no effect", {
  tags: [
    "4.2/input-reference-file",
    "4.2/job-ids",
    "4.2/processing-request-ids",
    "4.2/job-input-binding-owned",
    "9/recipe-version-hash-current",
    "4.2/processing-request-expires-in-future",
  ],
}, async () => {
  for (const id of fileService().emulator.fileIds) expect(id).toMatch(/^dev(sign)?file_.+/);
  const port = valueAt((await createRequest(await exampleData(), "createMicJob")).body, "inputBindings", 0, "port");
  const { versionHash } = (await exampleData()).offer.recipe;
  const recipeVersionHash = (versionHash.startsWith("0") ? "1" : "0") + versionHash.slice(1);
  const pastInstants = [0, -1].map((offsetMs) => new Date(fileService().clock.now() + offsetMs).toISOString());
  for (const [id, pointer, change, status = 422] of [
    ...fileReferences.map((referenceId) => ["createMicPublicInput", "/referenceId", { referenceId }] as const),
    ["createMicJob", "/recipeVersionId", { recipeVersionId: `micrecipev_${hex}` }],
    ...[`micinput_${hex}`, "a", "a".repeat(128)].map(
      (inputId) => ["createMicJob", "/inputBindings/0/inputId", { inputBindings: [{ port, inputId }] }] as const,
    ),
    [PROCESSING, "/recipeVersionId", { recipeVersionId: `micrecipev_${hex}` }],
    [PROCESSING, "/inputId", { inputId: `micinput_${hex}` }],
    [PROCESSING, "/recipeVersionHash", { recipeVersionHash }, 409],
    ...[...pastInstants, "1970-01-01T00:00:00Z"].map((expiresAt) => [PROCESSING, "/expiresAt", { expiresAt }] as const),
  ] as const) {
    const key = nextKey();
    const { fieldErrors } = expectProblem(await postWithChange(id, change, key), status);
    expect(fieldErrors.map((one) => one.pointer).filter((one) => one.startsWith(pointer))).not.toEqual([]);
    expect(await fileService().countExecutions(key)).toBe(0);
  }
});

test("an expiresAt after the expiry of the file or the recipe is refused", {
  tags: ["4.2/processing-request-expires-within-approved"],
}, async ({ service }) => {
  const [offer, input] = await Promise.all([findOneInputOffer(service), registerInput(service, FILE.succeeds)]);
  const untilMs = Math.min(...[offer.expiresAt, input.expiresAt ?? offer.expiresAt].map((one) => Date.parse(one)));
  service.clock.advance(untilMs - service.clock.now() - 3_600_000);
  const requestPermission = (expiresAtMs: number) =>
    service.call(operations.requestMicSharedFileProcessing, {
      body: { ...createProcessingBody(service, offer, input.id), expiresAt: new Date(expiresAtMs).toISOString() },
    });
  expect((await requestPermission(untilMs - 1)).status).toBe(201);
  for (const tooLate of [untilMs + 1, Date.parse("9999-12-31T23:59:59Z")])
    expect(expectProblem(await requestPermission(tooLate), 422).fieldErrors).toMatchObject([{ pointer: "/expiresAt" }]);
});

test("a body with several errors gets all of them, at most 100", { tags: ["7.2/bounds-refused"] }, async () => {
  const two = expectProblem(await postWithChange("retryMicJob", { retryMode: "NEVER", reason: "" }), 400);
  expect([...new Set(two.fieldErrors.map(({ pointer }) => pointer))].sort()).toEqual(["/reason", "/retryMode"]);
  const inputBindings = Array.from({ length: 400 }, () => ({ port: "", inputId: "" }));
  const many = expectProblem(await postWithChange("createMicJob", { inputBindings }), 400);
  expect(many.fieldErrors.length).toBeLessThanOrEqual(100);
});
