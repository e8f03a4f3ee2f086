// Real clients sign in at a real identity provider without a screen: both SDKs, older and newer revisions, each kind of client
// registration. They sign in for a user or for themselves, and step up when a call needs more scopes.
import {
  ClientCredentialsProvider,
  StreamableHTTPClientTransport as Transport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { METADATA_URL, ROBOT } from "../support/identity-provider.ts";
import { deploymentForTest } from "./in-process-deployment.ts";
import {
  connectSignedIn,
  createClient,
  createTestUser,
  signInWithOlderSdk,
  type TestUserOptions,
} from "./test-user.ts";

const lookCall = { name: "look", arguments: {} };
const actCall = { name: "act", arguments: {} };
const textContent = (text: string) => ({ content: [{ type: "text", text }] });

const REGISTRATION_MODES: Readonly<Record<string, TestUserOptions["registration"]>> = {
  "by its id": "its id",
  "by the URL of its metadata": { url: METADATA_URL },
  "by registering itself": "registering",
};

describe.each(Object.entries(REGISTRATION_MODES))("a client that the provider knows %s", (_how, registration) => {
  test.each(["legacy", "modern"] as const)("a client signs in, lists and calls tools (%s)", async (mode) => {
    const { url, provider, calls } = await deploymentForTest({ provider: { groupsOf: () => ["red"] } });
    const user = createTestUser(provider, { registration });
    const { client } = await connectSignedIn(url, mode, user);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["look", "act", "wait"]);
    expect(await client.callTool(lookCall)).toMatchObject(textContent("look for alice"));
    expect(user.requestedScopes).toEqual([expect.stringContaining("mic:read")]);
    expect(calls).toMatchObject([{ caller: { subject: "alice", groups: ["red"], rights: new Set(["read"]) } }]);
  });
});

describe.each(["legacy", "modern"] as const)("%s revision", (mode) => {
  test("a call that needs another scope sends the user to sign in for it, and then runs once", async () => {
    const { url, provider, calls } = await deploymentForTest();
    const user = createTestUser(provider, { registration: "its id" });
    const { client, transport } = await connectSignedIn(url, mode, user);
    await client.callTool(lookCall);
    await expect(client.callTool(actCall)).rejects.toThrow(UnauthorizedError);
    expect(calls.map(({ tool }) => tool)).toEqual(["look"]);
    await transport.finishAuth(await user.callback());
    expect(await client.callTool(actCall)).toMatchObject(textContent("act for alice"));
    expect(calls.map(({ tool }) => tool)).toEqual(["look", "act"]);
    expect(user.requestedScopes.at(-1)?.split(" ").sort()).toEqual(expect.arrayContaining(["mic:act", "mic:read"]));
  });

  test("a program signs in with its own credentials, and steps up without a user", async () => {
    const { url, provider, calls } = await deploymentForTest();
    const client = createClient(mode);
    onTestFinished(() => client.close());
    const authProvider = new ClientCredentialsProvider({
      clientId: ROBOT.id,
      clientSecret: ROBOT.secret,
      expectedIssuer: provider.issuer,
    });
    await client.connect(new Transport(new URL(url), { authProvider }));
    expect(await client.callTool(lookCall)).toMatchObject(textContent("look for robot"));
    expect(await client.callTool(actCall)).toMatchObject(textContent("act for robot"));
    expect(calls).toMatchObject([
      { caller: { clientId: "robot", rights: new Set(["read"]) } },
      { caller: { clientId: "robot" } },
    ]);
  });
});

test("the older SDK signs in, lists tools and calls one", async () => {
  const { url, provider } = await deploymentForTest();
  const user = createTestUser(provider, { registration: "its id" });
  const client = await signInWithOlderSdk(url, user);
  expect((await client.listTools()).tools).toHaveLength(3);
  expect(await client.callTool(lookCall)).toMatchObject(textContent("look for alice"));
});

test("with all scopes at sign-in, the older SDK acts without a second sign-in", async () => {
  const signInScopes = ["openid", "offline_access", "mic:read", "mic:act"];
  const { url, provider } = await deploymentForTest({ signInScopes });
  const user = createTestUser(provider, { registration: "its id" });
  const client = await signInWithOlderSdk(url, user);
  expect(await client.callTool(actCall)).toMatchObject(textContent("act for alice"));
  expect(user.requestedScopes).toEqual([signInScopes.join(" ")]);
});

test("a step-up requests the scopes of the sign-in again, so a provider that requires openid accepts it", async () => {
  const { url, provider } = await deploymentForTest({ signInScopes: ["openid", "mic:read"] });
  const user = createTestUser(provider, { registration: "its id" });
  const { client } = await connectSignedIn(url, "modern", user);
  await expect(client.callTool(actCall)).rejects.toThrow(UnauthorizedError);
  await user.callback();
  const [first = "", second = ""] = user.requestedScopes;
  expect(first.split(" ")).toEqual(expect.arrayContaining(["openid", "mic:read"]));
  expect(second.split(" ")).toEqual(expect.arrayContaining(["openid", "mic:read", "mic:act"]));
});
