// Tests whole prompts in real hosts with a model on this machine: from the list of tools through the approval to the result.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { isThorough } from "../support/thorough.ts";
import { hosts, runPrompt } from "./hosts.ts";
import { startModel, type ToolRequest } from "./model.ts";
import { missingReason, packages } from "./packages.ts";

const SERVER = { command: process.execPath, args: [resolve("dist", "cli.js"), "serve", "--emulator"] };
const READ: ToolRequest = { tool: "list_states", arguments: {} };
const ACTION: ToolRequest = {
  tool: "register_input",
  arguments: { inputKind: "M4_FILE", referenceId: "devfile_00000000000000000000000000000000" },
};

describe.each(hosts)("$name", (host) => {
  const skipReason = missingReason(host.name) ?? (isThorough ? undefined : "MIC_TEST_ALL is not 1");
  const skipped = skipReason === undefined ? "" : ` (skipped: ${skipReason})`;
  const title = `${host.name} ${packages[host.name].version}`;

  async function runWith(args: readonly string[]) {
    const home = await mkdtemp(join(tmpdir(), "mic-mcp-host-"));
    onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
    const model = await startModel([READ, ACTION]);
    await host.configure(home, model.url, SERVER);
    const { stdout, stderr } = await runPrompt(host, home, model.url, args);
    return { results: model.toolResults(), output: stdout + stderr };
  }

  test.skipIf(skipReason !== undefined)(
    `${title} calls a read and an action with the documented setting${skipped}`,
    { timeout: 120_000, retry: 1 },
    async () => {
      const { results, output } = await runWith(host.unattended);
      expect(results, output).toHaveLength(2);
      expect(results[0]).toContain("Karnataka");
      // The emulator has no such file, so this is the API's answer to the action.
      expect(results[1]).toMatch(/not_found|not found/i);
    },
  );

  test.skipIf(skipReason !== undefined)(
    `${title} ${host.readsWithoutApproval ? "calls" : "does not call"} a read without approval${skipped}`,
    { timeout: 120_000, retry: 1 },
    async () => {
      const { results } = await runWith([]);
      expect(JSON.stringify(results).includes("Karnataka")).toBe(host.readsWithoutApproval);
    },
  );
});
