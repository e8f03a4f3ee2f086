// Request headers of the five POST endpoints, docs/contract.md, 4.2.
import fc from "fast-check";
import { expect, test } from "vitest";
import { jobOperations, type OperationId, operations } from "../operations.ts";
import { proves } from "../proves.ts";
import { example, worldFor } from "./example.ts";
import { type Answer, at, exchange, expectProblem, parseJson } from "./http.ts";
import { fillPath, nextKey, type Parts, serviceForFile } from "./service.ts";
import { FILE, readJob, submitJob } from "./work.ts";

const service = serviceForFile();
const world = worldFor(service);
const posts = jobOperations.filter(({ method }) => method === "POST");

async function callWith(id: OperationId, parts: Parts): Promise<Answer> {
  return service().call(operations[id], { ...(await example(service(), await world(), id)), ...parts });
}

const withKey = (id: OperationId, key: string) => callWith(id, { headers: { "idempotency-key": key } });

proves("4.2/idempotency-key-required", "each POST without a key is refused and does nothing", async () => {
  for (const operation of posts) {
    const parts = await example(service(), await world(), operation.id);
    const before = await service().admin("GET", "executions");
    for (const key of [undefined, ""])
      expectProblem(await service().call(operation, { ...parts, headers: { "idempotency-key": key } }), 400);
    expect(await service().admin("GET", "executions")).toEqual(before);
  }
});

proves("4.2/job-key-length", "keys of creation, retry and cancellation: 8 to 160 units", async () => {
  for (const id of ["createMicJob", "retryMicJob", "cancelMicJob"] as const) {
    for (const key of ["a", "1234567", "a".repeat(161), "a".repeat(4000)]) expectProblem(await withKey(id, key), 400);
    for (const length of [8, 160]) {
      const answer = await withKey(id, `${id.slice(0, 3)}${"k".repeat(length - 3)}`);
      expect(answer.status, answer.text).toBe(202);
    }
  }
});

proves(
  "4.2/job-key-characters",
  "keys of creation, retry and cancellation: not blank, no control characters",
  async () => {
    for (const id of ["createMicJob", "retryMicJob", "cancelMicJob"] as const) {
      for (const key of [
        " ".repeat(10),
        "\t".repeat(10),
        "\u00a0".repeat(10),
        "tab\tinside",
        "next\u0085line",
        "\u009fat the end",
      ])
        expectProblem(await withKey(id, key), 400);
      expect((await withKey(id, `${id} with spaces, "quotes" & ~{signs}`)).status).toBe(202);
    }
  },
);

proves("4.2/job-key-characters", "control characters that HTTP itself forbids are refused on the wire", async () => {
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
    expect(await exchange(service().emulator.baseUrl, `${head.join("\r\n")}\r\n\r\n{}`)).toMatch(
      /^HTTP\/1\.1 4(00|22) /,
    );
  }
});

proves("4.2/input-key", "keys of input registration: 1-128 of letters, digits, . _ : / -", async () => {
  for (const key of ["a", "/", "Aa0._:/-", "k".repeat(128), "..", "-"])
    expect([key, (await withKey("createMicPublicInput", key)).status]).toEqual([key, 201]);
  for (const key of ["k".repeat(129), "a b", "a~b", "a,b", "a+b", "a@b", "\u00e9", 'a"b'])
    expectProblem(await withKey("createMicPublicInput", key), 400);
});

proves(
  "4.2/processing-request-key",
  "keys of processing requests: 8-128, a letter or digit first, no two dots",
  async () => {
    const id = "requestMicSharedFileProcessing";
    for (const key of ["k2345678", "9_.:-.:_", "k".repeat(128), "Abcdefg."])
      expect([key, (await withKey(id, key)).status]).toEqual([key, 201]);
    for (const key of [
      "k234567",
      "k".repeat(129),
      "_2345678",
      ".2345678",
      "-2345678",
      "k234..78",
      "k2345/78",
      "k2345 78",
      "k234567\u00e9",
    ])
      expectProblem(await withKey(id, key), 400);
  },
);

// The three grammars once more as the contract words them, against random printable keys.
const grammars = {
  createMicJob: (key: string) => key.trim().length >= 8 && key.trim().length <= 160,
  createMicPublicInput: (key: string) => /^[A-Za-z0-9._:/-]{1,128}$/.test(key.trim()),
  requestMicSharedFileProcessing: (key: string) =>
    /^[A-Za-z0-9][A-Za-z0-9_.:-]{7,127}$/.test(key.trim()) && !key.includes(".."),
} as const;
const keyLike = fc.oneof(
  fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 20 }),
  fc.stringMatching(/^[A-Za-z0-9_.:/-]{1,20}$/),
  fc.stringMatching(/^[A-Za-z0-9._:-]{120,165}$/),
);

proves(
  ["4.2/job-key-length", "4.2/input-key", "4.2/processing-request-key"],
  "a random key is taken where its grammar takes it, and nowhere else",
  async () => {
    for (const id of ["createMicJob", "createMicPublicInput", "requestMicSharedFileProcessing"] as const) {
      const parts = await example(service(), await world(), id);
      await fc.assert(
        fc.asyncProperty(keyLike, async (key) => {
          const answer = await service().call(operations[id], { ...parts, headers: { "idempotency-key": key } });
          if (grammars[id](key)) expect(answer.status, answer.text).toBe(operations[id].success);
          else expectProblem(answer, 400);
        }),
        { numRuns: 40 },
      );
    }
  },
);

proves("4.2/if-match-required", "a cancellation without If-Match is refused", async () => {
  expectProblem(await callWith("cancelMicJob", { headers: { "if-match": undefined } }), 428);
  expectProblem(await callWith("cancelMicJob", { headers: { "if-match": "" } }), 400);
});

proves("4.2/if-match-form", "If-Match is a quoted positive integer, nothing else", async () => {
  const job = await submitJob(service(), FILE.succeeds);
  const cancel = (ifMatch: string) =>
    service().call(operations.cancelMicJob, { path: { jobId: job.id }, ifMatch, body: { reason: "A form" } });
  const version = job.resourceVersion;
  for (const tag of [
    `${version}`,
    `W/"${version}"`,
    `'${version}'`,
    `"${version}`,
    `"0${version}"`,
    `"+${version}"`,
    `"${version}.0"`,
    `" ${version}"`,
    `"${version}", "9"`,
    '"0"',
    '"-1"',
    '""',
    "*",
    '"abc"',
    '"9007199254740992"',
    '"10000000000000000"',
    `"${"9".repeat(400)}"`,
  ])
    expectProblem(await cancel(tag), 400);
  expectProblem(await cancel('"9007199254740991"'), 412);
  expect((await readJob(service(), job.id)).state).not.toBe("CANCELLED");
  expect((await cancel(`"${version}"`)).status).toBe(202);
});

proves("4.2/content-type", "each POST takes application/json and nothing else", async () => {
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

test("a key that stands in two headers is refused", async () => {
  const { path, scopes } = operations.createMicJob;
  const { body } = await example(service(), await world(), "createMicJob");
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
  const answer = await exchange(service().emulator.baseUrl, `${head.join("\r\n")}\r\n\r\n${text}`);
  expect(answer).toMatch(/^HTTP\/1\.1 4(00|22) /);
});

test("every answer of the job API names its request, each its own", async () => {
  const ids = await Promise.all(
    Array.from({ length: 10 }, async () => at(parseJson((await callWith("getMicJob", {})).text), "meta", "requestId")),
  );
  expect(new Set(ids).size).toBe(10);
});
