// Tests the host check and the routes: Host and Origin against DNS rebinding, paths, methods.
import { describe, expect, test } from "vitest";
import { serveHttpInProcess } from "../../support/in-process.ts";
import { words } from "../../support/words.ts";
import { serveForTest } from "./in-process-server.ts";
import { ACCEPT, exchangeBytes, initializeMessage, send } from "./raw-client.ts";
import { startHttp } from "./server.ts";

const initialize = JSON.stringify(initializeMessage());

/** Sends an initialize request as bytes, with only the given headers. */
const raw = (url: string, headers: readonly string[]) =>
  exchangeBytes(url, [
    [
      "POST /mcp HTTP/1.1",
      ...headers,
      "content-type: application/json",
      `accept: ${ACCEPT}`,
      `content-length: ${initialize.length}`,
      "connection: close",
      "",
      initialize,
    ].join("\r\n"),
  ]);

describe("Host", () => {
  test.each([["127.0.0.1:PORT"], ["localhost:PORT"], ["LocalHost:PORT"], ["[::1]:PORT"], ["localhost"], ["127.0.0.1"]])(
    "accepts the Host header %s",
    async (host) => {
      const { url } = await serveForTest();
      expect(await raw(url, [`host: ${host.replace("PORT", new URL(url).port)}`])).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  const foreignHosts = words(`
    evil.example evil.example:PORT localhost:1 127.0.0.1: localhost.:PORT localhost.evil.example:PORT
    evil.localhost:PORT 127.0.0.1.nip.io:PORT 127.0.0.2:PORT 127.1:PORT 0x7f.1:PORT 2130706433:PORT 0.0.0.0:PORT
    [::]:PORT [::ffff:127.0.0.1]:PORT ::1 user@localhost:PORT localhost:PORT@evil.example localhost:PORT/path
    localhost:PORT:PORT localhost:0PORT0`);

  test.each([...foreignHosts, "localhost, evil.example", ""])(
    "refuses the Host header %j with a reason",
    async (host) => {
      const { url } = await serveForTest();
      const text = await raw(url, [`host: ${host.replaceAll("PORT", new URL(url).port)}`]);
      expect(text).toMatch(/^HTTP\/1\.1 403 /);
      expect(text).toMatch(/Host header/);
      expect(text).not.toMatch(/mcp-session-id/i);
    },
  );

  test("refuses a request without a Host header, and one with two", async () => {
    const { url } = await serveForTest();
    const { host } = new URL(url);
    expect(await raw(url, [])).toMatch(/^HTTP\/1\.1 40[03] /);
    for (const twice of [
      [host, "evil.example"],
      ["evil.example", host],
      [host, host],
    ])
      expect(
        await raw(
          url,
          twice.map((each) => `host: ${each}`),
        ),
      ).toMatch(/^HTTP\/1\.1 40[03] /);
    const older = await exchangeBytes(url, ["GET /healthz HTTP/1.0\r\n\r\n"]);
    expect(older).toMatch(/^HTTP\/1\.1 403 /);
  });
});

describe("Origin", () => {
  test.each([["http://localhost"], ["http://localhost:6274"], ["https://127.0.0.1:PORT"], ["http://[::1]:3000"]])(
    "accepts the Origin header %s",
    async (origin) => {
      const { url } = await serveForTest();
      const { host, port } = new URL(url);
      const text = await raw(url, [`host: ${host}`, `origin: ${origin.replace("PORT", port)}`]);
      expect(text).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  const foreign = `
    null https://evil.example http://localhost.evil.example http://evil.example/http://localhost
    http://localhost@evil.example http://evil.example#localhost file:// chrome-extension://localhost
    http://127.0.0.1.nip.io localhost`;

  test.each([...foreign.trim().split(/\s+/), "http://localhost, http://evil.example", ""])(
    "refuses the Origin header %j with a reason",
    async (origin) => {
      const { url } = await serveForTest();
      const text = await raw(url, [`host: ${new URL(url).host}`, `origin: ${origin}`]);
      expect(text).toMatch(/^HTTP\/1\.1 403 /);
      expect(text).toMatch(/Origin header/);
    },
  );

  test("refuses two Origin headers if one of them is foreign", async () => {
    const { url } = await serveForTest();
    const own = [`host: ${new URL(url).host}`, "origin: http://localhost"];
    expect(await raw(url, [...own, "origin: https://evil.example"])).toMatch(/^HTTP\/1\.1 403 /);
  });
});

test("/healthz, /readyz and every other path check the Host header", async () => {
  const { url } = await serveForTest();
  for (const path of ["/healthz", "/readyz", "/", "/.well-known/oauth-protected-resource"])
    expect(
      await exchangeBytes(url, [`GET ${path} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n`]),
    ).toMatch(/^HTTP\/1\.1 403 /);
});

test("the server has no endpoints except /mcp, /healthz and /readyz", async () => {
  const url = await serveHttpInProcess({});
  const known = "/.well-known";
  const others = "/ /mcp/ /MCP //mcp /mcp%2f /%6dcp /sse /healthz/ /readyz/".split(" ");
  for (const path of [...others, `${known}/oauth-protected-resource`, `${known}/openid-configuration`]) {
    const { status, messages } = await send(new URL("/", url).origin + path, { method: "GET" }).answer;
    expect([path, status]).toEqual([path, 404]);
    expect(messages[0]?.error?.message).toContain("/mcp");
  }
  const absolute = `GET http://evil.example/mcp HTTP/1.1\r\nhost: ${new URL(url).host}\r\nconnection: close\r\n\r\n`;
  expect(await exchangeBytes(url, [absolute])).toMatch(/^HTTP\/1\.1 404 /);
});

test("other methods are refused, and the Allow header lists the supported ones", async () => {
  const url = await serveHttpInProcess({});
  for (const method of ["PUT", "PATCH", "OPTIONS", "HEAD", "TRACE", "PROPFIND"]) {
    const { status, headers } = await send(url, { method }).answer;
    expect([method, status, headers.allow]).toEqual([method, 405, "GET, POST, DELETE"]);
  }
  for (const path of ["/healthz", "/readyz"])
    for (const method of ["POST", "DELETE", "OPTIONS"]) {
      const { status, headers } = await send(new URL(path, url).href, { method }).answer;
      expect([method, status, headers.allow]).toEqual([method, 405, "GET, HEAD"]);
    }
});

test("on ::1 the URL has brackets, and the host check accepts them", async () => {
  const { url } = await startHttp({ args: ["--host", "::1"] });
  expect(url).toMatch(/^http:\/\/\[::1\]:\d+\/mcp$/);
  const { status } = await send(url, {
    headers: { "content-type": "application/json", accept: ACCEPT },
    body: initialize,
  }).answer;
  expect(status).toBe(200);
});
