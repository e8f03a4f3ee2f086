// Tests the repository's plugin and extension in the real clients on a new machine: they pass each client's validation, install with
// their settings, and a prompt calls tools. `npx` gets the package from the registry of test/package/rehearsal.ts.
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { registryMissing, rehearsalForFile } from "../package/rehearsal.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { hostOf, runPrompt } from "./hosts.ts";
import { startModel } from "./model.ts";
import { type ClientName, commandOf, skipReasonFor } from "./packages.ts";
import { type CommandResult, runCommand, testUnless } from "./run.ts";

const { siblingPath, useRegistry } = rehearsalForFile();

/** The files of the repository that a plugin needs, without the packages of a developer. */
async function copyRepository(): Promise<string> {
  const copy = siblingPath("repository");
  const parts = [
    ...[".claude-plugin", ".codex-plugin", "gemini-extension.json", "plugin.json", "mcp.json"],
    ...["skills", "docs/pictures", "README.md"],
  ];
  for (const part of parts) await cp(part, join(copy, part), { recursive: true });
  return copy;
}

async function setUpClient(name: ClientName) {
  const home = await folderForTest();
  await useRegistry(home);
  const table = { source: "list_districts", arguments: { state: "Goa" }, fileName: "goa.csv" };
  const model = await startModel([
    { tool: "list_states", arguments: {} },
    { tool: "save_table", arguments: table },
  ]);
  await hostOf(name).configure(home, model.url, undefined);
  async function runClient(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr }: CommandResult = await runCommand(home, [...commandOf(name), ...args], {});
    expect(code, `${args.join(" ")}: ${stdout}${stderr}`).toBe(0);
    return stdout + stderr;
  }
  /** Runs a prompt whose model calls a read, and a tool that needs approval and no journal. */
  async function expectCalls(args: readonly string[], variables = {}): Promise<void> {
    const { stdout, stderr } = await runPrompt(hostOf(name), home, model.url, args, variables);
    expect(model.toolResults().join("\n"), stdout + stderr).toMatch(/Karnataka.*Saved 3 rows/s);
  }
  return { runClient, expectCalls, repository: await copyRepository() };
}

const testInClient = (client: ClientName, body: () => Promise<void>): void =>
  testUnless(
    registryMissing ?? skipReasonFor(client),
    `the plugin installs in ${client} and calls tools with the documented setting`,
    { timeout: 240_000 },
    body,
  );

describe("the plugin", () => {
  testInClient("Claude Code", async () => {
    const { runClient, expectCalls, repository } = await setUpClient("Claude Code");
    expect(await runClient("plugin", "validate", repository)).toMatch(/Validation passed$/m);
    await runClient("plugin", "marketplace", "add", repository);
    await runClient("plugin", "install", "mic@mic-mcp", "--config", "emulator=true");
    await expectCalls(["--allowedTools", "mcp__plugin_mic_mic"]);
  });

  testInClient("Codex", async () => {
    const { runClient, expectCalls, repository } = await setUpClient("Codex");
    await runClient("plugin", "marketplace", "add", repository);
    await runClient("plugin", "add", "mic@mic-mcp");
    await expectCalls(["-c", 'plugins.mic@mic-mcp.mcp_servers.mic.default_tools_approval_mode="approve"'], {
      MIC_EMULATOR: "1",
    });
  });

  testUnless(skipReasonFor("Copilot CLI"), "the plugin loads in Copilot CLI as an Agent Plugin", {}, async () => {
    const { runClient, repository } = await setUpClient("Copilot CLI");
    const plugin = siblingPath("agent-plugin");
    for (const part of ["plugin.json", "mcp.json", "skills"])
      await cp(join(repository, part), join(plugin, part), { recursive: true });
    expect(await runClient("plugin", "install", plugin)).toContain("Installed 3 skills");
    expect(await runClient("mcp", "list")).toMatch(/^ +mic \(local\)$/m);
  });

  testInClient("Gemini CLI", async () => {
    const { runClient, expectCalls, repository } = await setUpClient("Gemini CLI");
    await runClient("extensions", "validate", repository);
    await runClient("extensions", "install", repository, "--consent", "--skip-settings");
    await expectCalls(["--allowed-mcp-server-names", "mic"], { MIC_EMULATOR: "1" });
  });
});
