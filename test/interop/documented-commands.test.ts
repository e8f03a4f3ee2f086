// Starts the servers of the JSON configurations in the README and in docs/use/clients.md, on a machine with an empty HOME. Only the server's
// path is replaced. test/docs/examples.test.ts runs the commands of these pages.
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { openClient } from "../package/drive.ts";
import { serveHttpInProcess } from "../support/in-process.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { TOOL_NAMES } from "../tools/catalogue.ts";
import { programOf, skipReasonFor } from "./packages.ts";
import { runCommand, testUnless } from "./run.ts";

const SERVER = resolve("dist", "cli.js");
const DOCUMENTED_PATH = "/path/to/mic-mcp/dist/cli.js";
const HTTP_URL = "http://127.0.0.1:8931/mcp";
const MIC_HTTP_TOKEN = "a-token-0123456789-._~+/=";

const pages = ["README.md", "docs/use/clients.md"] as const;

/** Splits a line into words as a shell does; supports only plain words and single quotes. */
const splitWords = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");

/** Lines of a page that begin with the program's name, in a table or in a code block. */
function commandLines(page: string, program: string): readonly string[] {
  const line = new RegExp(`(?:^|\`)(${program} (?:mcp add|--add-mcp) [^\`\\n]+?)(?:\`| {2,}#|$)`, "gm");
  const lines = [...readFileSync(page, "utf8").matchAll(line)].map(([, text = ""]) => text);
  return lines.filter((text) => text.includes(DOCUMENTED_PATH) || text.includes(HTTP_URL));
}

async function createHome(): Promise<string> {
  const home = await folderForTest();
  // Only the user can trust a folder. docs/use/clients.md describes the effect without trust.
  await mkdir(join(home, ".gemini"));
  const settings = { security: { folderTrust: { enabled: false } }, privacy: { usageStatisticsEnabled: false } };
  await writeFile(join(home, ".gemini", "settings.json"), JSON.stringify(settings));
  return home;
}

testUnless(
  skipReasonFor("Claude Code"),
  "Claude Code connects with the documented entry that reads the token from the file",
  {},
  async () => {
    const [entry = ""] =
      /^ *\{ "type": "http".*"headersHelper".*$/m.exec(readFileSync("docs/use/clients.md", "utf8")) ?? [];
    const home = await createHome();
    const state = join(home, ".local", "state", "mic-mcp");
    await mkdir(state, { recursive: true, mode: 0o700 });
    await writeFile(join(state, "http-token"), `${MIC_HTTP_TOKEN}\n`, { mode: 0o600 });
    const url = await serveHttpInProcess({ MIC_HTTP_TOKEN });
    const type = (...args: readonly string[]) =>
      runCommand(home, [process.execPath, ...programOf("Claude Code"), "mcp", ...args], {});
    const added = await type("add-json", "-s", "user", "mic", entry.trim().replace(HTTP_URL, url));
    expect(added.code, added.stdout + added.stderr).toBe(0);
    expect((await type("list")).stdout).toMatch(/^mic: .*Connected$/m);
  },
);

test.each(pages)("each JSON configuration in %s starts a server that lists its tools", async (page) => {
  const Server = z.object({ command: z.literal("node"), args: z.array(z.string()) });
  const text = readFileSync(page, "utf8");
  const added = commandLines(page, "code")
    .filter((line) => line.includes(DOCUMENTED_PATH))
    .map((line) => splitWords(line)[2] ?? "");
  const blocks = [...text.matchAll(/[`\n](\{\s*"mcpServers":[^`]*\})/g)].map(
    ([, block = ""]) => JSON.parse(block).mcpServers.mic,
  );
  const servers = [...added.map((json) => JSON.parse(json)), ...blocks].filter((server) => server.env === undefined);
  expect(servers.length).toBeGreaterThanOrEqual(2);
  for (const server of servers) {
    const { command, args } = Server.parse(server);
    const at = args.map((arg) => arg.replace(DOCUMENTED_PATH, SERVER));
    const { client } = await openClient({ command, args: at }, await folderForTest());
    expect((await client.listTools()).tools).toHaveLength(TOOL_NAMES.length);
    await client.close();
  }
});
