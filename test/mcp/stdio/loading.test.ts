// While the program loads behind the first call: a signal is obeyed, and a client that no longer reads is no crash.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { isThorough } from "../../support/thorough.ts";
import { callMessage, initialize, type Program, start } from "./child.ts";

const long = { timeout: 120_000 };

/** From before the program is loaded to well behind it, on machines quick and slow. */
const DELAYS_MS = [0, 5, 15, 30, 50, 80, 120, 170, 230, 320].filter((_, at) => isThorough || at % 2 === 0);

const first = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};

async function endsPlainly(program: Program): Promise<void> {
  expect(await program.exit).toEqual({ code: 0, signal: null });
  expect(program.stderr()).toBe("");
}

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** How it is left in the middle of loading; the first signal at one moment, the next at the next. */
const ways: readonly (readonly [string, (program: Program, moment: number) => void])[] = [
  ["a signal", ({ process }, moment) => void process.kill(SIGNALS[moment % SIGNALS.length])],
  ["the end of stdin", ({ process }) => void process.stdin.end()],
  [
    "a client that stops reading",
    (program) => {
      program.process.stdout.destroy();
      // Whatever was answered before it closed: this one's answer finds nobody.
      program.send({ jsonrpc: "2.0", id: 3, method: "ping" });
    },
  ],
];

test.each(ways)("%s ends it plainly, however soon behind the first call", long, async (_, leave) => {
  const left = DELAYS_MS.map(async (ms, moment) => {
    const program = start(["serve"]);
    await initialize(program);
    program.send(callMessage(2, "list_actions"));
    await sleep(ms);
    leave(program, moment);
    await endsPlainly(program);
  });
  await Promise.all(left);
});

test.each([
  ["before anything was said", []],
  ["with the emulator inside", ["--emulator"]],
])("a client that reads nothing from the beginning is a plain end: %s", long, async (_, flags) => {
  for (const isWaiting of [true, false]) {
    const program = start(["serve", ...flags]);
    program.process.stdout.destroy();
    if (isWaiting) await sleep(50);
    // In one piece: the first answer fails while the call has the program loaded.
    const lines = [first, { jsonrpc: "2.0", method: "notifications/initialized" }, callMessage(2, "list_actions")];
    program.process.stdin.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    await endsPlainly(program);
  }
});

test.each([
  [["--help"], 0],
  [["status"], 0],
  [["doctor"], 1],
  [["no-such-command"], 2],
] as const)("%j ends as it would have, though nobody reads what it says", async (args, code) => {
  const program = start(args);
  program.process.stdout.destroy();
  expect(await program.exit).toEqual({ code, signal: null });
  expect(program.stderr()).not.toContain("EPIPE");
});
