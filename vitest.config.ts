// Configures vitest: the projects of tests, their time limits and the number of workers.
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import LongestFirst from "./test/support/longest-first.ts";
import { createChaosProjects } from "./test/teams/chaos/projects.ts";

/** The ids of the rules in docs/contract.md. */
const RULES = [...new Set(readFileSync("docs/contract.md", "utf8").match(/(?<=`)\d[\d.]*\/[^`\n]+(?=`)/g))];

/** "small" or "full": only the chaos tests run, sequentially (`npm run test:chaos`). */
const { CHAOS } = process.env;

/** The projects inherit the number of workers from this file, and it would override `--maxWorkers`. */
const isLimited = process.argv.some((word) => word.startsWith("--maxWorkers"));

// "structure" only reads files (npm run check); "behavior" runs servers, clients and the emulator.
export default defineConfig({
  test: {
    // 180 s ends tests that hang, but no slow test on a busy machine.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // `npm test -- --tags-filter "4.2/if-match-form"` runs the tests that cite a rule.
    tags: RULES.map((name) => ({ name })),
    // Many tests wait for processes, pipes and time limits: one worker for each core would leave half of the machine idle.
    ...(!isLimited && { maxWorkers: CHAOS === undefined ? Math.max(5, availableParallelism()) : 1 }),
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "./test/support/skips.ts"],
    // Time limit of expect.poll on a busy machine, in milliseconds.
    expect: { poll: { timeout: 60_000 } },
    projects:
      CHAOS !== undefined
        ? createChaosProjects(CHAOS)
        : [
            { extends: true, test: { name: "structure", include: ["test/*.test.ts"] } },
            // Starting a worker for each file would take longer than the tests, and no test keeps state in a module.
            { extends: true, test: { name: "behavior", isolate: false, include: ["test/*/**/*.test.ts"] } },
          ],
  },
});
