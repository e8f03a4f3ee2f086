// Tests that no secret, token or credential reaches a client or the log, wherever and however the API echoes it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { basicHeader } from "../../src/credentials/oauth.ts";
import { enveloped, job, problem } from "../contract/samples.ts";
import { connectionForFile } from "../support/mcp.ts";
import { answer, type Step, stubForFile } from "../support/stub.ts";

const TOKEN = "tok-5f2d8c1e9a7b4d60";

/** The text as it appears within JSON, within JSON in JSON, and so on. */
const layers = (text: string): string[] => {
  const inner = (value: string): string => JSON.stringify(value).slice(1, -1);
  return [text, inner(text), inner(inner(text)), inner(inner(inner(text)))];
};

const places: readonly (readonly [string, (text: string) => Step])[] = [
  ["a title", (text) => answer(422, { ...problem, title: text })],
  ["a code", (text) => answer(422, { ...problem, code: text.slice(0, 300) })],
  ["a request id", (text) => answer(422, { ...problem, requestId: text })],
  ["a header", (text) => answer(404, "", { "x-request-id": encodeURI(text).slice(0, 128), "x-echo": encodeURI(text) })],
  [
    "field errors",
    (text) =>
      answer(422, { ...problem, fieldErrors: [{ pointer: `/${text}`, code: text.slice(0, 90), message: text }] }),
  ],
  ["HTML", (text) => answer(500, `<html>${text}</html>`, { "retry-after": "600" })],
  [
    "a job",
    (text) =>
      answer(200, enveloped({ ...job, id: text.slice(0, 128), failure: { ...problem, title: text.slice(0, 160) } })),
  ],
  ["an unknown field", (text) => answer(200, enveloped({ ...job, [text]: text }))],
  ["a broken answer", (text) => answer(200, text)],
];

const stubOf = stubForFile();

let downloads = "";
beforeAll(async () => {
  downloads = await mkdtemp(join(tmpdir(), "mic-mcp-redaction-"));
  return () => rm(downloads, { recursive: true, force: true });
});

describe.each([
  ["a plain secret", "s3cr3t-0123456789abcdef"],
  ["a secret of odd characters", "pa\"ss\\wo rd%2F+/=<&>'#{}"],
])("redaction of %s", (_, clientSecret) => {
  const clientId = "stub-client";
  const basic = basicHeader({ clientId, clientSecret }).slice("Basic ".length);
  const raw = Buffer.from(`${clientId}:${clientSecret}`).toString("base64");
  const everything = `the secret ${clientSecret} the token Bearer ${TOKEN} the headers Basic ${basic} Basic ${raw} end`;
  const forms = new Set([...layers(clientSecret), encodeURIComponent(clientSecret), TOKEN, basic, raw]);
  const leaks = (text: string): string[] => [...forms].filter((form) => text.includes(form));

  const connectionOf = connectionForFile("v2-modern", () => ({
    env: {
      MIC_BASE_URL: stubOf().baseUrl,
      MIC_CLIENT_ID: clientId,
      MIC_CLIENT_SECRET: clientSecret,
      MIC_DOWNLOAD_DIR: downloads,
      // The most verbose log level.
      MIC_LOG_LEVEL: "debug",
    },
  }));

  beforeEach(() => stubOf().respondToToken(() => answer(200, { access_token: TOKEN })));
  afterEach(() => expect(leaks(connectionOf().stderr())).toEqual([]));

  for (const [place, step] of places)
    test(`secrets are redacted in ${place}, with token and header [5/secret-stays-in-server]`, async () => {
      const stub = stubOf();
      stub.respond(() => step(everything));
      const { raw } = await connectionOf().callTool("get_job", { jobId: "job-1" });
      expect(leaks(raw)).toEqual([]);
      expect(stub.requests.length).toBeGreaterThan(0);
    });

  test("secrets are redacted in a file's type [5/secret-stays-in-server]", async () => {
    stubOf().respond(() => answer(200, "bytes", { "content-type": `text/x; a=${TOKEN}; b="${basic}"` }));
    const { raw, isError } = await connectionOf().callTool("download_asset", { assetId: "asset-1" });
    expect(isError).toBe(false);
    expect(leaks(raw)).toEqual([]);
  });

  test("secrets are redacted in an error of the token endpoint [5/secret-stays-in-server]", async () => {
    stubOf().respondToToken(() => answer(401, { error: "invalid_client", error_description: everything }));
    const { raw, error } = await connectionOf().callTool("get_operation", { operationId: "operation-1" });
    expect(error).toMatchObject({ kind: "unauthorized" });
    expect(leaks(raw)).toEqual([]);
  });

  test("secrets are not shown partly when a text is truncated [5/secret-stays-in-server]", async () => {
    for (const padding of [120, 140, 150, 280, 290]) {
      stubOf().respond(() => answer(422, { ...problem, title: "x".repeat(padding) + clientSecret }));
      const { raw } = await connectionOf().callTool("get_job", { jobId: "job-1" });
      const parts = layers(clientSecret.slice(0, 10)).filter((part) => raw.includes(part));
      expect.soft(parts, `after ${padding} characters`).toEqual([]);
    }
  });

  test("the secret is sent only to the token endpoint, and the token only in its header [5/secret-stays-in-server]", async () => {
    const stub = stubOf();
    stub.respond(() => answer(404));
    // A scope set that no other test in this file requests.
    await connectionOf().callTool("get_usage", { workspaceId: "micws_1", window: "DAY" });
    expect(stub.tokenRequests).toHaveLength(1);
    for (const { target, headers, body } of [...stub.requests, ...stub.tokenRequests]) {
      const { authorization = "", ...others } = headers;
      expect([`Bearer ${TOKEN}`, `Basic ${basic}`]).toContain(authorization);
      expect(authorization.startsWith("Basic ")).toBe(target.endsWith("/oauth/token"));
      expect(leaks(target + JSON.stringify(others) + body.toString())).toEqual([]);
    }
  });
});
