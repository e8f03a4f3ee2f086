// Tests injected faults: before or after the effect, as often and on the operation as requested.
import { expect } from "vitest";
import { operations } from "../operations.ts";
import { expectProblem } from "./http.ts";
import { nextKey, type Service, serviceForTest, test } from "./service.ts";
import { createJobBodyForFile, FILE } from "./work.ts";

const capabilities = (service: Service) => service.call(operations.getMicPublicCapabilities, service.inWorkspace());
const jobs = (service: Service) => service.call(operations.listMicJobs, service.inWorkspace());

const onceOn = (operationId: string) => ({ operationId, times: 1 });
const onceOnCapabilities = onceOn("getMicPublicCapabilities");

const submissionParts = async (service: Service) => ({
  body: await createJobBodyForFile(service, FILE.succeeds),
  key: nextKey(),
});

test("faults of kind hang and status occur before or after the effect: no answer, or a Problem with Retry-After", async () => {
  const service = await serviceForTest();
  for (const afterCommit of [false, true]) {
    const hanging = await submissionParts(service);
    await service.injectFault({ kind: "hang", afterCommit }, onceOn("createMicJob"));
    const call = service.call(operations.createMicJob, { ...hanging, signal: AbortSignal.timeout(120) });
    await expect(call).rejects.toThrow(/abort|timeout/i);

    const refused = await submissionParts(service);
    const fault = { kind: "status", status: 503, retryAfterSeconds: 7, code: "BUSY", retryable: true, afterCommit };
    await service.injectFault(fault, onceOn("createMicJob"));
    const answer = await service.call(operations.createMicJob, refused);
    expect(expectProblem(answer, 503)).toMatchObject({ code: "BUSY", retryable: true });
    expect(answer.headers["retry-after"]).toBe("7");
    for (const { key } of [hanging, refused]) expect(await service.countExecutions(key)).toBe(afterCommit ? 1 : 0);
  }
});

test("a fault occurs as often as requested, only on its operation, in the order of the requests, and not after DELETE", async () => {
  const service = await serviceForTest();
  const statuses = async (rounds: number) => {
    const all = [];
    for (let round = 0; round < rounds; round += 1)
      all.push((await capabilities(service)).status, (await jobs(service)).status);
    return all;
  };
  await service.injectFault({ kind: "status", status: 503 }, { ...onceOnCapabilities, times: 2 });
  await service.injectFault({ kind: "status", status: 502 }, onceOnCapabilities);
  expect(await statuses(4)).toEqual([503, 200, 503, 200, 502, 200, 200, 200]);

  await service.injectFault({ kind: "status", status: 500 }, { times: 2 });
  expect(await statuses(2)).toEqual([500, 500, 200, 200]);

  await service.injectFault({ kind: "status", status: 503 }, { operationId: "listMicJobs", times: 1000 });
  expect((await jobs(service)).status).toBe(503);
  await service.admin("DELETE", "faults");
  expect((await jobs(service)).status).toBe(200);
});

test("an invalid fault is refused", async ({ service }) => {
  for (const body of [
    { fault: { kind: "nonsense" } },
    { fault: { kind: "delay", delayMs: -1 } },
    { fault: { kind: "drop-before" }, operationId: "noSuchOperation" },
    { fault: { kind: "drop-before" }, unexpected: 1 },
  ])
    await expect(service.admin("POST", "faults", body), JSON.stringify(body)).rejects.toThrow(
      /expected 4\d\d to be less than 300/,
    );
  expect((await capabilities(service)).status).toBe(200);
});
