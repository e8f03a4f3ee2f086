// Tests the container, built from the same folder as in the release.
import { spawnSync } from "node:child_process";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { beforeAll, expect, test } from "vitest";
import { buildImage, containerMissing } from "./container.ts";
import { type Command, driveJob } from "./drive.ts";
import { releaseForFile } from "./release-fixture.ts";

const { releasePath, siblingPath } = releaseForFile();

const skipNote = containerMissing === undefined ? "" : ` (skipped: ${containerMissing})`;
const testInContainer = test.skipIf(containerMissing !== undefined);

const NAMED_VOLUME = "mic-mcp-data";
/** Docker gives a random name to the volume of `VOLUME` if the user names none. */
const ANONYMOUS_VOLUME = "0123456789abcdef".repeat(4);
const ADVICE = "-v mic-mcp-data:/data";

let createContainer: (volume: string) => Command;
beforeAll(async () => {
  if (containerMissing === undefined)
    createContainer = await buildImage(releasePath("container"), siblingPath("image"));
});

const environmentOf = (container: Command, more: Readonly<Record<string, string>> = {}) => ({
  PATH: process.env["PATH"] ?? "",
  ...container.env,
  ...more,
});

testInContainer(
  `the container runs a job with a read-only root as its own user, and sets no variable that serve --teams refuses${skipNote}`,
  async () => {
    const container = createContainer(NAMED_VOLUME);
    await driveJob({ ...container, args: [...container.args, "serve", "--emulator"] }, "/");
    const { command, args } = container;
    const env = environmentOf(container);
    const teams = spawnSync(command, [...args, "serve", "--teams"], { env, encoding: "utf8" });
    expect(teams.status).toBe(2);
    expect(teams.stderr).toContain("MIC_PUBLIC_URL");
    expect(teams.stderr).not.toMatch(/_DIR/);
  },
);

/** Nothing listens there: the journal needs no API. */
const SERVICE = { MIC_BASE_URL: "http://127.0.0.1:9", MIC_CLIENT_ID: "client", MIC_CLIENT_SECRET: "a-secret" };

/** Returns the log of a start and the text of list_actions in a new container. */
async function listActions(container: Command, more: Readonly<Record<string, string>> = {}) {
  const { command, args } = container;
  const env = environmentOf(container, { ...SERVICE, ...more });
  const transport = new StdioClientTransport({ command, args: [...args, "serve"], env, stderr: "pipe" });
  let log = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    log += chunk.toString();
  });
  const client = new Client({ name: "container-test", version: "1" });
  await client.connect(transport);
  const { content } = await client.callTool({ name: "list_actions", arguments: {} });
  await client.close();
  return { log, text: JSON.stringify(content) };
}

function runDoctor(container: Command): string {
  const env = environmentOf(container, SERVICE);
  return spawnSync(container.command, [...container.args, "doctor"], { env, encoding: "utf8" }).stdout;
}

testInContainer(
  `with an anonymous volume, the log, list_actions and doctor report that the journal is deleted with the container${skipNote}`,
  async () => {
    const { log, text } = await listActions(createContainer(ANONYMOUS_VOLUME));
    expect(text).toContain("0 actions.");
    for (const each of [log, text]) expect(each).toContain(ADVICE);
    expect(runDoctor(createContainer(ANONYMOUS_VOLUME))).toMatch(/WRONG journal .*\n +-> .*-v mic-mcp-data:\/data/);
  },
);

testInContainer(`with a named volume, nothing warns about the journal${skipNote}`, async () => {
  const { log, text } = await listActions(createContainer(NAMED_VOLUME));
  expect(text).toContain("0 actions.");
  for (const each of [log, text]) expect(each).not.toContain("-v ");
  expect(runDoctor(createContainer(NAMED_VOLUME))).toMatch(/ok +journal /);
});

testInContainer(`a journal in the container's own layer is reported at the start${skipNote}`, async () => {
  const { log } = await listActions(createContainer(NAMED_VOLUME), { MIC_STATE_DIR: "/app/state" });
  expect(log).toContain(ADVICE);
});

testInContainer(`downloads are in the folder that the documentation mounts${skipNote}`, () => {
  expect(runDoctor(createContainer(NAMED_VOLUME))).toMatch(/ok +download folder +\/data\/Downloads\n/);
});
