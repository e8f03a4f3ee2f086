// Row 12: the official suite brings no token, so a balancer adds one; what holds of any server holds of a deployment for teams.
import { ANY_SERVER, findFailures } from "../../conformance/any-server.ts";
import { isInstalled } from "../../conformance/suite.ts";
import { startHaproxy } from "../../support/balancers.ts";
import { startDeployment } from "../../support/deployment.ts";
import { freePort } from "../../support/free-port.ts";

import type { Outcome } from "./under-load.ts";

/** A deployment issues no Mcp-Session-Id, without which these scenarios check nothing. */
const WITH_SESSIONS = "2025-11-25";
const SCENARIOS_WITH_SESSIONS: readonly string[] = ["server-session-lifecycle", "server-sse-multiple-streams"];

export const conformanceMissing = isInstalled() ? undefined : "npm run conformance installs the suite";

export async function runConformanceThroughBalancer({ instances }: { readonly instances: number }): Promise<Outcome> {
  const port = await freePort();
  // The suite calls itself a page of the server's own origin.
  const env = { MIC_ALLOWED_ORIGINS: `http://127.0.0.1:${port}` };
  const deployment = await startDeployment({ instances, teams: 1, port, env });
  try {
    const { url, balancer, fleet, teams, issueToken } = deployment;
    // At the same port: what the instances are called by is the URL of the deployment.
    await balancer.kill();
    const authorization = `Bearer ${await issueToken("conformance", teams)}`;
    const urls = fleet.instances.map((each) => each.url);
    const adding = await startHaproxy(urls, { port, authorization });
    const problems: string[] = [];
    let scenarios = 0;
    try {
      for (const [revision, names] of Object.entries(ANY_SERVER))
        for (const name of names) {
          if (revision === WITH_SESSIONS && SCENARIOS_WITH_SESSIONS.includes(name)) continue;
          scenarios += 1;
          problems.push(...(await findFailures(url, revision, name)));
        }
    } finally {
      await adding.stop();
    }
    return { counts: { scenarios, failures: problems.length }, failures: problems };
  } finally {
    await deployment.stop();
  }
}
