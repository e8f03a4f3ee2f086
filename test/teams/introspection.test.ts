// Tests the subject of an opaque token if the introspection response leaves out `sub`, which RFC 7662 (2.2) allows.
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { callerId } from "../../src/teams/caller.ts";
import { createModernClient, get } from "../mcp/http/raw-client.ts";
import { serveForTest } from "../support/http-server.ts";
import { AGENT, DEPLOYMENT } from "../support/identity-provider.ts";
import { deploymentForTest } from "./in-process-deployment.ts";

type Credentials = Readonly<Record<"authorization" | "body", string>>;

/**
 * Starts an identity provider whose introspection returns this response for each token. `accepts`: whether it accepts the credentials of
 * the request. Returns its issuer.
 */
async function startIntrospectionProvider(
  answer: Readonly<Record<string, unknown>>,
  accepts: (credentials: Credentials) => boolean = () => true,
): Promise<string> {
  const server = createServer(async (request, response) => {
    const issuer = `http://${request.headers.host}`;
    const metadata = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      introspection_endpoint: `${issuer}/introspect`,
    };
    const isIntrospection = request.url === "/introspect";
    const credentials = { authorization: request.headers.authorization ?? "", body: await text(request) };
    const body = isIntrospection ? { active: true, ...answer } : metadata;
    response
      .writeHead(isIntrospection && !accepts(credentials) ? 401 : 200, { "content-type": "application/json" })
      .end(JSON.stringify(body));
  });
  return await serveForTest(server);
}

const introspectionOptions = { tokens: "introspection", client: DEPLOYMENT } as const;
const agentClaims = { client_id: AGENT.id, scope: "mic:read mic:act" };

/**
 * Makes a call whose token has this introspection response. Returns the resolved caller, or the status and the body of the
 * refusal.
 */
async function introspectedCaller(answer: Readonly<Record<string, unknown>>) {
  const issuer = await startIntrospectionProvider({ aud: "the-audience", ...agentClaims, ...answer });
  const { url, calls } = await deploymentForTest({
    tokens: { ...introspectionOptions, issuer },
    audience: "the-audience",
  });
  const { status, body } = await createModernClient(url, {}, { authorization: "Bearer the-token" }).call(1, "look", {})
    .answer;
  const caller = calls[0]?.caller;
  return { issuer, status, body, subject: caller?.subject, id: caller?.id, clientId: caller?.clientId };
}

test.each([
  ["sub, although there is a username", { sub: "4711", username: "anna" }, "4711"],
  ["username if there is no sub", { username: "anna" }, "username:anna"],
  ["username if sub is null", { sub: null, username: "anna" }, "username:anna"],
  ["username if sub is empty", { sub: "", username: "anna" }, "username:anna"],
  ["client_id if no user is named", {}, "client:agent"],
  ["client_id if sub and username are null", { sub: null, username: null }, "client:agent"],
])("the subject of an introspected token is %s", async (_what, answer, subject) => {
  const { issuer, ...caller } = await introspectedCaller(answer);
  expect(caller).toMatchObject({ status: 200, subject, id: callerId(issuer, subject), clientId: AGENT.id });
});

test.each([
  ["names its user by another claim", { user_name: "anna" }, "introspection must return sub or username"],
  ["names its user by an e-mail address", { email: "anna@example.org" }, "introspection must return sub or username"],
  ["names neither a user nor a client", { client_id: undefined }, "introspection must return sub or username"],
  ["has a sub that looks like a username's subject", { sub: "username:anna" }, "this server reserves"],
  ["has a sub that looks like a client's subject", { sub: "client:agent" }, "this server reserves"],
])("an introspection response that %s is refused with 401 and the reason", async (_what, answer, reason) => {
  const { status, body, subject } = await introspectedCaller(answer);
  expect({ status, subject }).toEqual({ status: 401, subject: undefined });
  expect(body).toContain(reason);
});

const client = { id: "mic-mcp", secret: "a-secret_with.a/slash" };
const isInBody = ({ body }: Credentials, secret = client.secret) =>
  new URLSearchParams(body).get("client_secret") === secret;
const rawBasic = ({ id, secret }: typeof client) => `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`;
const plain = { id: "mic-mcp", secret: "a-secret_with.dots~" };

test.each<[string, typeof client, (credentials: Credentials) => boolean]>([
  ["compares Basic credentials without decoding them", plain, ({ authorization }) => authorization === rawBasic(plain)],
  [
    "decodes Basic credentials",
    client,
    ({ authorization }) => authorization === rawBasic({ ...client, secret: "a-secret_with.a%2Fslash" }),
  ],
  ["accepts them only in the body", client, isInBody],
])("a provider that %s verifies tokens, and the instance is ready", async (_what, own, accepts) => {
  const issuer = await startIntrospectionProvider({ ...agentClaims, aud: "the-audience", sub: "4711" }, accepts);
  const { url, calls } = await deploymentForTest({
    tokens: { tokens: "introspection", client: own, issuer },
    audience: "the-audience",
  });
  const callWith = (token: string) =>
    createModernClient(url, {}, { authorization: `Bearer ${token}` }).call(1, "look", {}).answer;
  for (const token of ["one", "two"]) expect((await callWith(token)).status).toBe(200);
  expect(calls).toHaveLength(2);
  expect((await get(new URL("/readyz", url).href).answer).status).toBe(200);
});

test("an instance with a wrong secret is not ready, and the reason names the variables", async () => {
  const issuer = await startIntrospectionProvider({ sub: "4711" }, () => false);
  const { url } = await deploymentForTest({ tokens: { ...introspectionOptions, issuer } });
  const { status, body } = await get(new URL("/readyz", url).href).answer;
  expect(status).toBe(503);
  expect(body).toContain("HTTP 401; check MIC_AUTH_CLIENT_ID and MIC_AUTH_CLIENT_SECRET");
});
