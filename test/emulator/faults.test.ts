// Tests injected faults: the effect of each kind, and that each occurs as often and on the operation as requested.
import { expect, test } from "vitest";
import { operations } from "../operations.ts";
import { type Answer, expectProblem, parseJson, valueAt } from "./http.ts";
import { nextKey, type Service, serviceForTest } from "./service.ts";
import { createJobBodyForFile, FILE } from "./work.ts";

const capabilities = (service: Service) =>
  service.call(operations.getMicPublicCapabilities, { query: { workspaceId: service.emulator.workspaceId } });

const onceOn = (operationId: string) => ({ operationId, times: 1 });
const broken = { throws: /socket|closed|terminated|aborted|hang up|other side/i };

async function submissionParts(service: Service) {
  return { body: await createJobBodyForFile(service, FILE.succeeds), key: nextKey() };
}

test("the fault drop-before closes the connection and has no effect", async () => {
  const service = await serviceForTest();
  const parts = await submissionParts(service);
  await service.injectFault({ kind: "drop-before" }, onceOn("createMicJob"));
  await expect(service.call(operations.createMicJob, parts)).rejects.toThrow(broken.throws);
  expect(await service.countExecutions(parts.key)).toBe(0);
  const again = await service.call(operations.createMicJob, parts);
  expect([again.status, again.headers["idempotent-replayed"]]).toEqual([202, undefined]);
  expect(await service.countExecutions(parts.key)).toBe(1);
});

test("the fault drop-after closes the connection after the job was created", async () => {
  const service = await serviceForTest();
  const parts = await submissionParts(service);
  await service.injectFault({ kind: "drop-after" }, onceOn("createMicJob"));
  await expect(service.call(operations.createMicJob, parts)).rejects.toThrow(broken.throws);
  expect(await service.countExecutions(parts.key)).toBe(1);
  const again = await service.call(operations.createMicJob, parts);
  expect([again.status, again.headers["idempotent-replayed"]]).toEqual([202, "true"]);
  expect(await service.countExecutions(parts.key)).toBe(1);
});

test("the fault delay returns the complete response late", async () => {
  const service = await serviceForTest();
  await service.token(["mic.capabilities:read"]);
  await service.injectFault({ kind: "delay", delayMs: 80 }, onceOn("getMicPublicCapabilities"));
  const startMs = performance.now();
  expect((await capabilities(service)).status).toBe(200);
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(75);
});

test("the fault hang returns no response, before or after the effect", async () => {
  const service = await serviceForTest();
  for (const afterCommit of [false, true]) {
    const parts = await submissionParts(service);
    await service.injectFault({ kind: "hang", afterCommit }, onceOn("createMicJob"));
    const call = service.call(operations.createMicJob, { ...parts, signal: AbortSignal.timeout(120) });
    await expect(call).rejects.toThrow(/abort|timeout/i);
    expect(await service.countExecutions(parts.key)).toBe(afterCommit ? 1 : 0);
    expect((await capabilities(service)).status).toBe(200);
  }
});

test("the fault status returns its status, a Problem and Retry-After, before or after the effect", async () => {
  const service = await serviceForTest();
  for (const afterCommit of [false, true]) {
    const parts = await submissionParts(service);
    const fault = { kind: "status", status: 503, retryAfterSeconds: 7, code: "BUSY", retryable: true, afterCommit };
    await service.injectFault(fault, onceOn("createMicJob"));
    const answer = await service.call(operations.createMicJob, parts);
    expect(expectProblem(answer, 503)).toMatchObject({ code: "BUSY", retryable: true });
    expect(answer.headers["retry-after"]).toBe("7");
    expect(await service.countExecutions(parts.key)).toBe(afterCommit ? 1 : 0);
  }
  for (const status of [400, 401, 403, 404, 409, 418, 429, 500, 502, 504, 599]) {
    await service.injectFault({ kind: "status", status }, onceOn("getMicPublicCapabilities"));
    expect((await capabilities(service)).status).toBe(status);
  }
});

test("the fault status without a problem returns no Problem", async () => {
  const service = await serviceForTest();
  await service.injectFault({ kind: "status", status: 502, problem: false }, onceOn("getMicPublicCapabilities"));
  const answer = await capabilities(service);
  expect(answer.status).toBe(502);
  expect(answer.headers["content-type"] ?? "").not.toContain("problem+json");
});

test("the fault truncate closes the connection before the end of the body", async () => {
  const service = await serviceForTest();
  await service.injectFault({ kind: "truncate" }, onceOn("getMicPublicCapabilities"));
  const readComplete = async (): Promise<Answer> => {
    const answer = await capabilities(service);
    parseJson(answer.text);
    return answer;
  };
  await expect(readComplete()).rejects.toThrow();
  expect((await readComplete()).status).toBe(200);
});

test("the fault body returns any bytes, content type and status", async () => {
  const service = await serviceForTest();
  await service.injectFault(
    { kind: "body", body: "<h1>Not JSON</h1>", contentType: "text/html", status: 203 },
    onceOn("getMicPublicCapabilities"),
  );
  const answer = await capabilities(service);
  expect([answer.status, answer.text]).toEqual([203, "<h1>Not JSON</h1>"]);
  expect(answer.headers["content-type"]).toMatch(/^text\/html/);
});

test("the fault extra-field returns a success that is correct except for one unknown field", async () => {
  const service = await serviceForTest();
  const expectedBody = parseJson((await capabilities(service)).text);
  await service.injectFault({ kind: "extra-field" }, onceOn("getMicPublicCapabilities"));
  const answer = await capabilities(service);
  expect(answer.status).toBe(200);
  const { answer: schema } = operations.getMicPublicCapabilities;
  const issues = schema.safeParse(parseJson(answer.text)).error?.issues ?? [];
  expect(issues.map(({ code }) => code)).toEqual(["unrecognized_keys"]);
  expect(parseJson(answer.text)).toMatchObject({ data: Object(valueAt(expectedBody, "data")) });
});

test("the fault expire-token invalidates the token, and a new token works", async () => {
  const service = await serviceForTest();
  const scopes = ["mic.capabilities:read"];
  const token = await service.token(scopes);
  await service.injectFault({ kind: "expire-token" }, onceOn("getMicPublicCapabilities"));
  expectProblem(await capabilities(service), 401);
  const retriedWithOldToken = await service.call(operations.getMicPublicCapabilities, {
    query: { workspaceId: service.emulator.workspaceId },
    headers: { authorization: `Bearer ${token}` },
  });
  expectProblem(retriedWithOldToken, 401);
  const answer = await service.requestToken("grant_type=client_credentials&scope=mic.capabilities%3Aread");
  const newToken = String(valueAt(parseJson(answer.text), "access_token"));
  const withNewToken = await service.call(operations.getMicPublicCapabilities, {
    query: { workspaceId: service.emulator.workspaceId },
    headers: { authorization: `Bearer ${newToken}` },
  });
  expect(withNewToken.status).toBe(200);
});

test("a fault occurs as often as requested, only on its operation, and not after DELETE", async () => {
  const service = await serviceForTest();
  const jobs = () => service.call(operations.listMicJobs, { query: { workspaceId: service.emulator.workspaceId } });
  await service.injectFault({ kind: "status", status: 503 }, { operationId: "getMicPublicCapabilities", times: 2 });
  const statuses = [];
  for (let round = 0; round < 3; round += 1) statuses.push((await capabilities(service)).status, (await jobs()).status);
  expect(statuses).toEqual([503, 200, 503, 200, 200, 200]);

  await service.injectFault({ kind: "status", status: 500 }, { times: 2 });
  expect([(await capabilities(service)).status, (await jobs()).status, (await jobs()).status]).toEqual([500, 500, 200]);

  await service.injectFault({ kind: "status", status: 503 }, { operationId: "listMicJobs", times: 1000 });
  expect((await jobs()).status).toBe(503);
  await service.admin("DELETE", "faults");
  expect((await jobs()).status).toBe(200);
});

test("faults occur in the order in which they were requested", async () => {
  const service = await serviceForTest();
  for (const status of [500, 502, 503])
    await service.injectFault({ kind: "status", status }, onceOn("getMicPublicCapabilities"));
  const statuses = [];
  for (let round = 0; round < 4; round += 1) statuses.push((await capabilities(service)).status);
  expect(statuses).toEqual([500, 502, 503, 200]);
});

test("an invalid fault is refused", async () => {
  const service = await serviceForTest();
  const refused = [
    {},
    { fault: { kind: "nonsense" } },
    { fault: { kind: "status" } },
    { fault: { kind: "delay" } },
    { fault: { kind: "delay", delayMs: -1 } },
    { fault: { kind: "drop-before" }, times: 0 },
    { fault: { kind: "drop-before" }, operationId: "noSuchOperation" },
    { fault: { kind: "drop-before" }, unexpected: 1 },
  ];
  for (const body of refused) {
    const answer = await service.send({
      method: "POST",
      path: "/__emulator/faults",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect([body, Math.floor(answer.status / 100)]).toEqual([body, 4]);
  }
  expect((await capabilities(service)).status).toBe(200);
});
