// Tests the checks of each request to a public address (Host, Origin, proxies), metadata documents and response headers.
import { expect } from "vitest";
import { exchangeBytes, get, initializeMessage, post, send } from "../mcp/http/raw-client.ts";
import { deploymentForTest, TEAM, testWithDeployment } from "./in-process-deployment.ts";

const SECURITY_HEADERS = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};
const PUBLIC = "https://mic.example.org";
const HOST = { host: "mic.example.org" };
const APP = "https://app.example.org";

const test = testWithDeployment({ publicOrigin: PUBLIC, allowedOrigins: [APP] });

/** Sends a request with only these headers, and returns the raw response text. */
const rawResponse = (url: string, path: string, headers: readonly string[], method = "GET") =>
  exchangeBytes(url, [[`${method} ${path} HTTP/1.1`, ...headers, "connection: close", "", ""].join("\r\n")]);
const statusOf = async (...request: Parameters<typeof rawResponse>) =>
  Number((await rawResponse(...request)).split(" ")[1]);

test("the Host header must name the deployment, except for probes", async ({ deployment: { url } }) => {
  const statusForHost = (host: string) => statusOf(url, "/mcp", [`host: ${host}`]);
  for (const host of ["mic.example.org", "MIC.example.org", "mic.example.org:443"])
    expect(await statusForHost(host), host).toBe(401);
  for (const host of [
    ...["127.0.0.1", "localhost", "evil.example", "mic.example.org:80", ""],
    ...["mic.example.org.evil.example", "mic.example.org@evil.example", "evil.example/mic.example.org"],
    "mic.example.org, evil.example",
  ])
    expect(await statusForHost(host), host).toBe(403);
  for (const path of ["/healthz", "/readyz"])
    expect(await statusOf(url, path, ["host: 10.0.0.7:8931", "origin: https://evil.example"])).toBe(200);
});

test("a request with the Origin of another page is refused, also for documents and preflight requests", async ({
  deployment: { url },
}) => {
  for (const origin of ["https://evil.example", "null", `${APP}.evil.example`, PUBLIC, ""]) {
    const headers = ["host: mic.example.org", `origin: ${origin}`];
    for (const path of ["/mcp", "/.well-known/oauth-protected-resource"])
      expect(await statusOf(url, path, headers), origin).toBe(403);
    const preflight = await rawResponse(url, "/mcp", ["access-control-request-method: POST", ...headers], "OPTIONS");
    expect(preflight).toMatch(/^HTTP\/1\.1 403 /);
    expect(preflight).not.toMatch(/access-control-allow-origin/i);
  }
});

test("an allowed origin may send and read the headers that clients need, never with the browser's credentials", async ({
  deployment: { url },
}) => {
  const page = { ...HOST, origin: APP };
  const preflightHeaders = { ...page, "access-control-request-method": "POST" };
  const preflight = await send(url, { method: "OPTIONS", headers: preflightHeaders }).answer;
  expect(preflight).toMatchObject({
    status: 204,
    headers: {
      "access-control-allow-origin": APP,
      "access-control-allow-methods": "GET, POST, DELETE",
      "access-control-allow-headers": expect.stringMatching(/^authorization, content-type, .*mcp-protocol-version/),
      vary: "origin",
    },
  });
  const answer = await post(url, initializeMessage(), page).answer;
  expect(answer).toMatchObject({
    status: 401,
    headers: {
      "access-control-allow-origin": APP,
      "access-control-expose-headers": expect.stringContaining("www-authenticate"),
    },
  });
  for (const each of [preflight, answer]) expect(each.headers["access-control-allow-credentials"]).toBeUndefined();
});

const BALANCERS = ["127.0.0.1", "10.0.0.1"];
test.for<[string, string, string[], string]>([
  // Any client may have sent the entries before the last one.
  ["the last one that is not a balancer's", "198.51.100.1, 203.0.113.9, 10.0.0.1", BALANCERS, "203.0.113.9"],
  ["without its port, as IPv4 if it is mapped", "[::ffff:203.0.113.9]:4711", BALANCERS, "203.0.113.9"],
  ["the last balancer's after an invalid entry", "203.0.113.9, unknown, 10.0.0.1", BALANCERS, "10.0.0.1"],
  ["the peer's if the peer is not a balancer", "203.0.113.9", ["10.0.0.1"], "127.0.0.1"],
])("the logged address of a refused token is %s", async ([, forwarded, balancers, address]) => {
  const isTrustedProxy = (each: string) => balancers.includes(each);
  const { url, log } = await deploymentForTest({ publicOrigin: PUBLIC, isTrustedProxy });
  const headers = ["host: mic.example.org", `x-forwarded-for: ${forwarded}`];
  for (let count = 0; count < 2; count++)
    expect(await statusOf(url, "/mcp", [...headers, "authorization: Bearer bad"])).toBe(401);
  expect(log).toContainEqual(expect.objectContaining({ address }));
  // A peer that is not trusted is reported once.
  expect(log.filter(({ message }) => message.includes("MIC_TRUST_PROXY"))).toHaveLength(
    isTrustedProxy("127.0.0.1") ? 0 : 1,
  );
  // The entries before the last one are ignored here, too.
  const statusForProtocol = (proto: string) => statusOf(url, "/mcp", [...headers, `x-forwarded-proto: ${proto}`]);
  expect(await statusForProtocol("http, https")).toBe(401);
  // A client that used plain HTTP is refused, if a balancer reports it.
  expect(await statusForProtocol("http")).toBe(isTrustedProxy("127.0.0.1") ? 403 : 401);
});

const read = async (url: string, path: string) => {
  const { status, body } = await get(new URL(path, url).href, HOST).answer;
  return { status, body };
};

test("the documents describe each resource and its identity provider, and return the provider's own metadata", async ({
  deployment: { url, provider },
}) => {
  const { issuer } = provider;
  const readJson = async (path: string) => JSON.parse((await read(url, `/.well-known/oauth-${path}`)).body);
  const scopes = { scopes_supported: ["mic:read", "mic:write"], resource_name: "mic-mcp" };
  for (const [path, resource] of [
    ["protected-resource", "/mcp"],
    ["protected-resource/mcp", "/mcp"],
    [`protected-resource/mcp/${TEAM}`, `/mcp/${TEAM}`],
  ] as const)
    expect(await readJson(path)).toEqual({ resource: PUBLIC + resource, authorization_servers: [issuer], ...scopes });
  for (const path of ["authorization-server", "authorization-server/mcp"])
    expect(await readJson(path)).toMatchObject({ issuer, token_endpoint: `${issuer}/token` });
});

test("no other path has a document, and no document depends on which teams exist", async ({ deployment: { url } }) => {
  const UNKNOWN_PATHS = "/ /mcp/ /mcp/Red /mcp/red/more /.well-known/openid-configuration /downloads/x".split(" ");
  for (const path of UNKNOWN_PATHS) expect((await read(url, path)).status, path).toBe(404);
  for (const path of [`/mcp/${TEAM}`, "/mcp/no-such-team"]) expect((await read(url, path)).status, path).toBe(401);
});

test("every response has the security headers for browsers", async ({ deployment: { url } }) => {
  for (const { answer } of [
    get(new URL("/healthz", url).href),
    post(url, initializeMessage(), { host: "evil.example" }),
  ])
    expect((await answer).headers).toMatchObject({
      ...SECURITY_HEADERS,
      "strict-transport-security": "max-age=31536000",
    });
});

test("a streamed response has the header that turns off the balancer's buffering", async () => {
  const { url, bearer, release } = await deploymentForTest();
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "wait", arguments: {} } };
  const waiting = post(url, call, await bearer());
  // A response that takes longer than a second is streamed: its headers arrive before the tool returns.
  const headers = await waiting.headers;
  release();
  await waiting.answer;
  expect(headers).toMatchObject({ "content-type": "text/event-stream", "x-accel-buffering": "no" });
});
