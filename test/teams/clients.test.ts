// Real clients sign in at a real identity provider without a screen: both SDKs, older and newer revisions, each kind of client
// registration. They sign in for a user or for themselves, and step up when a call needs more scopes. The MCP
// Inspector and Claude Code do so as programs, from an empty HOME folder.
import { once } from "node:events";
import {
  ClientCredentialsProvider,
  StreamableHTTPClientTransport as Transport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished } from "vitest";
import { missingReason, programOf } from "../interop/packages.ts";
import { cleanEnvironment, launch, NO_NETWORK, run } from "../interop/run.ts";
import { freePort } from "../support/free-port.ts";
import { METADATA_URL, ROBOT } from "../support/identity-provider.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { runProgramOnTerminal, terminalsMissing } from "../support/terminal.ts";
import { describeUnless, testUnless } from "../support/unless.ts";
import { deploymentForTest, testWithDeployment } from "./in-process-deployment.ts";
import { connectSignedIn, createClient, createTestUser, signInWithOlderSdk } from "./test-user.ts";

const test = testWithDeployment({ provider: { groupsOf: () => ["red"] } });
const lookCall = { name: "look", arguments: {} };
const actCall = { name: "act", arguments: {} };
const textContent = (text: string) => ({ content: [{ type: "text", text }] });

const MODES = ["legacy", "modern"] as const;
const REGISTRATIONS = [
  ["by its id", "its id"],
  ["by the URL of its metadata", { url: METADATA_URL }],
  ["by registering itself", "registering"],
] as const;

describe.each(MODES)("%s revision", (mode) => {
  test.for(REGISTRATIONS)(
    "a client that the provider knows %s signs in, lists and calls tools",
    async ([, registration], { deployment: { url, provider, calls } }) => {
      const user = createTestUser(provider, registration);
      const { client } = await connectSignedIn(url, mode, user);
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["look", "act", "wait", "fetch"]);
      expect(await client.callTool(lookCall)).toMatchObject(textContent("look for alice"));
      expect(user.requestedScopes).toEqual([expect.stringContaining("mic:read")]);
      expect(calls).toMatchObject([{ caller: { subject: "alice", groups: ["red"], rights: new Set(["read"]) } }]);
    },
  );

  test("a call that needs another scope makes the user sign in for this scope and the earlier ones, and then runs once", async () => {
    // Some providers require openid in each request.
    const { url, provider, calls } = await deploymentForTest({ signInScopes: ["openid", "mic:read"] });
    const user = createTestUser(provider);
    const { client, transport } = await connectSignedIn(url, mode, user);
    await expect(client.callTool(actCall)).rejects.toThrow(UnauthorizedError);
    expect(calls).toEqual([]);
    await transport.finishAuth(await user.callback());
    expect(await client.callTool(actCall)).toMatchObject(textContent("act for alice"));
    expect(calls).toHaveLength(1);
    const [first = [], second = []] = user.requestedScopes.map((scopes) => scopes.split(" "));
    expect(first).toEqual(expect.arrayContaining(["openid", "mic:read"]));
    expect(second).toEqual(expect.arrayContaining(["openid", "mic:read", "mic:write"]));
  });

  test("a program signs in with its own credentials, and steps up without a user", async ({
    deployment: { url, provider, calls },
  }) => {
    const client = createClient(mode);
    onTestFinished(() => client.close());
    const credentials = { clientId: ROBOT.id, clientSecret: ROBOT.secret, expectedIssuer: provider.issuer };
    const authProvider = new ClientCredentialsProvider(credentials);
    await client.connect(new Transport(new URL(url), { authProvider }));
    expect(await client.callTool(lookCall)).toMatchObject(textContent("look for robot"));
    expect(await client.callTool(actCall)).toMatchObject(textContent("act for robot"));
    expect(calls).toMatchObject([
      { caller: { clientId: "robot", rights: new Set(["read"]) } },
      { caller: { clientId: "robot" } },
    ]);
  });
});

test("with all scopes at sign-in, the older SDK lists tools and acts without a second sign-in", async () => {
  const signInScopes = ["openid", "offline_access", "mic:read", "mic:write"];
  const { url, provider } = await deploymentForTest({ signInScopes });
  const user = createTestUser(provider);
  const client = await signInWithOlderSdk(url, user);
  expect((await client.listTools()).tools).toHaveLength(4);
  for (const name of ["look", "act"])
    expect(await client.callTool({ name, arguments: {} })).toMatchObject(textContent(`${name} for alice`));
  expect(user.requestedScopes).toEqual([signInScopes.join(" ")]);
});

describeUnless(missingReason("MCP Inspector"), "the MCP Inspector", () => {
  test.for(MODES)(
    "the MCP Inspector registers itself, signs in with all scopes, lists and calls tools (%s)",
    async (revision, { deployment: { url, provider, calls } }) => {
      const registrations = () => provider.requests.filter((request) => request === "POST /reg").length;
      const registrationsBefore = registrations();
      const home = await folderForTest();
      const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`;

      /** Runs the Inspector and returns its stdout. If it prints a sign-in URL, the user signs in there. */
      async function inspect(...inspectorArguments: readonly string[]): Promise<string> {
        const server = [url, "--protocol-era", revision, "--callback-url", callback, "--format", "json"];
        // Without a terminal the Inspector starts a sign-in only if it may open a browser. This machine has no browser to open.
        const child = launch(home, [...programOf("MCP Inspector"), "--cli", ...server, ...inspectorArguments], {
          MCP_AUTO_OPEN_ENABLED: "true",
          PATH: home,
        });
        onTestFinished(() => void child.kill("SIGKILL"));
        child.stdin.end();
        const output = { stdout: "", stderr: "" };
        for (const name of ["stdout", "stderr"] as const)
          child[name].on("data", (chunk: Buffer) => {
            output[name] += chunk;
          });
        const closed = once(child, "close");
        const signInUrl = () => new RegExp(`${provider.issuer}/auth\\?\\S+(?=\\s)`).exec(output.stderr)?.[0];
        await expect.poll(() => signInUrl() ?? child.exitCode).not.toBeNull();
        const page = signInUrl();
        if (page !== undefined) await fetch(await provider.browse(new URL(page)));
        const [code] = await closed;
        expect(code, output.stderr).toBe(0);
        return output.stdout;
      }

      const listed = await inspect("--method", "tools/list");
      for (const name of ["look", "act", "wait"]) expect(listed).toContain(`"name":"${name}"`);
      expect(await inspect("--method", "tools/call", "--tool-name", "look")).toContain("look for alice");
      expect(await inspect("--method", "tools/call", "--tool-name", "act")).toContain("act for alice");
      expect(registrations()).toBe(registrationsBefore + 1);
      const caller = { subject: "alice", groups: ["red"], rights: new Set(["read", "write"]) };
      expect(calls).toMatchObject([
        { tool: "look", caller },
        { tool: "act", caller },
      ]);
    },
  );
});

const missing = missingReason("Claude Code") ?? terminalsMissing;

testUnless(
  missing,
  "Claude Code reports that it needs authentication, signs in with all scopes, and connects",
  async () => {
    const { url, provider } = await deploymentForTest({ provider: { groupsOf: () => ["red"] } });
    const home = await folderForTest();
    const claude = [...programOf("Claude Code"), "mcp"];
    const listed = async () => (await run(home, ...claude, "list")).stdout;
    expect((await run(home, ...claude, "add", "--transport", "http", "mic", url)).stdout).toMatch(/^Added/);
    expect(await listed()).toMatch(/^mic: .*Needs authentication$/m);

    const environment = { ...cleanEnvironment(home), ...NO_NETWORK, BROWSER: "true" };
    const terminal = runProgramOnTerminal([...claude, "login", "mic"], environment, home);
    // Claude Code shows the page as a terminal hyperlink, which ends with a BEL character (U+0007).
    const page = new RegExp(`${provider.issuer}/auth\\?[^\\s\\u0007]+(?=\\u0007)`);
    await expect.poll(terminal.screen).toMatch(page);
    const [authorizationUrl = ""] = page.exec(terminal.screen()) ?? [];
    expect(new URL(authorizationUrl).searchParams.get("scope")?.split(" ")).toEqual(
      expect.arrayContaining(["mic:read", "mic:write"]),
    );
    expect(new URL(authorizationUrl).searchParams.get("resource")).toBe(url);
    expect((await fetch(await provider.browse(new URL(authorizationUrl)))).status).toBe(200);
    expect(await terminal.exit, terminal.screen()).toBe(0);

    expect(await listed()).toMatch(/^mic: .*Connected$/m);
  },
);
