// Tests the process that accesses the keychain: it lives no longer than needed and never blocks the server.
import type { ChildProcess } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { openKeychain } from "../../../src/credentials/keychain/keychain.ts";
import { callMessage, initialize, start } from "../../mcp/stdio/child.ts";
import { describeWithKeychain, sessionForTest } from "../../support/secret-service.ts";
import { childrenOf, isAlive } from "./session.ts";

async function findWorker({ pid = 0 }: ChildProcess): Promise<number> {
  await expect.poll(() => childrenOf(pid).length).toBe(1);
  const [worker = 0] = childrenOf(pid);
  return worker;
}

describeWithKeychain("the keychain process", () => {
  test("the keychain process ends with its server while the keychain does not respond", async () => {
    for (const end of ["SIGKILL", "stdin"] as const) {
      const session = await sessionForTest("mute");
      const program = start(["serve"], { env: session.env });
      await initialize(program);
      program.send(callMessage(2, "list_jobs"));
      const worker = await findWorker(program.process);
      if (end === "SIGKILL") program.process.kill(end);
      else program.process.stdin.end();
      expect(await program.exit).toMatchObject(end === "SIGKILL" ? { signal: end } : { code: 0 });
      // It ends before the keychain's own time limit would end the call.
      expect(program.stdout()).not.toContain('"id":2');
      await expect.poll(() => isAlive(worker)).toBe(false);
    }
  });

  test("a call whose keychain process is killed reports this, and the next call starts another process", async () => {
    const session = await sessionForTest("mute");
    const program = start(["serve"], { env: session.env });
    await initialize(program);
    program.send(callMessage(2, "list_jobs", { workspaceId: "micws_1" }));
    const worker = await findWorker(program.process);
    process.kill(worker, "SIGKILL");
    expect(JSON.stringify(await program.next())).toContain("its process ended");
    program.send({ jsonrpc: "2.0", id: 3, method: "ping" });
    expect(await program.next()).toMatchObject({ id: 3, result: {} });
  });
});

function openKeychainForTest(environment: NodeJS.ProcessEnv, idleMs = 10_000) {
  const others = childrenOf(process.pid);
  const keychain = openKeychain(20_000, idleMs, { PATH: process.env["PATH"], ...environment });
  onTestFinished(() => keychain.close());
  return { keychain, own: () => childrenOf(process.pid).filter((pid) => !others.includes(pid) && isAlive(pid)) };
}

test("the keychain process ends when it has been idle, and is started again for the next call", async () => {
  // Without a bus it reports at once that the keychain is absent.
  const { keychain, own } = openKeychainForTest({ DBUS_SESSION_BUS_ADDRESS: "unix:path=/nowhere/bus" }, 100);
  for (const _ of ["first", "second"]) {
    const rejection = expect(keychain.getPassword("login")).rejects.toMatchObject({ kind: "absent" });
    await expect.poll(own).toHaveLength(1);
    await rejection;
    await expect.poll(own).toEqual([]);
  }
});

describeWithKeychain("repeated reads of a keychain", () => {
  // A user has 256 connections to the bus, for all programs of the desktop.
  test("a keychain that is read repeatedly uses only a few connections to the bus", async () => {
    const { env } = await sessionForTest();
    const { keychain, own } = openKeychainForTest(env);
    await keychain.setPassword("login", "first");
    const sockets = () =>
      own().flatMap((pid) =>
        readdirSync(`/proc/${pid}/fd`).filter((fd) => /^socket:/.test(readlinkSync(`/proc/${pid}/fd/${fd}`))),
      ).length;
    const before = sockets();
    for (let reading = 0; reading < 60; reading++) expect(await keychain.getPassword("login")).toBe("first");
    expect(sockets()).toBeLessThan(before + 10);
  });
});
