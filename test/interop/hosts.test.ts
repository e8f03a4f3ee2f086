// Tests real hosts from the list of tools through the approval to the result. Those with a model get one on this machine.
import { describe, expect } from "vitest";
import { folderForTest } from "../support/temporary-folder.ts";
import { isThorough } from "../support/thorough.ts";
import { TOOL_NAMES } from "../tools/catalogue.ts";
import { commandClients, hosts, type Program, runPrompt } from "./hosts.ts";
import { startModel } from "./model.ts";
import { runCommand, testUnless } from "./run.ts";
import { createTappedServer } from "./wire.ts";

const input = (referenceId: string) => ({
  tool: "register_input",
  arguments: { inputKind: "M4_FILE", referenceId },
});
const READ = { tool: "list_states", arguments: {} };
/** The first file of every emulator, and a file that none has. */
const CALLS = [READ, input("devfile_76381f6e8a03a2fd3bcb6c735f66e413"), input(`devfile_${"0".repeat(32)}`)];
const RESULTS = [/Karnataka/, /micinput_[0-9a-f]{32}/, /REFERENCE_NOT_FOUND.*Correct the fields named above/s];

async function createHome() {
  const home = await folderForTest();
  return { home, server: createTappedServer(home, ["serve", "--emulator"]) };
}

function testProgram({ name, version, missing }: Program, behavior: string, body: () => Promise<void>): void {
  const skipReason = missing ?? (isThorough ? undefined : "MIC_TEST_ALL is not 1");
  // These programs are not ours, so a failed run is retried twice.
  testUnless(skipReason, `${name} ${version} ${behavior}`, { retry: 2 }, body);
}

function expectListed({ readCapture }: ReturnType<typeof createTappedServer>): void {
  const lists = readCapture().exchanges.filter(({ method }) => method === "tools/list");
  expect(JSON.stringify(lists.map(({ result }) => result)).match(/(?<="name":")[^"]+/g)).toEqual(
    expect.arrayContaining([...TOOL_NAMES]),
  );
}

describe.each(hosts)("$name", (host) => {
  async function runWith(args: readonly string[]) {
    const { home, server } = await createHome();
    const model = await startModel(CALLS);
    await host.configure(home, model.url, { command: server.command, args: server.args });
    const { stdout, stderr } = await runPrompt(host, home, model.url, args, { server });
    return { model, server, output: stdout + stderr };
  }

  testProgram(
    host,
    "lists the tools, calls a read tool and an action, and passes on the text of an error",
    async () => {
      const { model, server, output } = await runWith(host.unattended);
      expectListed(server);
      expect(model.offeredAtOnce(TOOL_NAMES)).toBe(host.offers === "at once");
      expect(model.toolResults(), output).toHaveLength(CALLS.length);
      for (const [index, pattern] of RESULTS.entries()) expect(model.toolResults()[index]).toMatch(pattern);
    },
  );

  if (host.unattended.length === 0) return;
  testProgram(
    host,
    `calls ${host.readsWithoutApproval ? "a read tool but no action" : "no tool"} without approval`,
    async () => {
      const { model, output } = await runWith([]);
      const results = model.toolResults().join("\n");
      expect(results.includes("Karnataka"), output).toBe(host.readsWithoutApproval);
      expect(results).not.toMatch(/micinput_/);
    },
  );
});

describe.each(commandClients)("$name", (client) => {
  testProgram(client, "lists the tools, calls a read tool and an action, and prints the text of an error", async () => {
    const { home, server } = await createHome();
    await client.configure(home, { command: server.command, args: server.args });
    async function runClient(args: readonly string[]): Promise<string> {
      const { stdout, stderr } = await runCommand(home, [...client.command, ...args], {});
      return stdout + stderr;
    }
    if (client.open) await runClient(client.open);
    const outputs = [await runClient(client.list)];
    for (const { tool, arguments: args } of CALLS)
      outputs.push(await runClient(client.call(tool, Object.entries(args))));
    if (client.close) await runClient(client.close);
    expectListed(server);
    for (const name of TOOL_NAMES) expect(outputs[0]).toContain(name);
    for (const [index, pattern] of RESULTS.entries()) expect(outputs[index + 1]).toMatch(pattern);
  });
});
