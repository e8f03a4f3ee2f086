// Starts a PostgreSQL server on a small disk, which a test can fill: a tmpfs, with the WAL elsewhere.
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { errorCode } from "../../src/core/failure.ts";
import { createPostgresInstallation, postgresMissing, postgresUser } from "./postgres.ts";
import { linuxMissing } from "./unless.ts";

export const smallDiskMissing =
  linuxMissing ?? postgresMissing ?? (process.getuid?.() === 0 ? undefined : "only root can mount a file system");

/** `megabytes`: without the usual second database, an empty cluster takes 30. */
export async function startOnSmallDisk(megabytes: number) {
  const installation = createPostgresInstallation();
  const settings = ["fsync=off", "autovacuum=off", "shared_buffers=16MB", "max_connections=200"];
  const server = await installation.createServer("data", settings);
  mkdirSync(server.data);
  const options = `size=${megabytes}m,mode=0700,uid=${postgresUser}`;
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", server.data]);
  onTestFinished(async () => {
    await server.end("SIGQUIT");
    execFileSync("umount", ["--lazy", server.data]);
    installation.remove();
  });
  installation.initdb(server.data, "--waldir", `${server.data}-wal`);
  await server.start();
  const filler = join(server.data, "filler");
  return {
    createDatabase: async () => server.url(),
    /** Leaves 64 KB, which are enough for a change in place. */
    fill(): void {
      const { blocks, bsize } = statfsSync(server.data);
      try {
        writeFileSync(filler, Buffer.alloc(blocks * bsize));
      } catch (error) {
        if (errorCode(error) !== "ENOSPC") throw error;
      }
      truncateSync(filler, Math.max(0, statSync(filler).size - 64 * 1024));
    },
    free: () => rmSync(filler),
  };
}
