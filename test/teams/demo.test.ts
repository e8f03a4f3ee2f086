// `npm run teams:demo` completes, and each step that it prints succeeds.
import { execFile } from "node:child_process";
import { expect } from "vitest";
import { deploymentMissing } from "../support/deployment.ts";
import { testUnless } from "../support/unless.ts";

testUnless(
  deploymentMissing,
  "the teams demo completes with a sign-in, two teams, a job, a killed instance and one execution",
  async () => {
    const args = ["--import", "tsx", "test/teams/demo.ts"];
    const output = await new Promise<string>((resolve) => {
      execFile(process.execPath, args, (_error, stdout, stderr) => resolve(stdout + stderr));
    });
    expect(output).toContain("the service's own count: 1 job");
    expect(output).toContain("Every step went as described");
  },
  240_000,
);
