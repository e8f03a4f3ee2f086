// Row 12: runs the scenarios that hold for any server against a deployment. The official suite sends no token, so a balancer adds
// one.
import { onTestFinished } from "vitest";
import { ANY_SERVER, findFailures } from "../../conformance/any-server.ts";
import { isInstalled } from "../../conformance/suite.ts";
import { startHaproxy } from "../../support/balancers.ts";
import { startDeployment } from "../../support/deployment.ts";
import { freePort } from "../../support/free-port.ts";
import type { Outcome } from "./under-load.ts";

/** A deployment issues no Mcp-Session-Id. Without it these scenarios check nothing, so they are left out for this revision. */
const WITH_SESSIONS = "2025-11-25";
const SCENARIOS_WITH_SESSIONS: readonly string[] = ["server-session-lifecycle", "server-sse-multiple-streams"];

export const conformanceMissing = isInstalled() ? undefined : "npm run conformance installs the suite";

export async function runConformanceThroughBalancer({ instances }: { readonly instances: number }): Promise<Outcome> {
  const port = await freePort();
  // The suite sends the server's own origin in the Origin header.
  const env = { MIC_ALLOWED_ORIGINS: `http://127.0.0.1:${port}` };
  const deployment = await startDeployment({ instances, teams: 1, port, env });
  onTestFinished(() => deployment.stop());
  const { url, balancer, fleet, teams, issueToken } = deployment;
  // The second balancer must use the same port, because the instances are configured with the deployment's URL.
  await balancer.kill();
  const authorization = `Bearer ${await issueToken("conformance", teams)}`;
  const urls = fleet.instances.map((each) => each.url);
  const adding = await startHaproxy(urls, { port, authorization });
  onTestFinished(() => adding.stop());
  const failures: string[] = [];
  let scenarios = 0;
  for (const [revision, names] of Object.entries(ANY_SERVER))
    for (const name of names) {
      if (revision === WITH_SESSIONS && SCENARIOS_WITH_SESSIONS.includes(name)) continue;
      scenarios += 1;
      failures.push(...(await findFailures(url, revision, name)));
    }
  return { counts: { scenarios, failures: failures.length }, failures };
}
