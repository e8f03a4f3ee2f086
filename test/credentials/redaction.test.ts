// Tests that no part of a secret reaches a client: in a header, a file's type or a truncated text.
import { expect, test } from "vitest";
import { basicHeader } from "../../src/credentials/oauth.ts";
import { problem } from "../contract/samples.ts";
import { inProcessClientForTest } from "../support/mcp.ts";
import { answer, type Step, stubForTest } from "../support/stub.ts";
import { folderForTest } from "../support/temporary-folder.ts";

const TOKEN = "tok-5f2d8c1e9a7b4d60";
const SECRETS = ["s3cr3t-0123456789abcdef", "pa\"ss\\wo rd%2F+/=<>&'#{}"];
const clientId = "stub-client";

test.each(SECRETS)(
  "a secret is redacted in headers, HTML, a file's type and truncated texts, and sent only in its own header: %s",
  { tags: ["5/secret-stays-in-server"] },
  async (clientSecret) => {
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
    // A truncated text may end within the secret.
    const starts = [clientSecret.slice(0, 10), JSON.stringify(clientSecret.slice(0, 10)).slice(1, -1)];
    const forms = [...starts, encodeURIComponent(clientSecret), TOKEN, basic, raw];
    const leaksIn = (text: string) => forms.filter((form) => text.includes(form));
    const echo = encodeURI(`${clientSecret} Bearer ${TOKEN} Basic ${basic}`);
    const steps: readonly Step[] = [
      answer(404, "", { "x-request-id": echo.slice(0, 128), "x-echo": echo }),
      answer(500, `<html>${clientSecret} ${TOKEN} ${basic}</html>`, { "retry-after": "600" }),
      answer(200, "bytes", { "content-type": `text/x; a=${TOKEN}; b="${basic}"` }),
      ...[120, 140, 150, 280, 290].map((padding) =>
        answer(422, { ...problem, title: "x".repeat(padding) + clientSecret }),
      ),
    ];
    for (const [index, step] of steps.entries()) {
      stub.expect(step);
      const { raw: output, text } = await callTool("download_asset", { assetId: "asset-1" });
      expect(leaksIn(output + text), `step ${index}`).toEqual([]);
    }
    expect(stub.tokenRequests).toHaveLength(1);
    for (const { target, headers, body } of [...stub.requests, ...stub.tokenRequests]) {
      const { authorization, ...others } = headers;
      expect(authorization).toBe(target.endsWith("/oauth/token") ? `Basic ${basic}` : `Bearer ${TOKEN}`);
      expect(leaksIn(target + JSON.stringify(others) + body.toString())).toEqual([]);
    }
  },
);
