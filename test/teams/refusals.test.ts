// Tests what an operator learns about refused requests: a log line a minute for each reason, with the token's values and the required
// values, and never the token or its subject.
import { expect, test } from "vitest";
import { createRedactor } from "../../src/credentials/redaction.ts";
import { createModernClient } from "../mcp/http/raw-client.ts";
import type { TokenOptions } from "../support/identity-provider.ts";
import { loadTelemetryForTest, receiverForTest } from "../telemetry/receiver.ts";
import { deploymentForTest } from "./in-process-deployment.ts";

/** Starts a deployment, and collects the lines of its log at `warn`, and the counted reasons. */
async function setUp() {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const receiver = await receiverForTest();
  const startTelemetry = await loadTelemetryForTest(receiver);
  let nowMs = 0;
  const noop = (): void => undefined;
  const warn = (facts: object, message: string) => void lines.push({ message, ...facts });
  const log = { debug: noop, info: noop, warn, error: noop };
  const telemetry = startTelemetry?.({ log, redactor: createRedactor() });
  const deployment = await deploymentForTest({
    callerLimits: { rate: 3, calls: 100 },
    log,
    monotonicMs: () => nowMs,
    telemetry,
  });
  const callWith = async (authorization: string, tool = "look") =>
    (await createModernClient(deployment.url, {}, { authorization }).call(1, tool, {}).answer).status;
  return {
    ...deployment,
    lines,
    /** The number of refusals, by reason. */
    async readCounts() {
      await telemetry?.close();
      const points = receiver.points().filter(({ name }) => name === "mic.http.refusals");
      return Object.fromEntries(points.map(({ attributes, value }) => [attributes["mic.refusal.reason"], value]));
    },
    advance(ms: number): void {
      nowMs += ms;
    },
    callWith,
    callAs: async (options: TokenOptions, audience = deployment.resource, tool = "look") =>
      await callWith(`Bearer ${await deployment.provider.issueToken(audience, options)}`, tool),
  };
}

test("a refused token is logged with its audience, groups and scopes and with the required ones, once a minute", async () => {
  const { lines, readCounts, callAs, advance, resource, provider } = await setUp();
  const options = { groups: ["greens"], scope: "email" };
  for (let count = 0; count < 3; count++) expect(await callAs(options, "https://other.example")).toBe(401);
  expect(lines).toEqual([
    {
      message: "requests were refused",
      refusal: "wrong_audience",
      count: 1,
      address: "127.0.0.1",
      reason: "The token was issued for another server.",
      token: { issuer: [provider.issuer], audiences: ["https://other.example"], scopes: ["email"], groups: ["greens"] },
      required: { audiences: [resource], scopes: ["mic:read", "mic:act"], groupsClaim: "groups" },
    },
  ]);
  advance(60_001);
  expect(await callAs(options, "https://other.example")).toBe(401);
  expect(lines).toMatchObject([{ count: 1 }, { count: 3 }]);
  expect(await readCounts()).toEqual({ wrong_audience: 4 });
  expect(JSON.stringify(lines)).not.toContain("alice");
});

test("a missing scope and an exceeded rate are logged and counted by reason", async () => {
  const { lines, readCounts, callAs } = await setUp();
  const reader = { scope: "mic:read", groups: ["red"] };
  expect(await callAs(reader, undefined, "act")).toBe(403);
  for (const status of [200, 200, 429]) expect(await callAs(reader)).toBe(status);
  expect(await readCounts()).toEqual({ insufficient_scope: 1, rate_limited: 1 });
  expect(lines).toMatchObject([
    { refusal: "insufficient_scope", token: { scopes: ["mic:read"], groups: ["red"] } },
    { refusal: "rate_limited", reason: "at most 3 calls per minute for each caller" },
  ]);
});

test("requests without a token and with an expired one are counted and not logged, because each sign-in begins with one", async () => {
  const { lines, readCounts, callWith, callAs } = await setUp();
  expect(await callWith("")).toBe(401);
  expect(await callAs({ seconds: -3_600 })).toBe(401);
  expect(await readCounts()).toEqual({ no_token: 1, expired_token: 1 });
  expect(lines).toEqual([]);
});
