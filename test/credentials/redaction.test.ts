// Tests that no part of a secret reaches a client: in a header, a file's type or a truncated text. test/mcp/secrets.test.ts tests the
// other places.
import { expect, test } from "vitest";
import { basicHeader } from "../../src/credentials/oauth.ts";
import { problem } from "../contract/samples.ts";
import { inProcessClientForTest } from "../support/mcp.ts";
import { answer, type Step, stubForTest } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";

const TOKEN = "tok-5f2d8c1e9a7b4d60";
const SECRETS = ["s3cr3t-0123456789abcdef", "pa\"ss\\wo rd%2F+/=<>&'#{}"];
const clientId = "stub-client";

async function setUp(clientSecret: string) {
  const stub = await stubForTest();
  stub.respondToToken(() => answer(200, { access_token: TOKEN }));
  const { callTool } = await inProcessClientForTest("v2-modern", {
    MIC_BASE_URL: stub.baseUrl,
    MIC_CLIENT_ID: clientId,
    MIC_CLIENT_SECRET: clientSecret,
    MIC_DOWNLOAD_DIR: await folderForTest(),
  });
  const basic = basicHeader({ clientId, clientSecret }).slice("Basic ".length);
  const raw = Buffer.from(`${clientId}:${clientSecret}`).toString("base64");
  const encoded = [JSON.stringify(clientSecret).slice(1, -1), encodeURIComponent(clientSecret)];
  const forms = [clientSecret, ...encoded, TOKEN, basic, raw];
  return { stub, callTool, basic, leaksIn: (text: string) => forms.filter((form) => text.includes(form)) };
}

test.each(SECRETS)(
  "secrets are redacted in headers, in HTML and in a file's type, and sent only in their own header: %s [5/secret-stays-in-server]",
  async (secret) => {
    const { stub, callTool, basic, leaksIn } = await setUp(secret);
    const echo = encodeURI(`${secret} Bearer ${TOKEN} Basic ${basic}`);
    const steps: readonly Step[] = [
      answer(404, "", { "x-request-id": echo.slice(0, 128), "x-echo": echo }),
      answer(500, `<html>${secret} ${TOKEN} ${basic}</html>`, { "retry-after": "600" }),
      answer(200, "bytes", { "content-type": `text/x; a=${TOKEN}; b="${basic}"` }),
    ];
    for (const step of steps) {
      stub.expect(step);
      expect(leaksIn((await callTool("download_asset", { assetId: "asset-1" })).raw)).toEqual([]);
    }
    expect(stub.tokenRequests).toHaveLength(1);
    for (const { target, headers, body } of [...stub.requests, ...stub.tokenRequests]) {
      const { authorization, ...others } = headers;
      expect(authorization).toBe(target.endsWith("/oauth/token") ? `Basic ${basic}` : `Bearer ${TOKEN}`);
      expect(leaksIn(target + JSON.stringify(others) + body.toString())).toEqual([]);
    }
  },
);

test.each(SECRETS)("a truncated text shows no part of a secret: %s [5/secret-stays-in-server]", async (secret) => {
  const { stub, callTool } = await setUp(secret);
  const start = secret.slice(0, 10);
  for (const padding of [120, 140, 150, 280, 290]) {
    stub.expect(answer(422, { ...problem, title: "x".repeat(padding) + secret }));
    const { raw, text } = await callTool("get_job", { jobId: "job-1" });
    expect(raw, `after ${padding}`).not.toContain(JSON.stringify(start).slice(1, -1));
    expect(text, `after ${padding}`).not.toContain(start);
  }
});
