// Tests the request rates of the playground, docs/contract.md, 8.
import { request } from "node:http";
import { expect, test } from "vitest";
import { operations } from "../operations.ts";
import { expectPlaygroundError } from "./http.ts";
import { type Service, serviceForTest } from "./service.ts";

const paths = [
  "/api/svc/core/developers/playground/v1/geo/states",
  "/api/svc/core/developers/playground/v1/geo/districts?state=GA",
  "/api/svc/core/developers/playground/v1/openapi.json",
];
const LIMITED = "PLAYGROUND_RATE_LIMITED";

/** Sends `count` requests to all endpoints in turn, and returns the statuses. */
async function sendRequests(
  service: Service,
  count: number,
  headers: Record<string, string> = {},
): Promise<readonly number[]> {
  const answers = await Promise.all(
    Array.from({ length: count }, (_, at) => service.send({ path: paths[at % 3] ?? "", headers })),
  );
  return answers.map(({ status }) => status);
}

const countOf = (statuses: readonly number[], status: number) => statuses.filter((one) => one === status).length;
const from = (address: string) => ({ "x-forwarded-for": address });

test("600 requests a minute are served over all endpoints together, then 429 until Retry-After has passed [8/hard-rate, 7.1/rate-limited, 7.1/retry-after, 7.1/body]", async () => {
  const service = await serviceForTest();
  expect(countOf(await sendRequests(service, 600), 200)).toBe(600);
  for (const path of paths) {
    const refused = await service.send({ path });
    expectPlaygroundError(refused, 429, LIMITED);
    expect(refused.headers["retry-after"]).toMatch(/^[1-9]\d*$/);
  }
  const seconds = Number((await service.send({ path: paths[0] ?? "" })).headers["retry-after"]);
  expect(seconds).toBeLessThanOrEqual(60);
  service.clock.advance(seconds * 1000);
  expect((await service.send({ path: paths[0] ?? "" })).status).toBe(200);
});

test("the rate applies in each minute, also to malformed requests, and not to the job-processing API", async () => {
  const service = await serviceForTest({ requestsPerPeer: 20 });
  await sendRequests(service, 20);
  service.clock.advance(60_000);
  const malformed = await Promise.all(
    Array.from({ length: 30 }, () => service.send({ path: `${paths[0]}?unknown=1` })),
  );
  const statuses = malformed.map(({ status }) => status);
  expect([countOf(statuses, 400), countOf(statuses, 429)]).toEqual([20, 10]);
  const query = { workspaceId: service.emulator.workspaceId };
  expect((await service.call(operations.getMicPublicCapabilities, { query })).status).toBe(200);
});

// Only on Linux can a client choose among the loopback addresses without setting them up first.
test.skipIf(process.platform !== "linux")(
  "each connected peer has a separate rate (needs Linux) [8/hard-rate]",
  async () => {
    const service = await serviceForTest({ host: "127.0.0.1", requestsPerPeer: 5 });
    expect(countOf(await sendRequests(service, 6), 429)).toBe(1);
    const { port } = new URL(service.emulator.baseUrl);
    const status = await new Promise((resolve, reject) => {
      request({ host: "127.0.0.1", port, path: paths[0], localAddress: "127.0.0.2", agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
    expect(status).toBe(200);
  },
);

test("each reported address has a rate of 30 a minute if the edge is trusted [8/reported-address-rate, 8/reported-address-trusted, 7.1/retry-after]", async () => {
  const service = await serviceForTest({ trustReportedAddress: true });
  const statuses = await sendRequests(service, 32, from("203.0.113.5"));
  expect([countOf(statuses, 200), countOf(statuses, 429)]).toEqual([30, 2]);
  expect(countOf(await sendRequests(service, 30, from("203.0.113.6")), 200)).toBe(30);
  expect(countOf(await sendRequests(service, 30, from("2001:db8::1")), 200)).toBe(30);
  const refused = await service.send({ path: paths[2] ?? "", headers: from("203.0.113.5") });
  expectPlaygroundError(refused, 429, LIMITED);
  const seconds = Number(refused.headers["retry-after"]);
  expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60).toBe(true);
  service.clock.advance(seconds * 1000);
  expect(countOf(await sendRequests(service, 1, from("203.0.113.5")), 200)).toBe(1);
});

test("a reported address is ignored if the edge is not trusted [8/reported-address-trusted]", async () => {
  const service = await serviceForTest();
  expect(countOf(await sendRequests(service, 60, from("203.0.113.5")), 200)).toBe(60);
});

test("only the hard rate applies if a trusted edge reports no address [8/reported-address-trusted]", async () => {
  const service = await serviceForTest({ trustReportedAddress: true });
  expect(countOf(await sendRequests(service, 60), 200)).toBe(60);
});
