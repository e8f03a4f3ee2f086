// The scenarios of the official suite that hold for any server, because they need none of the suite's own tools.
import { words } from "../support/words.ts";
import { type Check, runSuite, type Verdict } from "./suite.ts";

export const failedChecks = ({ checks }: Verdict): readonly Check[] =>
  checks.filter(({ status }) => !["SUCCESS", "INFO"].includes(status));
export const scenarioNames = ({ checks }: Verdict): readonly string[] => [
  ...new Set(checks.map(({ scenario }) => scenario)),
];

export const runScenario = (url: string, revision: string, scenario: string): Promise<Verdict> =>
  runSuite(url, "--scenario", scenario, "--spec-version", revision, "--force");

/** Checks that need the suite's own tools, which the product does not have. */
const CHECKS_WITH_OWN_TOOLS = words(`
  sep-2575-server-rejects-undeclared-capability sep-2575-missing-capability-http-400
  sep-2575-http-server-no-independent-requests-on-stream sep-2575-server-no-log-without-loglevel`);

export const ANY_SERVER: Readonly<Record<string, readonly string[]>> = {
  "2025-11-25": words(`
    server-initialize ping tools-list resources-list prompts-list dns-rebinding-protection server-sse-multiple-streams
    server-session-lifecycle`),
  "2026-07-28": words(`
    server-stateless tools-list resources-list prompts-list dns-rebinding-protection server-sse-multiple-streams caching
    http-header-validation sep-2164-resource-not-found input-required-result-unsupported-methods
    input-required-result-validate-input`),
};

/** The failed checks of a scenario against the server at this URL; a scenario without any check also counts as failed. */
export async function findFailures(url: string, revision: string, scenario: string): Promise<readonly string[]> {
  const verdict = await runScenario(url, revision, scenario);
  // The suite skips features that the server does not declare, such as lists that change.
  const failed = failedChecks(verdict).filter(
    ({ id, status }) => status !== "SKIPPED" && !CHECKS_WITH_OWN_TOOLS.includes(id),
  );
  const hasSuccess = verdict.checks.some(({ status }) => status === "SUCCESS");
  const isRequestedScenario = scenarioNames(verdict).join() === scenario;
  return [
    ...failed.map(({ id, message }) => `${scenario} (${revision}), ${id}: ${message}`),
    ...(hasSuccess && isRequestedScenario
      ? []
      : [`${scenario} (${revision}) saw nothing: ${verdict.output.slice(-500)}`]),
  ];
}
