// Tests an instance whose PostgreSQL server has a full disk.
import { expect } from "vitest";
import { emulatorForTest } from "../support/emulator.ts";
import { smallDiskMissing, startOnSmallDisk } from "../support/small-disk.ts";
import { testUnless } from "../support/unless.ts";
import { connectCaller, createCaller, environmentForTest, instanceForTest } from "./deployment.ts";

testUnless(
  smallDiskMissing,
  "an instance is not ready while the disk of PostgreSQL is full, and recovers when it has space",
  async () => {
    const disk = await startOnSmallDisk(96);
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
