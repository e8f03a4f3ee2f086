// `serve --teams` as its own processes: a person signs in at one instance and goes on at another; an instance that is told to end says so
// first; what is missing ends the start with all of it named.
import { expect, onTestFinished, test } from "vitest";
import { modernSpeaker, resultOf } from "../mcp/http/raw.ts";
import { launch } from "../mcp/stdio/child.ts";
import { startFleet } from "../support/fleet.ts";
import { freePort } from "../support/free-port.ts";
import { SCOPES } from "../support/identity-provider.ts";
import { providerForTest } from "./bench.ts";
import { keyLine } from "./deployment.ts";
import { describeWithPostgres } from "./postgres.ts";

test("what is missing ends the start, and all of it is named with what it is", async () => {
  const program = launch(["serve", "--teams"], { env: { MIC_PUBLIC_URL: "http://mic.example.org" } });
  await program.exit;
  expect(program.process.exitCode).toBe(2);
  for (const name of ["MIC_PUBLIC_URL", "MIC_AUTH_ISSUER", "MIC_DATABASE_URL", "MIC_SECRET_KEYS_FILE"])
    expect(program.stderr()).toMatch(new RegExp(`\\b${name} (is missing|takes)`));
});

describeWithPostgres("two instances", (postgres) => {
  test("a token is good at both; the one that ends is not ready first, serves, and goes", async () => {
    const provider = await providerForTest({ groupsOf: () => [] });
    const origin = `http://127.0.0.1:${await freePort()}`;
    const { instances, stop } = await startFleet({
      instances: 2,
      env: {
        MIC_PUBLIC_URL: origin,
        MIC_AUTH_ISSUER: provider.issuer,
        MIC_DATABASE_URL: await postgres().database(),
        MIC_DATABASE_DURABILITY: "local",
        MIC_SECRET_KEYS: keyLine("first"),
        MIC_DRAIN_DELAY_SECONDS: "300",
        // Balancers keep the name that was called: so do these.
        MIC_TRUST_PROXY: "127.0.0.1",
      },
    });
    onTestFinished(stop);
    const [first, second] = instances;
    if (!first || !second) throw new Error("there are two");
    const token = await provider.token(`${origin}/mcp`, { scope: SCOPES.read });
    const { host } = new URL(origin);
    const at = (url: string) => modernSpeaker(`${url}/mcp`, {}, { host, authorization: `Bearer ${token}` });
    for (const { url } of instances) {
      const { tools } = Object(await resultOf(at(url).request(1, "tools/list"), 1));
      expect(tools.length).toBeGreaterThan(20);
      expect((await at(url).call(2, "submit_job", {}).answer).status).toBe(403);
    }
    first.signal("SIGTERM");
    await expect.poll(() => first.isReady()).toBe(false);
    await resultOf(at(first.url).request(3, "tools/list"), 3);
    expect(await second.isReady()).toBe(true);
    // A second signal waits for nothing.
    await first.end();
  });
});
