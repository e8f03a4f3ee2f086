// Real clients against the built server, as a user has them on a new machine. What is proven is what went over the wire:
// that each connects, gets every tool, and calls where it can without a login.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod/v4";
import { tools } from "../../tools/index.ts";
import { clients } from "./clients.ts";
import { tappedServer, type Wire } from "./wire.ts";

const Listed = z.object({ tools: z.array(z.object({ name: z.string() })) });
const names = tools.map(({ name }) => name);

function expectListed({ exchanges }: Wire): void {
  const lists = exchanges.filter(({ method }) => method === "tools/list");
  expect(lists).not.toHaveLength(0);
  for (const { result } of lists) expect(Listed.parse(result).tools.map(({ name }) => name)).toEqual(names);
}

function expectCalled({ exchanges }: Wire): void {
  const calls = exchanges.filter(({ method }) => method === "tools/call");
  expect(calls.map(({ params }) => params.name)).toContain("list_districts");
  for (const { result } of calls) {
    expect(result).toHaveProperty("structuredContent");
    expect(result?.["isError"]).not.toBe(true);
  }
}

function expectRead({ exchanges }: Wire): void {
  const reads = exchanges.filter(({ method }) => method === "resources/read");
  expect(reads).not.toHaveLength(0);
  for (const { result } of reads) expect(JSON.stringify(result)).toContain("Karnataka");
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("over stdio", () => {
  for (const { name, missing, opens, does, use } of clients) {
    const what = ["connects", ...does].join(", ");
    test.skipIf(missing !== undefined)(
      `${name} ${what}${missing ? ` (${missing})` : ""}`,
      { timeout: 30_000 },
      async () => {
        const home = await mkdtemp(join(tmpdir(), "mic-mcp-interop-"));
        // A client may still be writing its last lines there.
        onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
        const server = tappedServer(home, ["serve", "--emulator"]);
        await use({ kind: "stdio", ...server }, home);
        await expect.poll(() => server.wire().pids.filter(isAlive), { timeout: 5_000 }).toEqual([]);
        const wire = server.wire();
        expect(wire.pids).not.toEqual([]);
        expect(wire.exits.filter((code) => code !== "0")).toEqual([]);
        expect(wire.exchanges[0]?.method).toBe(opens);
        expect(wire.exchanges.filter(({ error }) => error !== undefined)).toEqual([]);
        expect(wire.exchanges.filter(({ result }) => result === undefined)).toEqual([]);
        expect(wire.log).toBe("");
        if (does.includes("lists")) expectListed(wire);
        if (does.includes("calls")) expectCalled(wire);
        if (does.includes("reads")) expectRead(wire);
      },
    );
  }
});
