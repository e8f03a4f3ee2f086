// Tests the responses to requests in each serving mode, and the requests that are refused.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Emulator, startEmulator } from "../../../src/emulator/index.ts";
import { serveHttpInProcess } from "../../support/in-process.ts";
import { emulatorEnv } from "../../support/mcp.ts";
import { modernEnvelope } from "../modern-envelope.ts";
import { ACCEPT, connectLegacyClient, post } from "./raw-client.ts";
import { servingModes } from "./serving-modes.ts";

let emulator: Emulator;

beforeAll(async () => {
  emulator = await startEmulator();
});
afterAll(() => emulator.close());
const env = () => ({ ...emulatorEnv(emulator), MIC_GEOGRAPHY_RATE: "600" });

describe.each(servingModes)("%s", (_, { serve, connect }) => {
  let url: string;
  beforeEach(async () => {
    url = await serve(env());
  });

  test("concurrent calls each get their own answer, under their own request ids", async () => {
    const client = await connect(url);
    const sentCalls = ["Kerala", "Telangana", "Goa", "Karnataka"].map((state, at) => ({
      state,
      sent: client.call(at + 10, "list_districts", { state }),
    }));
    for (const [at, { state, sent }] of sentCalls.entries()) {
      const { messages } = await sent.answer;
      expect(messages).toEqual([
        expect.objectContaining({
          id: at + 10,
          result: expect.objectContaining({ structuredContent: expect.objectContaining({ state }) }),
        }),
      ]);
    }
  });
});

describe("invalid requests", () => {
  let url: string;
  beforeEach(async () => {
    url = await serveHttpInProcess(env());
  });
  const read = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_states", arguments: {} } };
  const modern = { ...read, params: { ...read.params, _meta: modernEnvelope() } };
  const version = { "mcp-protocol-version": "2026-07-28" };
  const named = { "mcp-method": "tools/call", "mcp-name": "list_states" };

  test.each([
    ["no version in its headers", modern, named],
    ["no method in its headers", modern, { ...version, "mcp-name": "list_states" }],
    ["another method in its headers", modern, { ...version, ...named, "mcp-method": "tools/list" }],
    ["no name in its headers", modern, { ...version, "mcp-method": "tools/call" }],
    ["another name in its headers", modern, { ...version, ...named, "mcp-name": "get_job" }],
    ["headers of 2026-07-28 and no envelope", read, { ...version, ...named }],
  ])("a request is refused if it has %s", async (_, message, headers) => {
    const { status, messages } = await post(url, message, headers).answer;
    expect({ status, error: messages[0]?.error !== undefined }).toEqual({ status: 400, error: true });
  });

  test.each([
    ["an unknown version", { "mcp-protocol-version": "1999-01-01" }, 400],
    ["an Accept without streams", { accept: "application/json" }, 406],
    ["an Accept without JSON", { accept: "text/event-stream" }, 406],
    ["an Accept of another type", { accept: "text/html" }, 406],
  ])("a request in a session is refused if it has %s", async (_, headers, status) => {
    const { headers: own } = await connectLegacyClient(url);
    expect((await post(url, read, { accept: ACCEPT, ...own, ...headers }).answer).status).toBe(status);
  });
});
