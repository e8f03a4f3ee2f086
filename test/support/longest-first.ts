// Orders the test files. A long file that starts last delays the whole run. The long ones alternate with others, because they mostly
// wait, and the others mostly compute. Vitest has durations of files only after a run on this machine, so a new clone has none.
import { existsSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { words } from "./words.ts";

/** The files that take longest, because they wait for browsers, keychains, other programs, or minutes. */
const LONGEST = words(`
  test/package/add-a-tool.test.ts test/geography/sharing.test.ts test/faults/bulk.test.ts test/cli/stopped-calls.test.ts
  test/teams/monitoring.test.ts
  test/interop/hosts.test.ts test/faults/kills-in-flight.test.ts test/teams/isolation.test.ts test/interop/plugins.test.ts
  test/deploy/drill.test.ts test/package/published.test.ts test/teams/chaos/chaos.test.ts test/cli/code-cache.test.ts
  test/tools/show-job.test.ts test/actions/failover.test.ts test/evals/evals.test.ts test/package/release.test.ts
  test/credentials/keychain/login.test.ts test/interop/clients.test.ts test/tools/wait-limit.test.ts test/cli/waits.test.ts
  test/cli/call.test.ts test/teams/stalled-instances.test.ts test/actions/postgres.test.ts test/apps/pictures.test.ts
  test/tools/arguments.test.ts test/credentials/keychain/unavailable.test.ts test/tools/expensive-schemas.test.ts
  test/interop/documented-commands.test.ts test/credentials/keychain/serve.test.ts test/tools/run-job.test.ts
  test/mcp/resources/updates.test.ts test/teams/chaos/providers.test.ts test/faults/kills.test.ts
  test/telemetry/exports.test.ts test/cli/scopes.test.ts test/tools/faults.test.ts test/tools/show-divisions.test.ts
  test/tools/list-jobs.test.ts`);

export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const missing = LONGEST.filter((file) => !existsSync(file));
    if (missing.length > 0) throw new Error(`${import.meta.url} names what is not there: ${missing.join(", ")}`);
    const placeOf = ({ moduleId }: TestSpecification): number =>
      LONGEST.findIndex((file) => moduleId.endsWith(`/${file}`));
    const [long, short] = [files.filter((file) => placeOf(file) >= 0), files.filter((file) => placeOf(file) < 0)];
    long.sort((one, other) => placeOf(one) - placeOf(other));
    const alternating = (await super.sort(short)).flatMap((file, at) => [...long.slice(at, at + 1), file]);
    return [...alternating, ...long.slice(short.length)];
  }
}
