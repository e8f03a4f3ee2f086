// Tests a web page on this machine as a client of `serve --http`, in Chromium: its preflight is answered and it can read the answers.
import { createServer } from "node:http";
import { chromium } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { CHROMIUM } from "../../apps/browser.ts";
import { listeningUrl } from "../../support/free-port.ts";
import { ACCEPT, initializeMessage, send } from "./raw-client.ts";
import { startHttp } from "./server.ts";

const TOKEN = "t".repeat(32);

/** Opens an empty page of a server on this machine, whose origin is not that of the MCP server. */
async function openPage() {
  const site = createServer((_request, response) => response.setHeader("content-type", "text/html").end("<title>x"));
  const siteUrl = await listeningUrl(site);
  onTestFinished(() => void site.close());
  const browser = await chromium.launch({ executablePath: CHROMIUM ?? "", args: ["--no-sandbox", "--disable-gpu"] });
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  await page.goto(siteUrl);
  return page;
}

test.skipIf(CHROMIUM === undefined)(
  "a web page on this machine starts a session, calls a tool and ends the session",
  async () => {
    const { url } = await startHttp({ env: { MIC_HTTP_TOKEN: TOKEN } });
    const page = await openPage();
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", accept: ACCEPT };
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_actions", arguments: {} } };
    const seen = await page.evaluate(
      async ({ endpoint, common, handshake, request }) => {
        const post = (body: object, more = {}) =>
          fetch(endpoint, { method: "POST", headers: { ...common, ...more }, body: JSON.stringify(body) });
        const refused = await fetch(endpoint, { method: "POST" });
        const initialized = await post(handshake);
        const session = {
          "mcp-session-id": initialized.headers.get("mcp-session-id") ?? "",
          "mcp-protocol-version": "2025-06-18",
        };
        const answer: unknown = await (await post(request, session)).json();
        const ended = await fetch(endpoint, { method: "DELETE", headers: { ...common, ...session } });
        const challenge = refused.headers.get("www-authenticate");
        return { refused: [refused.status, challenge], answer, ended: ended.status };
      },
      { endpoint: url, common: headers, handshake: initializeMessage(), request: call },
    );
    expect(seen).toMatchObject({
      refused: [401, expect.stringContaining("Bearer")],
      answer: { id: 1, result: { structuredContent: {} } },
      ended: 200,
    });
  },
);

test("a preflight is answered for an origin on this machine, and refused for any other", async () => {
  const { url } = await startHttp({ env: { MIC_HTTP_TOKEN: TOKEN } });
  const preflight = async (origin: string) => {
    const headers = { origin, "access-control-request-method": "POST" };
    return await send(url, { method: "OPTIONS", headers }).answer;
  };
  for (const origin of ["http://localhost:6274", "http://127.0.0.1", "https://[::1]:3000"]) {
    const answered = await preflight(origin);
    expect(answered).toMatchObject({ status: 204, headers: { "access-control-allow-origin": origin, vary: "origin" } });
    expect(answered.headers["access-control-allow-credentials"]).toBeUndefined();
  }
  for (const origin of ["https://evil.example", "null", "http://localhost.evil.example"]) {
    const { status, headers } = await preflight(origin);
    expect([status, headers["access-control-allow-origin"]]).toEqual([403, undefined]);
  }
});
