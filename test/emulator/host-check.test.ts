// Tests the host check: it refuses web pages of other origins and DNS rebinding, and accepts each legitimate client.
import { networkInterfaces } from "node:os";
import { describe, expect, test } from "vitest";
import { operations } from "../operations.ts";
import { words } from "../support/words.ts";
import { createRawClient, expectPlaygroundError, expectProblem, parseJson, valueAt } from "./http.ts";
import { basic, type Service, serviceForFile, serviceForTest } from "./service.ts";

const service = serviceForFile();
const STATES = operations.listPlaygroundStates.path;
const CLOCK = "/__emulator/clock";

/** In the headers `PORT` is replaced by the emulator's port. */
function send(to: Service, path: string, headers: Readonly<Record<string, string>>) {
  const { port } = new URL(to.emulator.baseUrl);
  const filledHeaders = Object.entries(headers).map(([name, value]) => [name, value.replaceAll("PORT", port)]);
  return to.send({ path, headers: Object.fromEntries(filledHeaders) });
}

describe("a loopback listener", () => {
  test.each(["127.0.0.1:PORT", "localhost:PORT", "LocalHost:PORT", "[::1]:PORT", "localhost", "127.0.0.1"])(
    "Host %s is accepted on loopback",
    async (host) => {
      for (const path of [STATES, CLOCK]) expect((await send(service(), path, { host })).status).toBe(200);
    },
  );

  test.each([
    "evil.example",
    "evil.example:PORT",
    "localhost:1",
    "localhost.:PORT",
    "localhost.evil.example:PORT",
    "evil.localhost:PORT",
    "127.0.0.1.nip.io:PORT",
    "127.1:PORT",
    "0.0.0.0:PORT",
    "user@localhost:PORT",
    "emulator:PORT",
    "localhost, evil.example",
  ])("Host %s is refused on loopback", async (host) => {
    expectPlaygroundError(await send(service(), STATES, { host }), 403, "PLAYGROUND_REQUEST_DENIED");
    const admin = await send(service(), CLOCK, { host });
    expect([admin.status, valueAt(parseJson(admin.text), "error")]).toEqual([403, expect.stringContaining("Host")]);
  });

  test.each(["http://localhost:3000", "https://127.0.0.1:PORT", "http://[::1]:6274"])(
    "Origin %s is accepted on loopback",
    async (origin) => {
      for (const path of [STATES, CLOCK]) expect((await send(service(), path, { origin })).status).toBe(200);
    },
  );

  test.each(
    words(`
    null http://evil.example https://evil.example:PORT http://localhost.evil.example http://localhost@evil.example
    file:// http://127.0.0.1.nip.io localhost`),
  )("Origin %s is refused on loopback", async (origin) => {
    expectPlaygroundError(await send(service(), STATES, { origin }), 403, "PLAYGROUND_REQUEST_DENIED");
    const admin = await send(service(), CLOCK, { origin });
    expect([admin.status, valueAt(parseJson(admin.text), "error")]).toEqual([403, expect.stringContaining("Origin")]);
  });
});

test("a denied request gets the error format of its API [7.1/denied, 7.1/body, 7.2/problem]", async () => {
  const { clientId, clientSecret, workspaceId } = service().emulator;
  const host = "evil.example";
  const jobs = await service().call(operations.listMicJobs, { query: { workspaceId }, headers: { host } });
  const { code, fieldErrors } = expectProblem(jobs, 403);
  expect({ code, fieldErrors }).toMatchObject({ code: "REQUEST_DENIED", fieldErrors: [{ pointer: "/header/Host" }] });
  const token = await service().requestToken("grant_type=client_credentials&scope=mic.jobs:read", {
    authorization: basic(clientId, clientSecret),
    host,
  });
  expect([token.status, valueAt(parseJson(token.text), "error")]).toEqual([403, "invalid_request"]);
  expectPlaygroundError(await send(service(), STATES, { host }), 403, "PLAYGROUND_REQUEST_DENIED");
});

test("a denied request changes nothing, counts toward no limit and is not recorded", async () => {
  const ownService = await serviceForTest({ requestsPerPeer: 30 });
  const hostile = { host: "evil.example", origin: "http://evil.example" };
  const requests = await ownService.admin("GET", "requests");
  const json = { ...hostile, "content-type": "application/json" };
  const fault = JSON.stringify({ fault: { kind: "hang" } });
  expect(
    (await ownService.send({ method: "POST", path: "/__emulator/faults", headers: json, body: fault })).status,
  ).toBe(403);
  const advance = JSON.stringify({ advanceMs: 60_000 });
  expect((await ownService.send({ method: "POST", path: CLOCK, headers: json, body: advance })).status).toBe(403);
  const refusedRequests = await Promise.all(Array.from({ length: 40 }, () => send(ownService, STATES, hostile)));
  expect(new Set(refusedRequests.map(({ status }) => status))).toEqual(new Set([403]));
  expect(await ownService.admin("GET", "requests")).toEqual(requests);
  // The denied requests used no rate, and the fault was not stored.
  expect((await ownService.send({ path: STATES })).status).toBe(200);
});

test("a denied request is refused before its large body has arrived", async () => {
  const body = "x".repeat(4 * 1024 * 1024);
  const answer = await service().send({ method: "POST", path: CLOCK, headers: { host: "evil.example" }, body });
  expect(answer.status).toBe(403);
});

const lan = Object.values(networkInterfaces())
  .flatMap((addresses = []) => addresses)
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

describe("a listener on all interfaces", () => {
  const openService = serviceForFile({ host: "0.0.0.0" });

  test.each([
    ["an address", "192.0.2.7:PORT"],
    ["an IPv6 address", "[2001:db8::7]:PORT"],
    ["a port that a container maps", "localhost:9000"],
    ["a container's name", "emulator:8080"],
    ["a name of the local network", "desk.local:PORT"],
    ["a container's way to its host", "host.docker.internal:PORT"],
  ])("a client is accepted by %s", async (_, host) => {
    expect((await send(openService(), STATES, { host })).status).toBe(200);
    expect((await send(openService(), STATES, { host, origin: `http://${host}` })).status).toBe(200);
  });

  test.each([
    { host: "evil.example:PORT" },
    { host: "evil.example" },
    { host: "192.0.2.7.nip.io:PORT" },
    { host: "emulator:PORT", origin: "http://evil.example" },
    { host: "192.0.2.7:PORT", origin: "http://192.0.2.8:PORT" },
    { host: "192.0.2.7:PORT", origin: "null" },
  ])("a request with the headers %j is refused on all interfaces", async (headers) => {
    for (const path of [STATES, CLOCK]) expect((await send(openService(), path, headers)).status).toBe(403);
  });

  test.skipIf(lan === undefined)(
    "a client on another machine is served, and /__emulator is available only on this machine (needs a network)",
    async () => {
      const sendFromLan = createRawClient(`http://${lan}:${new URL(openService().emulator.baseUrl).port}`);
      expect((await sendFromLan({ path: STATES })).status).toBe(200);
      expect((await sendFromLan({ path: CLOCK })).status).toBe(403);
      expect((await openService().send({ path: CLOCK })).status).toBe(200);
    },
  );
});
