// Tests the release's plugin and extension in the real clients: they pass each client's validation and install with an empty
// HOME, and their server connects.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { releaseForFile } from "../package/release-fixture.ts";
import { type ClientName, programOf, skipReasonFor } from "./packages.ts";
import { type CommandResult, run } from "./run.ts";

const { releasePath } = releaseForFile();

/** A client on a new machine. Each of its commands must exit with 0. */
async function setUpClient(client: ClientName) {
  const home = await mkdtemp(join(tmpdir(), "mic-mcp-home-"));
  onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
  async function runClient(...args: readonly string[]): Promise<CommandResult> {
    const result = await run(home, ...programOf(client), ...args);
    expect(result.code, `${args.join(" ")}: ${result.stdout}${result.stderr}`).toBe(0);
    return result;
  }
  return { home, does: runClient };
}

function testInClient(client: ClientName, body: () => Promise<void>): void {
  const skipReason = skipReasonFor(client);
  test.skipIf(skipReason !== undefined)(
    `the release installs in ${client}${skipReason === undefined ? "" : ` (skipped: ${skipReason})`}`,
    body,
  );
}

describe("plugins and extensions", () => {
  testInClient("Claude Code", async () => {
    const { does } = await setUpClient("Claude Code");
    for (const folder of [releasePath("plugin"), releasePath("plugin", "mic")])
      expect((await does("plugin", "validate", folder)).stdout).toMatch(/Validation passed$/m);
    await does("plugin", "marketplace", "add", releasePath("plugin"));
    await does("plugin", "install", "mic@mic-mcp");
    expect((await does("mcp", "list")).stdout).toMatch(/^plugin:mic:mic: .*Connected$/m);
  });

  testInClient("Codex", async () => {
    const { does } = await setUpClient("Codex");
    await does("plugin", "marketplace", "add", releasePath("plugin"));
    await does("plugin", "add", "mic@mic-mcp");
    expect((await does("mcp", "list")).stdout).toMatch(/^mic +node +\.\/dist\/cli\.js serve .* enabled/m);
  });

  testInClient("Gemini CLI", async () => {
    const { home, does } = await setUpClient("Gemini CLI");
    await mkdir(join(home, ".gemini"));
    const settings = { security: { folderTrust: { enabled: false } }, privacy: { usageStatisticsEnabled: false } };
    await writeFile(join(home, ".gemini", "settings.json"), JSON.stringify(settings));
    await does("extensions", "validate", releasePath("gemini-extension"));
    await does("extensions", "install", releasePath("gemini-extension"), "--consent", "--skip-settings");
    const { stdout, stderr } = await does("mcp", "list");
    expect(stdout + stderr).toMatch(/mic \(from mic\): .* - Connected/);
  });
});
