// The container, from the folder that the release builds it from.
import { test } from "vitest";
import { containerMissing, runContainer } from "./container.ts";
import { driveJob } from "./drive.ts";
import { releaseForFile } from "./made-release.ts";

const { made, beside } = releaseForFile();

const why = containerMissing === undefined ? "" : ` (skipped: ${containerMissing})`;

test.skipIf(containerMissing !== undefined)(`runs a job with its root read-only, as its own user${why}`, async () => {
  const { args, ...command } = await runContainer(made("container"), beside("image"));
  await driveJob({ ...command, args: [...args, "serve", "--emulator"] }, "/");
});
