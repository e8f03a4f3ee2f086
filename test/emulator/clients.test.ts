// Tests an emulator with several clients, which share no data, and several emulators: the same seed gives the same data.

import { expect, test } from "vitest";
import * as z from "zod/v4";
import { start } from "../mcp/stdio/child.ts";
import { operations } from "../operations.ts";
import { runInProcess as run } from "../support/command.ts";
import { createManualClock, emulatorForTest } from "../support/emulator.ts";
import { Service, serviceForTest } from "./service.ts";
import { FILE, listOffers, runJobToEnd, submitJob } from "./work.ts";

const Counted = z.array(
  z.looseObject({
    clientId: z.string().optional(),
    operationId: z.string().nullable(),
    idempotencyKey: z.string().optional(),
  }),
);

/** One client of the service for each of the emulator's clients. */
async function servicesForTest(clients: number): Promise<readonly Service[]> {
  const clock = createManualClock();
  const emulator = await emulatorForTest({ clock, clients });
  return emulator.clients.map((facts) => new Service({ ...emulator, ...facts }, clock));
}

const register = ({ emulator }: Service, key: string) => ({
  key,
  body: { workspaceId: emulator.workspaceId, inputKind: "M4_FILE", referenceId: emulator.fileIds[0] },
});

test("clients share no id, workspace or secret, and the first one equals the client of a single-client emulator", async () => {
  const services = await servicesForTest(3);
  const [singleEmulator, first] = [(await serviceForTest()).emulator, services[0]?.emulator];
  expect(first?.clientId).toBe(singleEmulator.clientId);
  expect(first?.workspaceId).toBe(singleEmulator.workspaceId);
  expect(first?.inputIds).toEqual(singleEmulator.inputIds);
  const all = services.flatMap(
    ({ emulator: { clientId, clientSecret, workspaceId, fileIds, inputIds, recipeVersionIds } }) => [
      ...[clientId, clientSecret, workspaceId],
      ...[...fileIds, ...inputIds, ...recipeVersionIds],
    ],
  );
  expect(new Set(all).size).toBe(all.length);
});

test("a client's token gives access only to its own workspace", async () => {
  const [one, other] = await servicesForTest(2);
  if (one === undefined || other === undefined) throw new Error("two were asked for");
  const [inputIdOfOne = ""] = one.emulator.inputIds;
  const { data } = await one.ok(operations.listMicJobs, { query: { workspaceId: one.emulator.workspaceId } });
  const [job] = data;
  await one.ok(operations.getMicPublicInput, { path: { inputId: inputIdOfOne } });
  expect((await other.call(operations.getMicPublicInput, { path: { inputId: inputIdOfOne } })).status).toBe(404);
  expect((await other.call(operations.getMicJob, { path: { jobId: job?.id ?? "" } })).status).toBe(404);
  const queryOfOne = { query: { workspaceId: one.emulator.workspaceId } };
  expect((await other.call(operations.listMicJobs, queryOfOne)).status).toBe(403);
});

test("an Idempotency-Key belongs to one client, and executions are counted by client", async () => {
  const services = await servicesForTest(2);
  for (const service of services)
    for (const _ of "ab") await service.ok(operations.createMicPublicInput, register(service, "one-key-for-both"));
  const [one] = services;
  const executions = Counted.parse(await one?.admin("GET", "executions"));
  const clientIds = services.map(({ emulator }) => emulator.clientId);
  expect(executions).toEqual(
    clientIds.map((clientId) => ({
      clientId,
      operationId: "createMicPublicInput",
      idempotencyKey: "one-key-for-both",
      executions: 1,
    })),
  );
  const requests = Counted.parse(await one?.admin("GET", "requests"));
  expect(
    requests.filter(({ operationId }) => operationId === "createMicPublicInput").map(({ clientId }) => clientId),
  ).toEqual(clientIds.flatMap((clientId) => [clientId, clientId]));
});

test("the records of a single-client emulator have no client id", async () => {
  const service = await serviceForTest();
  await service.ok(operations.createMicPublicInput, register(service, "the-only-one"));
  for (const what of ["requests", "executions"])
    expect(Counted.parse(await service.admin("GET", what)).filter(({ clientId }) => clientId !== undefined)).toEqual(
      [],
    );
});

test("the emulator lists the latest requests and executions, up to the configured numbers and without tokens", async () => {
  const service = await serviceForTest({ maxRequestRecords: 2, maxExecutionRecords: 1 });
  for (const key of ["key-number-1", "key-number-2", "key-number-3"])
    await service.ok(operations.createMicPublicInput, register(service, key));
  const requests = Counted.parse(await service.admin("GET", "requests"));
  expect(requests.map(({ idempotencyKey }) => idempotencyKey)).toEqual(["key-number-2", "key-number-3"]);
  const { scopes } = operations.createMicPublicInput;
  expect(JSON.stringify(requests)).not.toContain(await service.token(scopes));
  const executions = Counted.parse(await service.admin("GET", "executions"));
  expect(executions.map(({ idempotencyKey }) => idempotencyKey)).toEqual(["key-number-3"]);
});

test("mic-mcp emulator --clients prints all clients in its line", async () => {
  const program = start(["emulator", "--clients", "3"]);
  const facts = { clientId: z.string(), clientSecret: z.string(), workspaceId: z.string().startsWith("micws_") };
  const line = z
    .looseObject({ ...facts, clients: z.array(z.looseObject(facts)).length(3) })
    .parse(await program.next());
  expect(line.clients[0]).toMatchObject({ clientId: line.clientId, clientSecret: line.clientSecret });
  const { code, stderr } = await run(["emulator", "--clients", "0"]);
  expect(code).toBe(2);
  expect(stderr).toContain("--clients");
});

const idsAndSecretsOf = ({ emulator }: Service) => ({
  workspaceId: emulator.workspaceId,
  fileIds: emulator.fileIds,
  assetIds: emulator.assetIds,
  inputIds: emulator.inputIds,
  recipeVersionIds: emulator.recipeVersionIds,
});

const jobsOf = async (service: Service) =>
  (await service.ok(operations.listMicJobs, { query: { workspaceId: service.emulator.workspaceId, limit: 100 } })).data;

test("the same seed gives the same data, and the same requests then give the same ids", async () => {
  const [one, other] = [await serviceForTest({ seed: "a seed" }), await serviceForTest({ seed: "a seed" })];
  expect(idsAndSecretsOf(other)).toEqual(idsAndSecretsOf(one));
  expect(await jobsOf(other)).toEqual(await jobsOf(one));
  expect(await listOffers(other)).toEqual(await listOffers(one));
  expect(await submitJob(other, FILE.succeeds)).toEqual(await submitJob(one, FILE.succeeds));
  expect(await runJobToEnd(other, FILE.failsRetryably)).toEqual(await runJobToEnd(one, FILE.failsRetryably));
});

test("another seed gives other ids", async () => {
  const [one, other] = [await serviceForTest({ seed: "a" }), await serviceForTest({ seed: "b" })];
  expect(other.emulator.workspaceId).not.toBe(one.emulator.workspaceId);
  const shared = new Set((await jobsOf(one)).map(({ id }) => id));
  expect((await jobsOf(other)).filter(({ id }) => shared.has(id))).toEqual([]);
});

test("two emulators share no data", async () => {
  const [one, other] = [await serviceForTest({ seed: "x" }), await serviceForTest({ seed: "x" })];
  const { id } = await submitJob(one, FILE.succeeds);
  expect((await jobsOf(other)).map((job) => job.id)).not.toContain(id);
  const token = await one.token(["mic.capabilities:read"]);
  const answer = await other.call(operations.getMicPublicCapabilities, {
    query: { workspaceId: other.emulator.workspaceId },
    headers: { authorization: `Bearer ${token}` },
  });
  expect(answer.status).toBe(401);
});
