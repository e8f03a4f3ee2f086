// Reports skipped tests and their reasons after each run. The reason is in parentheses in the name of a test or of its block.
import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";

const reasonOf = ({ fullName }: TestCase): string =>
  /\((?:skipped: |(?=needs ))([^()]*)\)/.exec(fullName)?.[1] ?? `no reason given: ${fullName}`;

export default class SkippedTestsReporter implements Reporter {
  #isFullRun = true;

  onInit({ config }: Vitest): void {
    // With -t or --tags-filter, all tests that do not match count as skipped.
    this.#isFullRun = config.testNamePattern === undefined && config.tagsFilter === undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (!this.#isFullRun) return;
    const skipped = modules.flatMap((module) =>
      [...module.children.allTests("skipped")].map((test) => `${reasonOf(test)}: ${module.relativeModuleId}`),
    );
    console.log(skipped.length === 0 ? "\nNothing was skipped." : "\nSkipped tests, each with its reason:");
    for (const line of new Set(skipped)) console.log(`  ${line}`);
  }
}
