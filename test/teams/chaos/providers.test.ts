// Real clients sign in at real identity providers with the settings of docs/operate/identity-providers.md, through haproxy.
import { readFileSync } from "node:fs";
import { UnauthorizedError } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished } from "vitest";
import { deploymentMissing, startDeployment } from "../../support/deployment.ts";
import { freePort } from "../../support/free-port.ts";
import { SCOPES } from "../../support/identity-provider.ts";
import { testUnless, thoroughMissing } from "../../support/unless.ts";
import { connectSignedIn, createTestUser, signInWithOlderSdk } from "../test-user.ts";
import { PROVIDERS, type ProviderCase } from "./identity-providers.ts";

const PAGE = "docs/operate/identity-providers.md";
const TIMEOUT_MS = 180_000;
const isChaosRun = process.env["CHAOS"] !== undefined;

/** The settings in the section of the page about this provider. `origin` replaces the host that the section names. */
function readSettings(name: string, origin: string): Readonly<Record<string, string>> {
  const sections = readFileSync(PAGE, "utf8").split(/^## /m);
  const [, block = ""] = /```sh\n(.*?)```/s.exec(sections.find((text) => text.startsWith(`${name}\n`)) ?? "") ?? [];
  const lines = block.replaceAll(/=https:\/\/[a-z]+\.example\.org/g, `=${origin}`).matchAll(/^(\w+)=(.*)$/gm);
  return Object.fromEntries([...lines].map(([, key, value]) => [key, value]));
}

/** A deployment until the running test ends. `scopes`: requested at sign-in (default: those of the page). */
async function deploymentForTest({ name, start }: ProviderCase, scopes?: string) {
  const port = await freePort();
  const provider = await start(`http://127.0.0.1:${port}/mcp`);
  onTestFinished(() => provider.stop());
  const settings = readSettings(name, provider.origin);
  expect(settings["MIC_AUTH_ISSUER"]).toBe(provider.issuer);
  const env = { ...settings, ...(scopes !== undefined && { MIC_AUTH_SIGN_IN_SCOPES: scopes }) };
  const deployment = await startDeployment({ instances: 1, teams: 1, port, env });
  onTestFinished(() => deployment.stop());
  const [team] = deployment.teams;
  const createUser = () => createTestUser(provider);
  const input = { inputKind: "M4_FILE", referenceId: team?.client.assetIds[0] ?? "" };
  return { ...deployment, createUser, actCall: { name: "register_input", arguments: input } };
}

const readCall = { name: "list_jobs", arguments: {} };
const succeeds = { structuredContent: expect.anything() };

describe.each(PROVIDERS)("$name", (provider) => {
  const missing = (isChaosRun ? undefined : thoroughMissing) ?? provider.missing ?? deploymentMissing;

  testUnless(
    missing,
    "clients of both SDKs sign in, list, read and act with the settings of the page",
    async () => {
      const { url, createUser, actCall } = await deploymentForTest(provider);
      const clients = [
        await signInWithOlderSdk(url, createUser()),
        (await connectSignedIn(url, "legacy", createUser())).client,
        (await connectSignedIn(url, "modern", createUser())).client,
      ];
      for (const client of clients) {
        expect((await client.listTools()).tools.map(({ name }) => name)).toContain(actCall.name);
        for (const call of [readCall, actCall]) {
          const result = await client.callTool(call);
          expect(result, JSON.stringify(result)).toMatchObject(succeeds);
          expect(result.isError).not.toBe(true);
        }
      }
    },
    TIMEOUT_MS,
  );

  testUnless(
    missing,
    "clients of both revisions step up when they act",
    async () => {
      const scopes = readSettings(provider.name, "")["MIC_AUTH_SIGN_IN_SCOPES"]?.split(" ") ?? [];
      const { url, createUser, actCall } = await deploymentForTest(
        provider,
        scopes.filter((scope) => scope !== SCOPES.write).join(" "),
      );
      for (const mode of ["legacy", "modern"] as const) {
        const user = createUser();
        const { client, transport } = await connectSignedIn(url, mode, user);
        expect(await client.callTool(readCall)).toMatchObject(succeeds);
        await expect(client.callTool(actCall)).rejects.toThrow(UnauthorizedError);
        await transport.finishAuth(await user.callback());
        expect(await client.callTool(actCall)).toMatchObject(succeeds);
        expect(user.requestedScopes.at(0)?.split(" ")).not.toContain(SCOPES.write);
        expect(user.requestedScopes.at(-1)?.split(" ")).toEqual(expect.arrayContaining(scopes));
      }
    },
    TIMEOUT_MS,
  );
});
