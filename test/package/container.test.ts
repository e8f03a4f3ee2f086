// Tests the container, built from the same folder as in the release.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { containerMissing, runContainer } from "./container.ts";
import { driveJob } from "./drive.ts";
import { releaseForFile } from "./release-fixture.ts";

const { releasePath, siblingPath } = releaseForFile();

const skipNote = containerMissing === undefined ? "" : ` (skipped: ${containerMissing})`;

test.skipIf(containerMissing !== undefined)(
  `the container runs a job with a read-only root as its own user, and sets no variable that serve --teams refuses${skipNote}`,
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
