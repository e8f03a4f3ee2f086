// Orders the test files. A long file that starts last delays the whole run. Vitest has durations of files only after a run on
// this machine, so a new clone has none.
import { existsSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { words } from "./words.ts";

/** The files that take longest, because they wait for browsers, keychains, other programs, or minutes. */
const LONGEST = words(`
  test/teams/chaos/chaos.test.ts test/actions/failover.test.ts test/evals/evals.test.ts test/interop/hosts.test.ts
  test/teams/monitoring.test.ts test/teams/stalled-instances.test.ts test/tools/run-job.test.ts
  test/injection/hostile-answers.test.ts test/tools/retry-jobs.test.ts test/tools/wait-limit.test.ts test/apps/job.test.ts
  test/credentials/keychain/login.test.ts test/credentials/keychain/unavailable.test.ts test/actions/postgres.test.ts
  test/interop/clients.test.ts test/interop/documented-commands.test.ts test/credentials/keychain/doctor.test.ts
  test/credentials/keychain/sharing.test.ts test/credentials/keychain/serve.test.ts test/geography/sharing.test.ts
  test/mcp/resources/updates.test.ts test/faults/processes.test.ts test/cli/waits.test.ts test/cli/code-cache.test.ts
  test/credentials/keychain/terminal.test.ts test/credentials/keychain/secrecy.test.ts test/docs/examples.test.ts
  test/tools/expensive-schemas.test.ts test/cli/watch.test.ts test/faults/multi-step-tools.test.ts
  test/tools/resolve-actions.test.ts test/teams/demo.test.ts test/demo/demo.test.ts test/cli/call.test.ts
  test/package/release.test.ts test/package/add-a-tool.test.ts test/apps/views.test.ts test/tools/list-jobs.test.ts
  test/faults/kills.test.ts test/faults/kills-in-flight.test.ts`);

export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const missing = LONGEST.filter((file) => !existsSync(file));
    if (missing.length > 0) throw new Error(`${import.meta.url} names what is not there: ${missing.join(", ")}`);
    const priorityOf = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.findIndex((file) => moduleId.endsWith(`/${file}`));
      return place < 0 ? LONGEST.length : place;
    };
    return (await super.sort(files)).sort((one, other) => priorityOf(one) - priorityOf(other));
  }
}
