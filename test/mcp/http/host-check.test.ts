// Tests the host check and the routes: Host and Origin against DNS rebinding, paths, methods.
import { expect, test } from "vitest";
import { serveHttpInProcess } from "../../support/in-process.ts";
import { words } from "../../support/words.ts";
import { serveForTest } from "./in-process-server.ts";
import { ACCEPT, exchangeBytes, initializeMessage, send } from "./raw-client.ts";

const initialize = JSON.stringify(initializeMessage());
const bodyHeaders = ["content-type: application/json", `accept: ${ACCEPT}`, `content-length: ${initialize.length}`];

/** Sends a request of initialize with these headers, in which PORT is the server's port, and returns the raw answer. */
const rawAnswer = (url: string, ...headers: readonly string[]) =>
  exchangeBytes(url, [
    ["POST /mcp HTTP/1.1", ...headers, ...bodyHeaders, "connection: close", "", initialize]
      .join("\r\n")
      .replaceAll("PORT", new URL(url).port),
  ]);

test("a Host header is accepted if it names this machine, and otherwise refused on every path with a reason", async () => {
  const { url } = await serveForTest();
  for (const host of words("127.0.0.1:PORT localhost:PORT LocalHost:PORT [::1]:PORT localhost 127.0.0.1"))
    expect(await rawAnswer(url, `host: ${host}`), host).toMatch(/^HTTP\/1\.1 200 /);
  const foreign = words(`
    evil.example evil.example:PORT localhost:1 127.0.0.1: localhost.:PORT localhost.evil.example:PORT
    evil.localhost:PORT 127.0.0.1.nip.io:PORT 127.0.0.2:PORT 127.1:PORT 0x7f.1:PORT 2130706433:PORT 0.0.0.0:PORT
    [::]:PORT [::ffff:127.0.0.1]:PORT ::1 user@localhost:PORT localhost:PORT@evil.example localhost:PORT/path
    localhost:PORT:PORT localhost:0PORT0`);
  for (const host of [...foreign, "localhost, evil.example", ""]) {
    const text = await rawAnswer(url, `host: ${host}`);
    expect(text, host).toMatch(/^HTTP\/1\.1 403 .*Host header/s);
    expect(text, host).not.toMatch(/mcp-session-id/i);
  }
  const [own, evil] = ["host: 127.0.0.1:PORT", "host: evil.example"];
  for (const headers of [[], [own, evil], [evil, own], [own, own]])
    expect(await rawAnswer(url, ...headers)).toMatch(/^HTTP\/1\.1 40[03] /);
  for (const request of [
    "GET /healthz HTTP/1.0",
    ...words("/healthz /readyz / /.well-known/x").map((path) => `GET ${path} HTTP/1.1\r\nhost: evil.example`),
  ])
    expect(await exchangeBytes(url, [`${request}\r\n\r\n`])).toMatch(/^HTTP\/1\.1 403 /);
});

test("an Origin header is accepted if it names this machine, and otherwise refused with a reason", async () => {
  const { url } = await serveForTest();
  const host = "host: 127.0.0.1:PORT";
  for (const origin of words("http://localhost http://localhost:6274 https://127.0.0.1:PORT http://[::1]:3000"))
    expect(await rawAnswer(url, host, `origin: ${origin}`), origin).toMatch(/^HTTP\/1\.1 200 /);
  const foreign = words(`
    null https://evil.example http://localhost.evil.example http://evil.example/http://localhost
    http://localhost@evil.example http://evil.example#localhost file:// chrome-extension://localhost
    http://127.0.0.1.nip.io localhost`);
  for (const origin of [...foreign, "http://localhost, http://evil.example", ""])
    expect(await rawAnswer(url, host, `origin: ${origin}`), origin).toMatch(/^HTTP\/1\.1 403 .*Origin header/s);
  const two = ["origin: http://localhost", "origin: https://evil.example"];
  expect(await rawAnswer(url, host, ...two)).toMatch(/^HTTP\/1\.1 403 /);
});

test("the server has no endpoints except /mcp, /healthz and /readyz", async () => {
  const url = await serveHttpInProcess({});
  const paths = words(`
    / /mcp/ /MCP //mcp /mcp%2f /%6dcp /sse /healthz/ /readyz/
    /.well-known/oauth-protected-resource /.well-known/openid-configuration`);
  for (const path of paths) {
    const { status, messages } = await send(new URL("/", url).origin + path, { method: "GET" }).answer;
    expect([path, status]).toEqual([path, 404]);
    expect(messages[0]?.error?.message).toContain("/mcp");
  }
  const absolute = `GET http://evil.example/mcp HTTP/1.1\r\nhost: ${new URL(url).host}\r\nconnection: close\r\n\r\n`;
  expect(await exchangeBytes(url, [absolute])).toMatch(/^HTTP\/1\.1 404 /);
});

test("other methods are refused, and the Allow header lists the supported ones", async () => {
  const url = await serveHttpInProcess({});
  for (const [path, refused, allowed] of [
    ["/mcp", "PUT PATCH OPTIONS HEAD TRACE PROPFIND", "GET, POST, DELETE"],
    ["/healthz", "POST DELETE OPTIONS", "GET, HEAD"],
    ["/readyz", "POST DELETE OPTIONS", "GET, HEAD"],
  ] as const)
    for (const method of words(refused)) {
      const { status, headers } = await send(new URL(path, url).href, { method }).answer;
      expect([path, method, status, headers.allow]).toEqual([path, method, 405, allowed]);
    }
});
