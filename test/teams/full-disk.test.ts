// Tests an instance whose PostgreSQL server has a full disk: a small tmpfs that the test fills, with the WAL elsewhere.
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { emulatorForTest } from "../support/emulator.ts";
import { createPostgresInstallation, postgresMissing, postgresUser } from "../support/postgres.ts";
import { linuxMissing, testUnless } from "../support/unless.ts";
import { connectCaller, createCaller, environmentForTest, instanceForTest } from "./deployment.ts";

const rootMissing = process.getuid?.() === 0 ? undefined : "only root can mount a file system";
const DISK = "size=96m,mode=0700";

/** Starts a server on a disk of 96 MB, without the test's usual second database. */
async function startOnSmallDisk() {
  const installation = createPostgresInstallation();
  const server = await installation.createServer("data", ["fsync=off", "autovacuum=off", "shared_buffers=16MB"]);
  mkdirSync(server.data);
  execFileSync("mount", ["-t", "tmpfs", "-o", `${DISK},uid=${postgresUser}`, "tmpfs", server.data]);
  onTestFinished(async () => {
    await server.end("SIGQUIT");
    execFileSync("umount", ["--lazy", server.data]);
    installation.remove();
  });
  const files = ["-D", server.data, "--waldir", `${server.data}-wal`];
  installation.run("initdb", [...files, "-A", "trust", "-U", "mic", "--no-sync"]);
  await server.start();
  const filler = join(server.data, "filler");
  return {
    createDatabase: async () => server.url(),
    /** Leaves 64 KB, which are enough for a change in place. */
    fill(): void {
      const { bavail, bsize } = statfsSync(server.data);
      writeFileSync(filler, Buffer.alloc(bavail * bsize - 64 * 1024));
    },
    free: () => rmSync(filler),
  };
}

testUnless(
  linuxMissing ?? postgresMissing ?? rootMissing,
  "an instance is not ready while the disk of PostgreSQL is full, and recovers when it has space",
  async () => {
    const disk = await startOnSmallDisk();
    const emulator = await emulatorForTest({ clients: 1 });
    const instance = await instanceForTest(await environmentForTest(disk, emulator));
    const client = await connectCaller(instance, createCaller("ann", ["reds"]));
    let keys = 0;
    const act = () =>
      client.callTool("register_input", {
        ...{ inputKind: "M4_FILE", referenceId: emulator.fileIds[0], idempotencyKey: `action-${++keys}` },
        clientReference: "x".repeat(160),
      });
    expect((await act()).isError).toBe(false);
    expect(await instance.databaseCheck()).toMatchObject({ status: "ok" });

    disk.fill();
    // Rows fit into the free parts of pages until one needs a new page.
    const failed = async (): Promise<string> => {
      const results = await Promise.all(Array.from({ length: 20 }, act));
      return results.find(({ isError }) => isError)?.text ?? "";
    };
    await expect
      .poll(failed)
      .toMatch(
        /\(unavailable\).*No space left on device.*Nothing was changed.*Retry after 30 s.*operator.* free space on the disk/s,
      );
    await expect
      .poll(() => instance.databaseCheck(), { timeout: 20_000 })
      .toMatchObject({ status: "failed", reason: expect.stringContaining("No space left on device") });
    expect((await client.callTool("list_jobs", {})).isError).toBe(false);

    disk.free();
    await expect.poll(() => instance.databaseCheck(), { timeout: 20_000 }).toMatchObject({ status: "ok" });
    expect((await act()).isError).toBe(false);
  },
);
