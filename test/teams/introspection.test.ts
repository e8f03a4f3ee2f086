// Whose an opaque token is if the identity provider's answer leaves out `sub`, which RFC 7662 (2.2) allows.
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { callerId } from "../../src/teams/caller.ts";
import { modernSpeaker } from "../mcp/http/raw.ts";
import { deploymentMissing, startDeployment } from "../support/deployment.ts";
import { AGENT, DEPLOYMENT } from "../support/identity-provider.ts";
import { connectHttp } from "../support/mcp.ts";
import { deploymentForTest } from "./bench.ts";

type Answers = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** An identity provider whose introspection answers by token, and `active: false` for any other token. Returns its issuer. */
async function providerThatAnswers(answers: Answers): Promise<string> {
  const server = createServer(async (request, response) => {
    const issuer = `http://${request.headers.host}`;
    const metadata = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      introspection_endpoint: `${issuer}/introspect`,
    };
    const token = new URLSearchParams(await text(request)).get("token") ?? "";
    const body = request.url === "/introspect" ? { active: token in answers, ...answers[token] } : metadata;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

const asking = { tokens: "introspection", client: DEPLOYMENT } as const;
const ofAgent = { client_id: AGENT.id, scope: "mic:read mic:act" };

/** Who calls with a token for which introspection answers so; or the status and the body of the refusal. */
async function callerBy(answer: Readonly<Record<string, unknown>>) {
  const issuer = await providerThatAnswers({ "the-token": { aud: "the-audience", ...ofAgent, ...answer } });
  const { url, calls } = await deploymentForTest({ tokens: { ...asking, issuer }, audience: "the-audience" });
  const { status, body } = await modernSpeaker(url, {}, { authorization: "Bearer the-token" }).call(1, "look", {})
    .answer;
  const caller = calls[0]?.caller;
  return { issuer, status, body, subject: caller?.subject, id: caller?.id, clientId: caller?.clientId };
}

describe("the subject of an introspected token is", () => {
  test.each([
    ["sub, although there is a username", { sub: "4711", username: "anna" }, "4711"],
    ["username if there is no sub", { username: "anna" }, "username:anna"],
    ["username if sub is null", { sub: null, username: "anna" }, "username:anna"],
    ["username if sub is empty", { sub: "", username: "anna" }, "username:anna"],
    ["client_id if no user is named", {}, "client:agent"],
    ["client_id if sub and username are null", { sub: null, username: null }, "client:agent"],
  ])("%s", async (_what, answer, subject) => {
    const { issuer, ...caller } = await callerBy(answer);
    expect(caller).toMatchObject({ status: 200, subject, id: callerId(issuer, subject), clientId: AGENT.id });
  });

  test.each([
    ["names its user by another claim", { user_name: "anna" }, "introspection must return sub or username"],
    ["names its user by an e-mail address", { email: "anna@example.org" }, "introspection must return sub or username"],
    ["names neither a user nor a client", { client_id: undefined }, "introspection must return sub or username"],
    ["has a sub that looks like a username's subject", { sub: "username:anna" }, "this server reserves"],
    ["has a sub that looks like a client's subject", { sub: "client:agent" }, "this server reserves"],
  ])("not known if the answer %s: 401 with the reason", async (_what, answer, reason) => {
    const { status, body, subject } = await callerBy(answer);
    expect({ status, subject }).toEqual({ status: 401, subject: undefined });
    expect(body).toContain(reason);
  });
});

const skipped = deploymentMissing === undefined ? "" : ` (skipped: ${deploymentMissing})`;

test.skipIf(deploymentMissing !== undefined)(
  `two users of one client are two callers without sub: neither sees the other's actions, nor replays them by key${skipped}`,
  async () => {
    const of = (username: string) => ({ ...ofAgent, username, groups: ["group-1"], aud: "the-audience" });
    const issuer = await providerThatAnswers({
      "anna-s-token": of("anna"),
      "bert-s-token": of("bert"),
      // The `sub` of one user is the username of another.
      "carl-s-token": { ...of("carl"), sub: "anna" },
    });
    const env = {
      MIC_AUTH_ISSUER: issuer,
      MIC_AUTH_TOKENS: "introspection",
      MIC_AUTH_CLIENT_ID: DEPLOYMENT.id,
      MIC_AUTH_CLIENT_SECRET: DEPLOYMENT.secret,
      MIC_AUTH_AUDIENCE: "the-audience",
    };
    const deployment = await startDeployment({ instances: 1, teams: 1, env });
    onTestFinished(() => deployment.stop());
    const [fileId] = deployment.teams[0]?.client.fileIds ?? [];
    const as = async (name: string) => {
      const client = await connectHttp("v2-modern", deployment.url, { token: `${name}-s-token` });
      onTestFinished(() => client.close());
      return client;
    };
    const input = { inputKind: "M4_FILE", referenceId: fileId, idempotencyKey: "anna-s-own-key" };
    const anna = await as("anna");
    const done = await anna.callTool("register_input", input);
    expect(done.isError, done.text).toBe(false);
    for (const name of ["bert", "carl"]) {
      const other = await as(name);
      expect((await other.callTool("list_actions")).structured).toMatchObject({ actions: [] });
      expect((await other.callTool("register_input", input)).action).toMatchObject({ replayed: false });
    }
    expect((await anna.callTool("register_input", input)).action).toMatchObject({ replayed: true });
  },
  120_000,
);
