// Runs `serve --teams` as programs behind a balancer: teams change while it serves; missing or weak settings prevent the start.
import { expect, test } from "vitest";
import { createModernClient } from "../mcp/http/raw-client.ts";
import { runInProcess as run } from "../support/command.ts";
import { describeWithDeployment } from "./services.ts";

const OPTIONS = { instances: 2, teams: 1, env: { MIC_DRAIN_DELAY_SECONDS: "300" } };

describeWithDeployment("serve --teams", OPTIONS, (deployment) => {
  test("a user who leaves a team loses their open stream, and their calls are forbidden", async () => {
    const { url, issueToken, runCommand } = deployment();
    const team = "team-1";
    await runCommand(["teams", "add", team, "--member", "dan"]);
    const client = createModernClient(url, {}, { authorization: `Bearer ${await issueToken("dan", [])}` });
    const listening = client.request(1, "subscriptions/listen", { notifications: { toolsListChanged: true } });
    await listening.message(({ method }) => method === "notifications/subscriptions/acknowledged");
    await runCommand(["teams", "remove", team, "--member", "dan"]);
    // Resolves when the server ends the stream, because the test does not cut it.
    expect((await listening.answer).status).toBe(200);
    // The other instance notices the change at its own next look.
    let id = 1;
    const call = async () => JSON.stringify((await client.call(++id, "list_jobs", {}).answer).messages);
    await expect.poll(call).toContain('"kind":"forbidden"');
  });

  test("after SIGTERM an instance is not ready but healthy, closes each connection after its response; a second signal ends it", async () => {
    const { url, teams, issueToken, fleet } = deployment();
    const [first, second] = fleet.instances;
    if (!first || !second) throw new Error("there are two instances");
    const headers = { host: new URL(url).host, authorization: `Bearer ${await issueToken("fay", teams)}` };
    const listTools = async () =>
      (await createModernClient(`${first.url}/mcp`, {}, headers).request(1, "tools/list").answer).status;
    // Other than fetch, that client ends each connection itself.
    const health = async () => {
      const response = await fetch(`${first.url}/healthz`);
      return [response.status, response.headers.get("connection")];
    };
    expect([await listTools(), await health()]).toEqual([200, [200, "keep-alive"]]);
    first.signal("SIGTERM");
    await expect.poll(() => first.isReady()).toBe(false);
    expect([await listTools(), await health()]).toEqual([200, [200, "close"]]);
    expect(await second.isReady()).toBe(true);
    await first.terminate();
  });
});

test("serve --teams does not start with --http, or if settings are missing or invalid, and lists all of them with the fix", async () => {
  const combined = await run(["serve", "--teams", "--http"]);
  expect(combined).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot be combined") });
  const env = { MIC_WORKSPACE_ID: "w1", MIC_CALLER_RATE_LIMIT: "x", MIC_GEOGRAPHY_RATE_LIMIT: "x" };
  const { code, stdout, stderr } = await run(["serve", "--teams"], { env });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  for (const name of ["MIC_PUBLIC_URL", "MIC_AUTH_ISSUER", "MIC_DATABASE_URL", "MIC_SECRET_KEYS_FILE"])
    expect(stderr).toContain(`${name} is missing: `);
  for (const name of ["MIC_CALLER_RATE_LIMIT", "MIC_GEOGRAPHY_RATE_LIMIT"])
    expect(stderr).toContain(`${name} must be `);
  expect(stderr).toContain(
    "MIC_WORKSPACE_ID cannot be used with a deployment for teams: each team has its own (mic-mcp teams add)",
  );
});
