// The MCP Inspector, an independent client program, signs in at a real identity provider and works from an empty HOME folder.
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { missingReason, programOf } from "../interop/packages.ts";
import { launch } from "../interop/run.ts";
import { freePort } from "../support/free-port.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { describeUnless } from "../support/unless.ts";
import { deploymentForTest } from "./in-process-deployment.ts";

describeUnless(missingReason("MCP Inspector"), "the MCP Inspector", () => {
  test.each(["legacy", "modern"])(
    "the MCP Inspector registers itself, signs in with all scopes, lists and calls tools (%s)",
    async (revision) => {
      const { url, provider, calls } = await deploymentForTest({ provider: { groupsOf: () => ["red"] } });
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
        let stderr = "";
        let stdout = "";
        let isSigningIn = false;
        child.stdin.end();
        child.stdout.setEncoding("utf8").on("data", (text: string) => {
          stdout += text;
        });
        const signedIn = new Promise<void>((resolve, reject) => {
          child.once("close", () => resolve());
          child.stderr.setEncoding("utf8").on("data", (text: string) => {
            stderr += text;
            const [signInUrl] = new RegExp(`${provider.issuer}/auth\\?\\S+(?=\\s)`).exec(stderr) ?? [];
            if (signInUrl === undefined || isSigningIn) return;
            isSigningIn = true;
            provider
              .browse(new URL(signInUrl))
              .then((callbackUrl) => fetch(callbackUrl))
              .then(() => resolve(), reject);
          });
        });
        const closed = once(child, "close");
        await signedIn;
        const [code] = await closed;
        expect(code, stderr).toBe(0);
        return stdout;
      }

      const listed = await inspect("--method", "tools/list");
      for (const name of ["look", "act", "wait"]) expect(listed).toContain(`"name":"${name}"`);
      expect(await inspect("--method", "tools/call", "--tool-name", "look")).toContain("look for alice");
      expect(await inspect("--method", "tools/call", "--tool-name", "act")).toContain("act for alice");
      expect(provider.requests.filter((request) => request === "POST /reg")).toHaveLength(1);
      const caller = { subject: "alice", groups: ["red"], rights: new Set(["read", "act"]) };
      expect(calls).toMatchObject([
        { tool: "look", caller },
        { tool: "act", caller },
      ]);
    },
  );
});
