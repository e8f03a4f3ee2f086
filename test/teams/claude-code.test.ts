// Tests that Claude Code signs in at a real identity provider as a user does on a terminal, and connects.
import { expect } from "vitest";
import { missingReason, programOf } from "../interop/packages.ts";
import { cleanEnvironment, NO_NETWORK, run } from "../interop/run.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { runProgramOnTerminal, terminalsMissing } from "../support/terminal.ts";
import { testUnless } from "../support/unless.ts";
import { deploymentForTest } from "./in-process-deployment.ts";

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
      expect.arrayContaining(["mic:read", "mic:act"]),
    );
    expect(new URL(authorizationUrl).searchParams.get("resource")).toBe(url);
    expect((await fetch(await provider.browse(new URL(authorizationUrl)))).status).toBe(200);
    expect(await terminal.exit, terminal.screen()).toBe(0);

    expect(await listed()).toMatch(/^mic: .*Connected$/m);
  },
);
