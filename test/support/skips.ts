// Reports skipped tests and their reasons after each run. The reason is in parentheses in the name of a test or of its block.
import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";

const reasonOf = ({ fullName }: TestCase): string =>
  /\((?:skipped: |(?=needs ))([^()]*)\)/.exec(fullName)?.[1] ?? `no reason given: ${fullName}`;

export default class SkippedTestsReporter implements Reporter {
  #isFullRun = true;

  onInit({ config }: Vitest): void {
    // With -t, all tests that do not match count as skipped.
    this.#isFullRun = config.testNamePattern === undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (!this.#isFullRun) return;
    const filesByReason = new Map<string, Map<string, number>>();
    for (const module of modules)
      for (const test of module.children.allTests("skipped")) {
        const files = filesByReason.get(reasonOf(test)) ?? new Map<string, number>();
        files.set(module.relativeModuleId, (files.get(module.relativeModuleId) ?? 0) + 1);
        filesByReason.set(reasonOf(test), files);
      }
    console.log(filesByReason.size === 0 ? "\nNothing was skipped." : "\nSkipped, because of what is not so here:");
    for (const [reason, files] of filesByReason)
      console.log(`  ${reason}: ${[...files].map(([file, count]) => `${count} in ${file}`).join(", ")}`);
  }
}
