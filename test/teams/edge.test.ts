// Tests the checks of each request to a public address (Host, Origin, proxies), metadata documents and response headers.
import { expect, test } from "vitest";
import { ACCEPT, exchangeBytes, get, initializeMessage, post, send } from "../mcp/http/raw-client.ts";
import { deploymentForTest, TEAM } from "./in-process-deployment.ts";

const PUBLIC = "https://mic.example.org";
const HOST = { host: "mic.example.org" };
const APP = "https://app.example.org";

const deploy = () => deploymentForTest({ publicOrigin: PUBLIC, allowedOrigins: [APP] });

/** Sends a request with only these headers, and returns the raw response text. */
const rawResponse = (url: string, path: string, headers: readonly string[], method = "GET") =>
  exchangeBytes(url, [[`${method} ${path} HTTP/1.1`, ...headers, "connection: close", "", ""].join("\r\n")]);
const statusOf = async (...request: Parameters<typeof rawResponse>) =>
  Number((await rawResponse(...request)).split(" ")[1]);

test("the Host header must name the deployment, except for probes", async () => {
  const { url } = await deploy();
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

test("a request with the Origin of another page is refused, also for documents and preflight requests", async () => {
  const { url } = await deploy();
  for (const origin of ["https://evil.example", "null", `${APP}.evil.example`, PUBLIC, ""]) {
    const headers = ["host: mic.example.org", `origin: ${origin}`];
    for (const path of ["/mcp", "/.well-known/oauth-protected-resource"])
      expect(await statusOf(url, path, headers), origin).toBe(403);
    const preflight = await rawResponse(url, "/mcp", ["access-control-request-method: POST", ...headers], "OPTIONS");
    expect(preflight).toMatch(/^HTTP\/1\.1 403 /);
    expect(preflight).not.toMatch(/access-control-allow-origin/i);
  }
});

test("an allowed origin may send the headers that clients need and read those they need, never with the browser's credentials", async () => {
  const { url } = await deploy();
  const page = { ...HOST, origin: APP };
  const preflightHeaders = { ...page, "access-control-request-method": "POST" };
  const preflight = await send(url, { method: "OPTIONS", headers: preflightHeaders }).answer;
  expect(preflight).toMatchObject({
    status: 204,
    headers: {
      "access-control-allow-origin": APP,
      "access-control-allow-methods": "GET, POST",
      "access-control-allow-headers":
        "authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, traceparent",
      vary: "origin",
    },
  });
  const answer = await post(url, initializeMessage(), page).answer;
  expect(answer).toMatchObject({
    status: 401,
    headers: { "access-control-allow-origin": APP, "access-control-expose-headers": "www-authenticate" },
  });
  for (const each of [preflight, answer]) expect(each.headers["access-control-allow-credentials"]).toBeUndefined();
});

test("a request is refused if its client used plain http", async () => {
  const isTrustedProxy = (address: string) => address === "127.0.0.1";
  const { url } = await deploymentForTest({ publicOrigin: PUBLIC, isTrustedProxy });
  const statusForProtocol = (proto: string) =>
    statusOf(url, "/mcp", ["host: mic.example.org", `x-forwarded-proto: ${proto}`]);
  expect([
    await statusForProtocol("http"),
    await statusForProtocol("http, https"),
    await statusForProtocol("https"),
  ]).toEqual([403, 401, 401]);
});

const BALANCERS = ["127.0.0.1", "10.0.0.1"];
test.each([
  // Any client may have sent the entries before the last one.
  ["the last one that is not a balancer's", "198.51.100.1, 203.0.113.9, 10.0.0.1", BALANCERS, "203.0.113.9"],
  ["without its port, as IPv4 if it is mapped", "[::ffff:203.0.113.9]:4711", BALANCERS, "203.0.113.9"],
  [
    "the last balancer's before an entry that is not an address",
    "203.0.113.9, unknown, 10.0.0.1",
    BALANCERS,
    "10.0.0.1",
  ],
  ["the peer's if the peer is not a balancer", "203.0.113.9", ["10.0.0.1"], "127.0.0.1"],
])("the logged address of a refused token is %s", async (_what, forwarded, balancers, address) => {
  const logEntries: object[] = [];
  const write = (facts: object) => void logEntries.push(facts);
  const { url } = await deploymentForTest({
    publicOrigin: PUBLIC,
    isTrustedProxy: (each) => balancers.includes(each),
    log: { debug: write, info: write, warn: write, error: write },
  });
  const headers = ["host: mic.example.org", `x-forwarded-for: ${forwarded}`, "authorization: Bearer bad"];
  expect(await statusOf(url, "/mcp", headers)).toBe(401);
  expect(logEntries).toContainEqual(expect.objectContaining({ address }));
});

test("a forwarded header from a peer that is not trusted is reported once", async () => {
  const { url, log } = await deploymentForTest({ publicOrigin: PUBLIC, isTrustedProxy: (each) => each === "10.0.0.1" });
  for (let count = 0; count < 3; count++)
    await statusOf(url, "/mcp", ["host: mic.example.org", "x-forwarded-for: 203.0.113.9"]);
  expect(log.filter((line) => line.includes("MIC_TRUST_PROXY"))).toHaveLength(1);
});

const read = async (url: string, path: string) => {
  const { status, body } = await get(new URL(path, url).href, HOST).answer;
  return { status, body };
};

test("the documents describe each resource and its identity provider, and return the provider's own metadata", async () => {
  const { url, provider } = await deploy();
  const ofResource = "/.well-known/oauth-protected-resource";
  for (const [path, resource] of [
    [ofResource, "/mcp"],
    [`${ofResource}/mcp`, "/mcp"],
    [`${ofResource}/mcp/${TEAM}`, `/mcp/${TEAM}`],
  ] as const) {
    const { status, body } = await read(url, path);
    expect([status, JSON.parse(body)]).toEqual([
      200,
      {
        resource: PUBLIC + resource,
        authorization_servers: [provider.issuer],
        scopes_supported: ["mic:read", "mic:act"],
        resource_name: "mic-mcp",
      },
    ]);
  }
  const { issuer } = provider;
  for (const path of ["/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp"]) {
    const { status, body } = await read(url, path);
    expect([status, JSON.parse(body)]).toMatchObject([200, { issuer, token_endpoint: `${issuer}/token` }]);
  }
});

test("no other path has a document, and no document depends on which teams exist", async () => {
  const { url } = await deploy();
  const UNKNOWN_PATHS = "/ /mcp/ /mcp/Red /mcp/red/more /.well-known/openid-configuration /downloads/x".split(" ");
  for (const path of UNKNOWN_PATHS) expect((await read(url, path)).status, path).toBe(404);
  for (const path of [`/mcp/${TEAM}`, "/mcp/no-such-team"]) expect((await read(url, path)).status, path).toBe(401);
});

test("every response has the security headers for browsers", async () => {
  const { url } = await deploy();
  const responses = [
    get(new URL("/healthz", url).href),
    get(new URL("/.well-known/oauth-protected-resource", url).href, HOST),
    post(url, initializeMessage(), HOST),
    post(url, initializeMessage(), { host: "evil.example" }),
  ];
  for (const { answer } of responses)
    expect((await answer).headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "strict-transport-security": "max-age=31536000",
    });
});

test("a streamed response has the header that turns off the balancer's buffering", async () => {
  const { url, bearer, release } = await deploymentForTest();
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "wait", arguments: {} } };
  const waiting = post(url, call, { ...(await bearer()), accept: ACCEPT });
  // A response that takes longer than a second is streamed: its headers arrive before the tool returns.
  const headers = await waiting.headers;
  release();
  await waiting.answer;
  expect(headers).toMatchObject({ "content-type": "text/event-stream", "x-accel-buffering": "no" });
});
