// Checks that the pages, skills and deployment files that repeat the time limit of a call state the limit of src/core/time-limits.ts.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CALL_LIMIT_SECONDS } from "../src/core/time-limits.ts";

/** The default of MIC_DRAIN_DELAY_SECONDS. */
const DRAIN_DELAY_SECONDS = 5;

test.each<readonly [file: string, statement: RegExp]>([
  ["skills/run-a-job/SKILL.md", /"waitSeconds": (\d+)/],
  ["skills/retry-safely/SKILL.md", /"waitSeconds": (\d+)/],
  ["examples/largest-districts.mjs", /waitSeconds: (\d+)/],
  ["docs/interface.md", /`waitSeconds`: 0 to (\d+)/],
  ["docs/interface.md", /oldest first, within (\d+) s/],
  ["docs/interface.md", /limits the whole call \(default (\d+) s\)/],
  ["docs/interface.md", /unresolved action of this caller, within (\d+) s/],
  ["docs/use/tools.md", /after (\d+) s at the latest/],
  ["docs/use/errors.md", /A tool call takes at most (\d+) s/],
  ["docs/use/errors.md", /each call takes at most (\d+) s/],
  ["docs/use/run-a-job.md", /The call takes at most (\d+) s/],
  ["docs/use/automate-retries.md", /A call waits at most (\d+) s/],
  ["docs/operate/operations.md", /a tool call \| (\d+) s/],
  ["docs/operate/run.md", /calls in flight have (\d+) s to finish/],
  ["docs/contribute/architecture.md", /the end of the call \((\d+) s\)/],
  ["docs/contribute/architecture.md", /a call ends within (\d+) s/],
  ["docs/contribute/architecture.md", /or (\d+) s in \[a deployment\]/],
  ["deploy/systemd/mic-mcp@.service", /then (\d+) s for the calls in flight/],
  ["deploy/compose/compose.yaml", /then (\d+) s for the calls in flight/],
  ["deploy/kubernetes/mic-mcp.yaml", /then (\d+) s for the calls in flight/],
])("%s states the time limit of a call: %s", (file, statement) => {
  const [, seconds] = statement.exec(readFileSync(file, "utf8")) ?? [];
  expect(Number(seconds), `state CALL_LIMIT_SECONDS in ${file}, or correct its row in this test`).toBe(
    CALL_LIMIT_SECONDS,
  );
});

test.each<readonly [file: string, timeout: RegExp]>([
  ["deploy/systemd/mic-mcp@.service", /TimeoutStopSec=(\d+)/],
  ["deploy/compose/compose.yaml", /stop_grace_period: (\d+)s/],
  ["deploy/kubernetes/mic-mcp.yaml", /terminationGracePeriodSeconds: (\d+)/],
  ["docs/operate/run.md", /must therefore wait .*\((\d+) s by default\)/],
])("the supervisor of %s waits until the calls in flight have ended", (file, timeout) => {
  const [, seconds] = timeout.exec(readFileSync(file, "utf8")) ?? [];
  expect(Number(seconds)).toBeGreaterThan(CALL_LIMIT_SECONDS + DRAIN_DELAY_SECONDS);
});
