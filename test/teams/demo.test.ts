// `npm run teams:demo` completes, and each step that it prints succeeds.
import { execFile } from "node:child_process";
import { expect, test } from "vitest";
import { deploymentMissing } from "../support/deployment.ts";

const skipped = deploymentMissing === undefined ? "" : ` (skipped: ${deploymentMissing})`;

test.skipIf(deploymentMissing !== undefined)(
  `the teams demo completes with a sign-in, two teams, a job, a killed instance and one execution${skipped}`,
  { timeout: 240_000 },
  async () => {
    const args = ["--import", "tsx", "test/teams/demo.ts"];
    const output = await new Promise<string>((resolve) => {
      execFile(process.execPath, args, (_error, stdout, stderr) => resolve(stdout + stderr));
    });
    expect(output).toContain("the service's own count: 1 job");
    expect(output).toContain("Every step went as described");
  },
);
