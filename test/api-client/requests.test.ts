// Tests the requests that are sent: the right endpoint, exact bytes and headers, on connections that are reused.
import fc from "fast-check";
import { expect } from "vitest";
import { encodeRequest } from "../../src/api-client/encode.ts";
import { cancelMicJob, listMicJobs } from "../../src/contract/endpoints/job-processing.ts";
import { Failure } from "../../src/core/failure.ts";
import { enveloped, job, jobList, operation } from "../contract/samples.ts";
import { anyCharacter } from "../support/any-character.ts";
import { test } from "../support/fixtures.ts";
import { answer } from "../support/stub.ts";
import { clientForTest, createCallContext, expectFailure, KEY, readJob } from "./client.ts";

/** 1-128 characters of any kind that a URL can carry, with more dots, slashes, percents and separators than in random text. */
const anyId = fc
  .array(
    fc.oneof(
      fc.constantFrom(..."./\\%?#;:@&=+ ~!'()*\u0000\t\n", "%2e", "%2F", "..", "é", "🍨"),
      fc.string({ unit: anyCharacter, maxLength: 3 }),
    ),
    { minLength: 1, maxLength: 40 },
  )
  .map((parts) => [...parts.join("")].slice(0, 128).join(""))
  .filter((id) => id !== "" && id !== "." && id !== ".." && !/\p{Surrogate}/u.test(id));

test("an id of any characters in a path names exactly its own resource, and a body carries any text unchanged", {
  tags: ["4.2/assumes-no-path-id-format"],
}, async ({ stub, service }) => {
  stub.respond(() => answer(202, enveloped(operation)));
  await fc.assert(
    fc.asyncProperty(anyId, fc.string({ unit: anyCharacter }), async (jobId, reason) => {
      const call = { path: { jobId }, body: { reason }, ifMatch: '"1"' };
      await service.send(cancelMicJob, encodeRequest(cancelMicJob, call), KEY, createCallContext(10_000));
      const { target = "", body } = stub.requests.at(-1) ?? {};
      expect(JSON.parse(String(body))).toEqual({ reason });
      expect(target).toBe(`/sandbox/v1/mic/jobs/${encodeURIComponent(jobId)}/cancellations`);
      const { pathname, search, hash } = new URL(target, stub.baseUrl);
      expect([pathname, search, hash], "a URL's reader takes it for the same").toEqual([target, "", ""]);
    }),
    { numRuns: 300 },
  );
});

test.for([".", "..", "\ud800", "a\udc00b"] as const)(
  "an id is refused if no path can carry it: %j",
  async (jobId, { stub, service }) => {
    const facts = { kind: "invalid_arguments", sideEffect: "none" };
    expect(await expectFailure(readJob(service, createCallContext(5000), jobId))).toMatchObject(facts);
    expect(stub.requests).toHaveLength(0);
  },
);

test("a query value of any characters arrives unchanged, without other parameters", async ({ stub, service }) => {
  stub.respond(() => answer(200, jobList));
  await fc.assert(
    fc.asyncProperty(
      anyId,
      anyId,
      fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
      async (workspaceId, cursor, limit) => {
        await service.call(listMicJobs, { query: { workspaceId, limit, cursor } }, createCallContext(10_000));
        const url = new URL(stub.requests.at(-1)?.target ?? "", "http://stub");
        expect(url.pathname).toBe("/sandbox/v1/mic/jobs");
        const expected = { workspaceId, ...(limit !== undefined && { limit: String(limit) }), cursor };
        expect([...url.searchParams]).toEqual(Object.entries(expected));
      },
    ),
    { numRuns: 200 },
  );
});

test("a query value that no URL can carry is refused, not replaced by another", () => {
  const query = { workspaceId: "a\ud800" };
  expect(() => encodeRequest(listMicJobs, { query })).toThrow(Failure);
});

test.for(["", "/", "///"] as const)("the base URL may end in %j", async (end, { stub }) => {
  const { service } = clientForTest(`${stub.baseUrl}/geo/api${end}`);
  // The token endpoint is also below the base URL.
  stub.expect(answer(200, { access_token: "token-below-the-base" }), answer(200, enveloped(job)));
  await readJob(service);
  const targets = stub.requests.map(({ target }) => target);
  expect(targets).toEqual(["/geo/api/sandbox/oauth/token", "/geo/api/sandbox/v1/mic/jobs/job-1"]);
});

test("connections are reused, and those that the API closed are replaced", async ({ stub, service }) => {
  stub.respond(() => answer(200, enveloped(job)));
  for (let n = 0; n < 20; n++) await readJob(service);
  // There may be two, because the next call may begin before the first connection is idle again.
  expect(Math.max(...stub.requests.map(({ connection }) => connection))).toBeLessThanOrEqual(2);
  stub.respond(() => answer(200, enveloped(job), { connection: "close" }));
  for (let n = 0; n < 5; n++) expect((await readJob(service)).attempts).toBe(1);
});
