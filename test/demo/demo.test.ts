// Tests that `mic-mcp demo` completes, and that each check it prints holds.
import { expect } from "vitest";
import { run } from "../mcp/stdio/child.ts";
import { testThoroughly } from "../support/unless.ts";

const title = "the demo runs a job, answers a question about geography, and creates no second job after kill -9";

testThoroughly(title, async () => {
  const { code, stdout, stderr } = await run(["demo"]);
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("[ok] The API created the job, its response is lost, and the program is dead (kill -9).");
  expect(stdout).toContain("Resolved: the action ran once");
  expect(stdout).toContain("Not run again: an identical call ran");
  expect(stdout).toContain("complete, https://lgdirectory.gov.in/");
  expect(stdout).toContain("- /parameterValues/level: must be equal to one of the allowed values");
  expect(stdout).toContain("[ok] The API received 2 requests for this job and created 1 job.");
});
