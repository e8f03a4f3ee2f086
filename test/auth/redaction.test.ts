// No secret, token or credential reaches a client or the log, wherever and however the service echoes it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { basicHeader } from "../../src/auth/oauth.ts";
import { enveloped, job, problem } from "../contract/samples.ts";
import { proves } from "../proves.ts";
import { connectionForTest } from "../support/mcp.ts";
import { answer, type Step, stubForTest } from "../support/stub.ts";

const TOKEN = "tok-5f2d8c1e9a7b4d60";

/** The text as it stands within JSON, within JSON within JSON, and so on. */
const layers = (text: string): string[] => {
  const inner = (value: string): string => JSON.stringify(value).slice(1, -1);
  return [text, inner(text), inner(inner(text)), inner(inner(inner(text)))];
};

/** A server whose service answers with everything it was sent; its log at its most talkative. */
async function echoing(clientSecret: string) {
  const clientId = "stub-client";
  const basic = basicHeader({ clientId, clientSecret }).slice("Basic ".length);
  const downloads = await mkdtemp(join(tmpdir(), "mic-mcp-redaction-"));
  onTestFinished(() => rm(downloads, { recursive: true, force: true }));
  const stub = await stubForTest();
  stub.respondToToken(() => answer(200, { access_token: TOKEN }));
  const connection = await connectionForTest("v2-modern", {
    env: {
      MIC_BASE_URL: stub.baseUrl,
      MIC_CLIENT_ID: clientId,
      MIC_CLIENT_SECRET: clientSecret,
      MIC_DOWNLOAD_DIR: downloads,
      MIC_LOG_LEVEL: "debug",
    },
  });
  const forms = [...layers(clientSecret), encodeURIComponent(clientSecret), TOKEN, basic];
  return {
    stub,
    connection,
    everything: `the secret ${clientSecret} the token Bearer ${TOKEN} the header Basic ${basic} end`,
    /** What of the secrets stands in a text. */
    leaks: (text: string) => [...new Set(forms)].filter((form) => text.includes(form)),
  };
}

const SECRETS = {
  "a plain secret": "s3cr3t-0123456789abcdef",
  "a secret of odd characters": "pa\"ss\\wo rd%2F+/=<&>'#{}",
} as const;

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

for (const [kind, secret] of Object.entries(SECRETS))
  proves(
    "5/secret-stays-in-server",
    `${kind}, its token and its header are taken out of every answer and the log`,
    async () => {
      const { stub, connection, everything, leaks } = await echoing(secret);
      for (const [place, step] of places) {
        stub.respond(() => step(everything));
        const { raw } = await connection.callTool("get_job", { jobId: "job-1" });
        expect.soft(leaks(raw), place).toEqual([]);
      }
      const type = `text/x; a=${TOKEN}`;
      stub.respond(() => answer(200, "bytes", { "content-type": type }));
      const { raw, isError } = await connection.callTool("download_asset", { assetId: "asset-1" });
      expect(isError).toBe(false);
      expect.soft(leaks(raw), "a file's type").toEqual([]);

      // A scope set of its own, so that a token is asked for.
      stub.respondToToken(() => answer(401, { error: "invalid_client", error_description: everything }));
      const refused = await connection.callTool("get_operation", { operationId: "operation-1" });
      expect(refused.error).toMatchObject({ kind: "unauthorized" });
      expect.soft(leaks(refused.raw), "the token endpoint's refusal").toEqual([]);
      expect.soft(leaks(connection.stderr()), "the log").toEqual([]);
      expect(stub.requests.length).toBeGreaterThanOrEqual(places.length);
    },
  );

proves("5/secret-stays-in-server", "no secret shows in part where a text is cut", async () => {
  const secret = SECRETS["a plain secret"];
  const { stub, connection } = await echoing(secret);
  for (const padding of [120, 140, 150, 280, 290]) {
    stub.respond(() => answer(422, { ...problem, title: "x".repeat(padding) + secret }));
    const { raw } = await connection.callTool("get_job", { jobId: "job-1" });
    expect.soft(raw.includes(secret.slice(0, 10)), `after ${padding} characters`).toBe(false);
  }
});

proves(
  "5/secret-stays-in-server",
  "the secret goes to the token endpoint only, the token nowhere else than in its header",
  async () => {
    const secret = SECRETS["a plain secret"];
    const { stub, connection, leaks } = await echoing(secret);
    stub.respond(() => answer(200, enveloped(job)));
    await connection.callTool("get_job", { jobId: "job-1" });
    for (const { target, headers, body } of stub.requests) {
      const { authorization, ...others } = headers;
      expect(authorization).toBe(`Bearer ${TOKEN}`);
      expect(leaks(target + JSON.stringify(others) + body.toString())).toEqual([]);
    }
    for (const { target, headers, body } of stub.tokenRequests) {
      const { authorization: _, ...others } = headers;
      expect(leaks(target + JSON.stringify(others) + body.toString())).toEqual([]);
    }
  },
);
