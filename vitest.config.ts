import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import LongestFirst from "./test/support/longest-first.ts";
import { createChaosProjects } from "./test/teams/chaos/projects.ts";

/** "small" or "full": the chaos tests, one after the other, instead of all others (`npm run test:chaos`). */
const { CHAOS } = process.env;

// "structure" reads files only (npm run check); "behavior" runs servers, clients and the emulator.
export default defineConfig({
  test: {
    // What hangs is ended; what is slow, on a machine that has much to do, is not.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Many tests wait, for processes, pipes and time limits: with a worker for each core, half of the machine would have nothing to do.
    maxWorkers: CHAOS === undefined ? Math.max(6, availableParallelism()) : 1,
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "./test/support/skips.ts"],
    // How long something awaited may take on a machine that has much to do; it is looked at until it is there.
    expect: { poll: { timeout: 20_000 } },
    projects:
      CHAOS !== undefined
        ? createChaosProjects(CHAOS)
        : [
            { extends: true, test: { name: "structure", include: ["test/*.test.ts"] } },
            // Starting a worker for each file would cost more than the tests: none of them keeps state in a module.
            { extends: true, test: { name: "behavior", isolate: false, include: ["test/*/**/*.test.ts"] } },
          ],
  },
});
