// The first answers are given before the server is loaded. They have to be word for word the server's own, and only once.
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { createFirstAnswers, isSettled, LEGACY_VERSIONS } from "../../src/mcp/first-answers.ts";
import { listingOf } from "../../src/mcp/tools/offered-tools.ts";
import { tools } from "../../tools/index.ts";
import { type Program, start } from "./stdio/child.ts";

const clientInfo = { name: "first-answers-test", title: "Test", version: "1" };
const META = "io.modelcontextprotocol";
const modern = {
  _meta: {
    [`${META}/protocolVersion`]: "2026-07-28",
    [`${META}/clientInfo`]: clientInfo,
    [`${META}/clientCapabilities`]: { elicitation: { form: {} } },
  },
};
const initialize = (protocolVersion: string, more: object = {}) => ({
  method: "initialize",
  params: { protocolVersion, capabilities: { roots: { listChanged: true }, sampling: {} }, clientInfo, ...more },
});
const initialized = { method: "notifications/initialized" };

interface Message {
  readonly method: string;
  readonly params?: object;
}

/** A variable that nobody knows has to be warned of: then the server itself gives every answer. */
const UNKNOWN = { MIC_NOT_A_VARIABLE: "1" };

/** What the program says to these messages, one line for each that has an id. */
async function told(env: Readonly<Record<string, string>>, messages: readonly Message[]): Promise<string> {
  const program = start(["serve"], { env: { MIC_KEYCHAIN: "off", MIC_LOG_LEVEL: "silent", ...env } });
  return await conversation(program, messages);
}

async function conversation(program: Program, messages: readonly Message[]): Promise<string> {
  for (const [id, message] of messages.entries()) {
    const isNotification = message.method.startsWith("notifications/");
    program.send({ jsonrpc: "2.0", ...(!isNotification && { id }), ...message });
    if (!isNotification) await program.next();
  }
  program.process.stdin.end();
  expect(await program.exit).toEqual({ code: 0, signal: null });
  return program.stdout();
}

const legacy = (version: string): readonly Message[] => [
  initialize(version),
  initialized,
  { method: "tools/list" },
  { method: "tools/list", params: {} },
];
const modernly: readonly Message[] = [
  { method: "server/discover", params: modern },
  { method: "tools/list", params: modern },
];

const configurations: readonly Readonly<Record<string, string>>[] = [
  {},
  { MIC_WORKSPACE_ID: "micws_known" },
  { MIC_READ_ONLY: "1" },
  { MIC_TOOLSETS: "geography" },
  { MIC_TOOLSETS: "jobs", MIC_READ_ONLY: "1", MIC_WORKSPACE_ID: "micws_known" },
];

describe("the first answers are the server's own", () => {
  test.each(configurations)("with %j, in both eras", async (env) => {
    for (const messages of [legacy("2025-11-25"), modernly])
      expect(await told(env, messages)).toBe(await told({ ...env, ...UNKNOWN }, messages));
  });

  test.each(LEGACY_VERSIONS)("in revision %s", async (version) => {
    expect(await told({}, legacy(version))).toBe(await told(UNKNOWN, legacy(version)));
  });

  test("in every revision with a handshake that the SDK knows", () => {
    expect(LEGACY_VERSIONS).toEqual(SUPPORTED_PROTOCOL_VERSIONS);
  });
});

describe("what they cannot say is left to the server, which has heard all of it", () => {
  const unusual: readonly (readonly [string, readonly Message[]])[] = [
    ["a revision that nobody knows", [initialize("2099-01-01"), { method: "tools/list" }]],
    ["capabilities that are none", [initialize("2025-11-25", { capabilities: { elicitation: 5 } })]],
    ["a client without a name", [initialize("2025-11-25", { clientInfo: { version: "1" } })]],
    ["a list before the handshake", [{ method: "tools/list" }]],
    ["a cursor", [...legacy("2025-06-18"), { method: "tools/list", params: { cursor: "x" } }]],
    ["another method", [...legacy("2025-06-18"), { method: "ping" }, { method: "prompts/list" }]],
    ["two eras at once", [initialize("2025-11-25"), initialized, { method: "server/discover", params: modern }]],
    [
      "a revision to come",
      [{ method: "tools/list", params: { _meta: { [`${META}/protocolVersion`]: "2099-01-01" } } }],
    ],
    [
      "a list, then a call",
      [...modernly, { method: "tools/call", params: { name: "no_such_tool", arguments: {}, ...modern } }],
    ],
  ];
  test.each(unusual)("%s", async (_, messages) => {
    expect(await told({}, messages)).toBe(await told(UNKNOWN, messages));
  });

  test("each request has one answer, also when all of them come at once and in pieces", async () => {
    const program = start(["serve"], { env: { MIC_KEYCHAIN: "off" } });
    const all: readonly Message[] = [...legacy("2025-11-25"), { method: "prompts/list" }, { method: "tools/list" }];
    const lines = all.map(({ method, params }, id) => ({
      jsonrpc: "2.0",
      ...(!method.startsWith("notifications/") && { id: `n${id}` }),
      method,
      ...(params && { params }),
    }));
    const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\r\n`).join(""));
    for (const at of [0, 1, 2]) {
      const third = Math.ceil(bytes.length / 3);
      await new Promise((resolve) =>
        program.process.stdin.write(bytes.subarray(at * third, (at + 1) * third), resolve),
      );
    }
    for (const line of lines) if ("id" in line) await program.next();
    program.process.stdin.end();
    await program.exit;
    const ids = program
      .stdout()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).id);
    expect(ids.sort()).toEqual(["n0", "n2", "n3", "n4", "n5"]);
  });

  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "%s before anything else ends the process with 0",
    async (signal) => {
      const program = start(["serve"], { env: { MIC_KEYCHAIN: "off" } });
      program.send({ jsonrpc: "2.0", id: 1, ...initialize("2025-11-25") });
      await program.next();
      program.process.kill(signal);
      expect(await program.exit).toEqual({ code: 0, signal: null });
    },
  );
});

test("they need nothing but the entry and the file that it loads", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mic-mcp-first-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const file of ["cli.js", "front.js", "package.json"]) await copyFile(join("dist", file), join(folder, file));
  const program = start([], { env: { MIC_KEYCHAIN: "off" }, entry: join(folder, "cli.js") });
  expect(await conversation(program, modernly)).toContain('"list_states"');
});

test("a configuration that only a login completes waits for it", () => {
  const settled = (env: Record<string, string>) => isSettled(readConfig(env));
  expect(settled({})).toBe(false);
  expect(settled({ MIC_BASE_URL: "http://h" })).toBe(false);
  expect(settled({ MIC_BASE_URL: "http://h", MIC_CLIENT_ID: "i", MIC_CLIENT_SECRET: "a-secret" })).toBe(true);
  expect(settled({ MIC_WORKSPACE_ID: "micws_1" })).toBe(true);
  expect(settled({ MIC_KEYCHAIN: "off" })).toBe(true);
  expect(settled({ MIC_KEYCHAIN: "off", ...UNKNOWN })).toBe(false);
});

test("lines that are no requests are not answered", () => {
  const listings = () => tools.map(listingOf);
  for (const line of ["", "x", "[]", "null", "1", '{"jsonrpc":"1.0","id":1,"method":"initialize"}', '{"id":1.5}'])
    expect(createFirstAnswers({ version: "1", config: readConfig({}), listings })(line)).toBeUndefined();
});
