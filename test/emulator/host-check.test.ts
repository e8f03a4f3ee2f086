// Tests the host check: it refuses web pages of other origins and DNS rebinding, and accepts each legitimate client.
import { networkInterfaces } from "node:os";
import { describe, expect, test } from "vitest";
import { operations } from "../operations.ts";
import { words } from "../support/words.ts";
import { createRawClient, expectPlaygroundError, expectProblem, parseJson, valueAt } from "./http.ts";
import { type Service, serviceForFile, serviceForTest } from "./service.ts";

const service = serviceForFile();
const STATES = operations.listPlaygroundStates.path;
const CLOCK = "/__emulator/clock";

/** In the headers `PORT` is replaced by the emulator's port. */
function send(to: Service, path: string, headers: Readonly<Record<string, string>>) {
  const { port } = new URL(to.emulator.baseUrl);
  const filledHeaders = Object.entries(headers).map(([name, value]) => [name, value.replaceAll("PORT", port)]);
  return to.send({ path, headers: Object.fromEntries(filledHeaders) });
}

// test/mcp/http/host-check.test.ts tests more values with the same parsers.
test.each([
  [
    "Host",
    "127.0.0.1:PORT LocalHost:PORT [::1]:PORT localhost",
    "evil.example:PORT localhost:1 0.0.0.0:PORT emulator:PORT",
  ],
  ["Origin", "http://localhost:3000 https://127.0.0.1:PORT", "null http://evil.example http://localhost@evil.example"],
])("a %s that names this machine is accepted on loopback, and any other is refused", async (name, own, foreign) => {
  for (const value of words(own))
    for (const path of [STATES, CLOCK])
      expect((await send(service(), path, { [name]: value })).status, value).toBe(200);
  for (const value of words(foreign)) {
    expectPlaygroundError(await send(service(), STATES, { [name]: value }), 403, "PLAYGROUND_REQUEST_DENIED");
    const admin = await send(service(), CLOCK, { [name]: value });
    expect([admin.status, valueAt(parseJson(admin.text), "error")]).toEqual([403, expect.stringContaining(name)]);
  }
});

test("a denied request gets the error format of its API", {
  tags: ["7.1/denied", "7.1/body", "7.2/problem"],
}, async () => {
  const headers = { host: "evil.example" };
  const jobs = await service().call(operations.listMicJobs, { ...service().inWorkspace(), headers });
  expect(expectProblem(jobs, 403)).toMatchObject({
    code: "REQUEST_DENIED",
    fieldErrors: [{ pointer: "/header/Host" }],
  });
  const token = await service().requestToken("grant_type=client_credentials&scope=mic.jobs:read", headers);
  expect([token.status, valueAt(parseJson(token.text), "error")]).toEqual([403, "invalid_request"]);
  expectPlaygroundError(await send(service(), STATES, headers), 403, "PLAYGROUND_REQUEST_DENIED");
});

test("a denied request changes nothing, counts toward no limit, is not recorded, and is refused before its body arrives", async () => {
  const own = await serviceForTest({ requestsPerPeer: 30 });
  const hostile = { host: "evil.example", origin: "http://evil.example" };
  const requests = await own.admin("GET", "requests");
  for (const [path, body] of [
    ["/__emulator/faults", JSON.stringify({ fault: { kind: "hang" } })],
    [CLOCK, JSON.stringify({ advanceMs: 60_000 })],
    [CLOCK, "x".repeat(4 * 1024 * 1024)],
  ] as const) {
    const headers = { ...hostile, "content-type": "application/json" };
    expect((await own.send({ method: "POST", path, headers, body })).status).toBe(403);
  }
  const refusedRequests = await Promise.all(Array.from({ length: 40 }, () => send(own, STATES, hostile)));
  expect(new Set(refusedRequests.map(({ status }) => status))).toEqual(new Set([403]));
  expect(await own.admin("GET", "requests")).toEqual(requests);
  // The denied requests used no rate, and the fault was not stored.
  expect((await own.send({ path: STATES })).status).toBe(200);
});

const lan = Object.values(networkInterfaces())
  .flatMap((addresses = []) => addresses)
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

describe("a listener on all interfaces", () => {
  const openService = serviceForFile({ host: "0.0.0.0" });

  test("accepts an address, a mapped port and a name of a local network, and refuses public names and foreign origins", async () => {
    for (const host of words("192.0.2.7:PORT [2001:db8::7]:PORT localhost:9000 emulator:8080 desk.local:PORT"))
      for (const origin of ["", `http://${host}`]) {
        const headers: Readonly<Record<string, string>> = origin === "" ? { host } : { host, origin };
        expect((await send(openService(), STATES, headers)).status, host).toBe(200);
      }
    const refused: readonly Readonly<Record<string, string>>[] = [
      { host: "192.0.2.7.nip.io:PORT" },
      { host: "emulator:PORT", origin: "http://evil.example" },
      { host: "192.0.2.7:PORT", origin: "http://192.0.2.8:PORT" },
    ];
    for (const headers of refused)
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
