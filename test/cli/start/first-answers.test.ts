// The first answers are given before the server is loaded. They have to be word for word the server's own, and only once; and
// nobody who comes later can tell.
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { start } from "../../mcp/stdio/child.ts";
import { folderForTest } from "../../support/home.ts";
import { conversation, type Message, toldByServer } from "./conversation.ts";

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

/** What the program says to these messages, one line for each that has an id. */
async function told(env: Readonly<Record<string, string>>, messages: readonly Message[]): Promise<string> {
  const program = start(["serve"], { env: { MIC_KEYCHAIN: "off", MIC_LOG_LEVEL: "silent", ...env } });
  return await conversation(program, messages);
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
      expect(await told(env, messages)).toBe(await toldByServer(env, messages));
  });

  test.each(SUPPORTED_PROTOCOL_VERSIONS)("in revision %s", async (version) => {
    expect(await told({}, legacy(version))).toBe(await toldByServer({}, legacy(version)));
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
    expect(await told({}, messages)).toBe(await toldByServer({}, messages));
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

/** An empty folder with the files that answer, and whatever else the program needs left out. */
async function entryAlone(): Promise<string> {
  const folder = await folderForTest();
  for (const file of ["cli.js", "start.js", "package.json"]) await copyFile(join("dist", file), join(folder, file));
  return join(folder, "cli.js");
}

describe("they need nothing but the entry and the file that it loads", () => {
  test.each(configurations)("with %j", async (env) => {
    const entry = await entryAlone();
    const versions = Object.keys(env).length === 0 ? SUPPORTED_PROTOCOL_VERSIONS : ["2025-11-25"];
    for (const messages of [modernly, ...versions.map(legacy)]) {
      const program = start([], { env: { MIC_KEYCHAIN: "off", ...env }, entry });
      expect(await conversation(program, messages)).toContain('"tools":[{');
    }
  });

  test("a line that is no first request needs the rest", async () => {
    const entry = await entryAlone();
    for (const line of ["x", "[]", "null", '{"jsonrpc":"1.0","id":1,"method":"initialize"}', '{"id":1.5}']) {
      const program = start([], { env: { MIC_KEYCHAIN: "off" }, entry });
      program.process.stdin.write(`${line}\n`);
      expect((await program.exit).code).toBe(1);
      expect(program.stdout()).toBe("");
    }
  });
});

describe("an id that was answered", () => {
  const raw = (id: number, message: Message) => ({ jsonrpc: "2.0", id, ...message });
  const ping = { method: "ping" };

  test("is the client's to use again: each request has its own answer", async () => {
    const program = start(["serve"], { env: { MIC_KEYCHAIN: "off" } });
    const all = [raw(1, initialize("2025-11-25")), raw(2, { method: "tools/list" }), raw(1, ping), raw(2, ping)];
    for (const message of [...all, raw(1, { method: "tools/list" })]) {
      program.send(message);
      expect(await program.next()).toMatchObject({ id: message.id, result: {} });
    }
    program.process.stdin.end();
    await program.exit;
    expect(program.stdout().trim().split("\n")).toHaveLength(5);
  });

  test("may be cancelled too late, and used again", async () => {
    const program = start(["serve"], { env: { MIC_KEYCHAIN: "off" } });
    for (const message of [raw(1, initialize("2025-11-25")), raw(2, { method: "tools/list" })]) {
      program.send(message);
      await program.next();
    }
    program.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } });
    program.send(raw(2, { method: "tools/list" }));
    expect(await program.next()).toMatchObject({ id: 2, result: { tools: expect.any(Array) } });
    program.process.stdin.end();
    await program.exit;
    expect(program.stdout().trim().split("\n")).toHaveLength(3);
  });
});
