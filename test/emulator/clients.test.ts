// Tests the records of an emulator, with one and several clients. test/teams/ shows that clients share no data, test/snapshots/ that a seed
// gives the same data.

import { expect, test } from "vitest";
import * as z from "zod/v4";
import { start } from "../mcp/stdio/child.ts";
import { operations } from "../operations.ts";
import { runInProcess as run } from "../support/command.ts";
import { createManualClock, emulatorForTest } from "../support/emulator.ts";
import { Service, serviceForTest } from "./service.ts";

const Counted = z.array(
  z.looseObject({
    clientId: z.string().optional(),
    operationId: z.string().nullable(),
    idempotencyKey: z.string().optional(),
  }),
);

async function servicesForTest(clients: number): Promise<readonly Service[]> {
  const clock = createManualClock();
  const emulator = await emulatorForTest({ clock, clients });
  return emulator.clients.map((facts) => new Service({ ...emulator, ...facts }, clock));
}

const register = (service: Service, key: string) =>
  service.ok(operations.createMicPublicInput, {
    key,
    body: {
      workspaceId: service.emulator.workspaceId,
      inputKind: "M4_FILE",
      referenceId: service.emulator.fileIds[0],
    },
  });
const records = async (service: Service | undefined, what: "requests" | "executions") =>
  Counted.parse(await service?.admin("GET", what));
test("an Idempotency-Key belongs to one client, and executions are counted by client", async () => {
  const services = await servicesForTest(2);
  for (const service of services) for (const _ of "ab") await register(service, "one-key-for-both");
  const [one] = services;
  const clientIds = services.map(({ emulator }) => emulator.clientId);
  const command = { operationId: "createMicPublicInput", idempotencyKey: "one-key-for-both" };
  expect(await records(one, "executions")).toEqual(
    clientIds.map((clientId) => ({ clientId, ...command, executions: 1 })),
  );
  const requests = (await records(one, "requests")).filter(({ operationId }) => operationId === command.operationId);
  expect(requests.map(({ clientId }) => clientId)).toEqual(clientIds.flatMap((clientId) => [clientId, clientId]));
});

test("the latest requests and executions are listed, up to the set numbers, without tokens or the id of the only client", async () => {
  const service = await serviceForTest({ maxRequestRecords: 2, maxExecutionRecords: 1 });
  for (const key of ["key-number-1", "key-number-2", "key-number-3"]) await register(service, key);
  const [requests, executions] = [await records(service, "requests"), await records(service, "executions")];
  expect(requests.map(({ idempotencyKey }) => idempotencyKey)).toEqual(["key-number-2", "key-number-3"]);
  expect(executions.map(({ idempotencyKey }) => idempotencyKey)).toEqual(["key-number-3"]);
  const { scopes } = operations.createMicPublicInput;
  expect(JSON.stringify(requests)).not.toContain(await service.token(scopes));
  for (const record of [...requests, ...executions]) expect(record).not.toHaveProperty("clientId");
});

test("mic-mcp emulator --clients prints all clients in one line", async () => {
  const line = z
    .looseObject({ clientId: z.string(), clients: z.array(z.looseObject({ clientId: z.string() })).length(3) })
    .parse(await start(["emulator", "--clients", "3"]).next());
  expect(line.clients[0]?.clientId).toBe(line.clientId);
  const { code, stderr } = await run(["emulator", "--clients", "0"]);
  expect(code).toBe(2);
  expect(stderr).toContain("--clients");
});
