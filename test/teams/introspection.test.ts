// Tests the subject of an opaque token if the introspection response leaves out `sub`, which RFC 7662 (2.2) allows.
import { createServer } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { callerId } from "../../src/teams/caller.ts";
import { createModernClient } from "../mcp/http/raw-client.ts";
import { listeningUrl } from "../support/free-port.ts";
import { AGENT, DEPLOYMENT } from "../support/identity-provider.ts";
import { deploymentForTest } from "./in-process-deployment.ts";

/** Starts an identity provider whose introspection returns this response for each token. Returns its issuer. */
async function startIntrospectionProvider(answer: Readonly<Record<string, unknown>>): Promise<string> {
  const server = createServer((request, response) => {
    const issuer = `http://${request.headers.host}`;
    const metadata = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      introspection_endpoint: `${issuer}/introspect`,
    };
    request.resume();
    const body = request.url === "/introspect" ? { active: true, ...answer } : metadata;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  onTestFinished(() => void server.close().closeAllConnections());
  return await listeningUrl(server);
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

describe("introspected tokens", () => {
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
});
