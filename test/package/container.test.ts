// The container, from the folder that the release builds it from.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { containerMissing, runContainer } from "./container.ts";
import { driveJob } from "./drive.ts";
import { releaseForFile } from "./release-fixture.ts";

const { releasePath, siblingPath } = releaseForFile();

const skipNote = containerMissing === undefined ? "" : ` (skipped: ${containerMissing})`;

test.skipIf(containerMissing !== undefined)(
  `runs a job with its root read-only, as its own user, and has nothing of one person's that teams would refuse${skipNote}`,
  async () => {
    const { args, ...image } = await runContainer(releasePath("container"), siblingPath("image"));
    await driveJob({ ...image, args: [...args, "serve", "--emulator"] }, "/");
    const { env, command } = image;
    const path = { PATH: process.env["PATH"] ?? "" };
    const teams = spawnSync(command, [...args, "serve", "--teams"], { env: { ...path, ...env }, encoding: "utf8" });
    expect(teams.status).toBe(2);
    expect(teams.stderr).toContain("MIC_PUBLIC_URL");
    expect(teams.stderr).not.toMatch(/_DIR/);
  },
);
