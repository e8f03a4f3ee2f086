// What is asked of every request to a public address: Host, Origin, the way it came; and what stands on every answer.
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { ACCEPT, bytes, get, initializeMessage, post, send } from "../mcp/http/raw.ts";
import { deploymentForTest, TEAM } from "./bench.ts";

const PUBLIC = "https://mic.example.org";

/** A GET in bare bytes, with these headers only. */
const raw = (url: string, path: string, headers: readonly string[]) =>
  bytes(url, [[`GET ${path} HTTP/1.1`, ...headers, "connection: close", "", ""].join("\r\n")]);

const deployment = () => deploymentForTest({ publicOrigin: PUBLIC, allowedOrigins: ["https://app.example.org"] });

describe("Host", () => {
  test.each([["mic.example.org"], ["MIC.example.org"], ["mic.example.org:443"]])("%s is ours", async (host) => {
    const { url } = await deployment();
    expect(await raw(url, "/mcp", [`host: ${host}`])).toMatch(/^HTTP\/1\.1 401 /);
  });

  test.each([
    ["127.0.0.1"],
    ["localhost"],
    ["evil.example"],
    ["mic.example.org:80"],
    ["mic.example.org.evil.example"],
    ["mic.example.org@evil.example"],
    ["evil.example/mic.example.org"],
    ["mic.example.org, evil.example"],
    [""],
  ])("%j is refused", async (host) => {
    const { url } = await deployment();
    expect(await raw(url, "/mcp", [`host: ${host}`])).toMatch(/^HTTP\/1\.1 403 /);
  });

  test("probes need none of it: whoever probes knows neither our name nor a balancer", async () => {
    const { url } = await deployment();
    for (const path of ["/healthz", "/readyz"])
      expect(await raw(url, path, ["host: 10.0.0.7:8931", "origin: https://evil.example"])).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe("Origin", () => {
  test.each([["https://evil.example"], ["null"], ["https://app.example.org.evil.example"], [PUBLIC], [""]])(
    "%j is refused, for documents and a preflight too",
    async (origin) => {
      const { url } = await deployment();
      const headers = ["host: mic.example.org", `origin: ${origin}`];
      for (const path of ["/mcp", "/.well-known/oauth-protected-resource"])
        expect(await raw(url, path, headers)).toMatch(/^HTTP\/1\.1 403 /);
      const preflight = ["access-control-request-method: POST", ...headers];
      const text = await bytes(url, [
        ["OPTIONS /mcp HTTP/1.1", ...preflight, "connection: close", "", ""].join("\r\n"),
      ]);
      expect(text).toMatch(/^HTTP\/1\.1 403 /);
      expect(text).not.toMatch(/access-control-allow-origin/i);
    },
  );

  test("an allowed page may send what clients send, and read what they need; never with credentials of the browser", async () => {
    const { url } = await deployment();
    const headers = { host: "mic.example.org", origin: "https://app.example.org" };
    const preflight = await send(url, {
      method: "OPTIONS",
      headers: { ...headers, "access-control-request-method": "POST" },
    }).answer;
    expect(preflight).toMatchObject({
      status: 204,
      headers: {
        "access-control-allow-origin": "https://app.example.org",
        "access-control-allow-methods": "GET, POST",
        "access-control-allow-headers":
          "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, traceparent",
        vary: "origin",
      },
    });
    const answer = await post(url, initializeMessage(), headers).answer;
    expect(answer).toMatchObject({
      status: 401,
      headers: {
        "access-control-allow-origin": "https://app.example.org",
        "access-control-expose-headers": "www-authenticate",
      },
    });
    for (const each of [preflight, answer]) expect(each.headers["access-control-allow-credentials"]).toBeUndefined();
  });
});

describe("the way it came", () => {
  test("where the balancer says that its client came by plain http, it is refused", async () => {
    const { url } = await deploymentForTest({
      publicOrigin: PUBLIC,
      isTrustedProxy: (address) => address === "127.0.0.1",
    });
    const host = "host: mic.example.org";
    expect(await raw(url, "/mcp", [host, "x-forwarded-proto: http"])).toMatch(/^HTTP\/1\.1 403 /);
    expect(await raw(url, "/mcp", [host, "x-forwarded-proto: http, https"])).toMatch(/^HTTP\/1\.1 401 /);
    expect(await raw(url, "/mcp", [host, "x-forwarded-proto: https"])).toMatch(/^HTTP\/1\.1 401 /);
  });

  describe("the address in the log line about a refused token", () => {
    async function linesAbout(forwarded: string, ...balancers: readonly string[]): Promise<readonly object[]> {
      const lines: object[] = [];
      const write = (facts: object) => void lines.push(facts);
      const { url } = await deploymentForTest({
        publicOrigin: PUBLIC,
        isTrustedProxy: (address) => balancers.includes(address),
        log: { debug: write, info: write, warn: write, error: write },
      });
      const headers = ["host: mic.example.org", `x-forwarded-for: ${forwarded}`, "authorization: Bearer bad"];
      expect(await raw(url, "/mcp", headers)).toMatch(/^HTTP\/1\.1 401 /);
      return lines;
    }
    const BALANCERS = ["127.0.0.1", "10.0.0.1"];

    test.each([
      // Anybody may have written what stands before it.
      ["the last one that is not a balancer's", "198.51.100.1, 203.0.113.9, 10.0.0.1", BALANCERS, "203.0.113.9"],
      ["without its port, as IPv4 if it is mapped", "[::ffff:203.0.113.9]:4711", BALANCERS, "203.0.113.9"],
      ["the peer's if the peer is not a balancer", "203.0.113.9", ["10.0.0.1"], "127.0.0.1"],
    ])("is %s", async (_what, forwarded, balancers, address) => {
      expect(await linesAbout(forwarded, ...balancers)).toContainEqual(expect.objectContaining({ address }));
    });
  });
});

describe("documents", () => {
  test.each([
    ["/.well-known/oauth-protected-resource", "/mcp"],
    ["/.well-known/oauth-protected-resource/mcp", "/mcp"],
    [`/.well-known/oauth-protected-resource/mcp/${TEAM}`, `/mcp/${TEAM}`],
  ])("%s is about %s", async (path, resource) => {
    const { url, provider } = await deployment();
    const { status, body } = await get(new URL(path, url).href, { host: "mic.example.org" }).answer;
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual({
      resource: PUBLIC + resource,
      authorization_servers: [provider.issuer],
      scopes_supported: ["mic:read", "mic:act"],
      resource_name: "mic-mcp",
    });
  });

  test("the provider's own metadata is passed on, for clients that ask here", async () => {
    const { url, provider } = await deployment();
    for (const path of ["/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp"]) {
      const { status, body } = await get(new URL(path, url).href, { host: "mic.example.org" }).answer;
      expect([status, JSON.parse(body)]).toMatchObject([
        200,
        { issuer: provider.issuer, token_endpoint: `${provider.issuer}/token` },
      ]);
    }
  });

  test("nothing is anywhere else, and nobody who has not signed in learns which teams there are", async () => {
    const { url } = await deployment();
    const statusAt = async (path: string) =>
      (await get(new URL(path, url).href, { host: "mic.example.org" }).answer).status;
    for (const path of ["/", "/mcp/", "/mcp/Red", "/mcp/red/more", "/.well-known/openid-configuration", "/downloads/x"])
      expect([path, await statusAt(path)]).toEqual([path, 404]);
    expect([await statusAt(`/mcp/${TEAM}`), await statusAt("/mcp/nobody")]).toEqual([401, 401]);
  });
});

test("every answer says what a browser must not do with it", async () => {
  const { url } = await deployment();
  const host = { host: "mic.example.org" };
  const answers = [
    get(new URL("/healthz", url).href),
    get(new URL("/.well-known/oauth-protected-resource", url).href, host),
    post(url, initializeMessage(), host),
    post(url, initializeMessage(), { host: "evil.example" }),
  ];
  for (const { answer } of answers)
    expect((await answer).headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "strict-transport-security": "max-age=31536000",
    });
});

test("a stream tells the balancer not to hold it back", async () => {
  const { url, provider, resource, release } = await deploymentForTest();
  const authorization = `Bearer ${await provider.token(resource)}`;
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "wait", arguments: {} } };
  const waiting = post(url, call, { authorization, accept: ACCEPT });
  // What takes longer than a second becomes a stream.
  await sleep(1_200);
  release();
  const { headers } = await waiting.answer;
  expect(headers).toMatchObject({ "content-type": "text/event-stream", "x-accel-buffering": "no" });
});
