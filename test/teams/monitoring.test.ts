// Injects eight errors into a running instance: for each, an alert of deploy/prometheus/ fires, a line of the log names the cause, and the
// section of the alert in the runbook explains it.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { connectHttp } from "../support/mcp.ts";
import { queryPostgres } from "../support/postgres.ts";
import { missingProgram } from "../support/process.ts";
import { folderForTest } from "../support/temporary-folder.ts";
import { describeUnless, thoroughMissing } from "../support/unless.ts";
import { describeWithDeployment } from "./services.ts";

const ALERTS = resolve("deploy/prometheus/alerts.yaml");

const runbookSection = (alert: string): string =>
  readFileSync("docs/operate/runbook.md", "utf8")
    .split(/^## /m)
    .find((section) => section.startsWith(`${alert}\n`)) ?? "";

type Scrape = ReadonlyMap<string, string>;

/** Whether the alert fires after 20 minutes in which these scrapes were each repeated for some minutes. */
async function fires(alert: string, scrapes: readonly Scrape[]): Promise<boolean> {
  const names = new Set(scrapes.flatMap((scrape) => [...scrape.keys()]));
  const series = [...names].map((name) => ({
    series: name,
    values: scrapes.map((scrape) => (scrape.has(name) ? `${scrape.get(name)}x4` : "_x5")).join(" "),
  }));
  const folder = await folderForTest();
  const path = join(folder, "test.yaml");
  const alertTest = { eval_time: `${scrapes.length * 5 - 1}m`, alertname: alert, exp_alerts: [] };
  const tests = [{ interval: "1m", input_series: series, alert_rule_test: [alertTest] }];
  writeFileSync(path, stringify({ rule_files: [ALERTS], evaluation_interval: "1m", tests }));
  try {
    execFileSync("promtool", ["test", "rules", path], { stdio: "pipe" });
    return false;
  } catch (error) {
    const output = String(Object(error).stdout) + String(Object(error).stderr);
    if (output.includes(`alertname="${alert}"`)) return true;
    throw error;
  }
}

const OPTIONS = {
  instances: 1,
  teams: 1,
  env: {
    MIC_LOG_LEVEL: "info",
    OTEL_METRICS_EXPORTER: "prometheus",
    OTEL_EXPORTER_PROMETHEUS_HOST: "127.0.0.1",
    OTEL_EXPORTER_PROMETHEUS_PORT: "0",
  },
};

describeUnless(thoroughMissing ?? missingProgram("promtool"), "monitoring", () => {
  describeWithDeployment("of a deployment", OPTIONS, (deployment) => {
    function setUp() {
      const { url, teams, issueToken, provider, emulator, databaseUrl, fleet } = deployment();
      const [instance] = fleet.instances;
      const output = () => instance?.output() ?? "";
      return {
        provider,
        output,
        async probe() {
          const response = await fetch(`${instance?.url}/readyz`);
          return { http: response.status, ...Object(await response.json()) };
        },
        execute: (sql: string) => queryPostgres(databaseUrl, sql),
        async scrape(): Promise<Scrape> {
          const [, metricsUrl = ""] = /"url":"(http[^"]+\/metrics)"/.exec(output()) ?? [];
          const samples = (await (await fetch(metricsUrl)).text()).matchAll(/^([a-z].*) (\S+)$/gm);
          return new Map([...samples].map(([, name = "", value = ""]) => [name, value]));
        },
        async listJobs() {
          const client = await connectHttp("v2-modern", url, { token: await issueToken("ann", teams) });
          const { isError } = await client.callTool("list_jobs");
          await client.close();
          return isError;
        },
        async status() {
          const authorization = `Bearer ${await issueToken(`u${Math.random()}`, teams)}`;
          return (await fetch(url, { method: "POST", headers: { authorization } })).status;
        },
        async injectFault(operationId: string, times: number, answer: object = { status: 500 }) {
          const body = JSON.stringify({ operationId, times, fault: { kind: "status", ...answer } });
          const headers = { "content-type": "application/json" };
          await fetch(`${emulator.baseUrl}/__emulator/faults`, { method: "POST", headers, body });
        },
      };
    }

    /**
     * Expects that the alert does not fire before the error and fires with it, that the log then has a line with the cause, and that the
     * runbook explains it. `lasts`: number of scrapes with the error.
     */
    async function expectAlert(
      alert: string,
      cause: RegExp,
      explanation: string,
      inject: () => Promise<unknown>,
      lasts = 1,
    ): Promise<void> {
      const { scrape, output } = setUp();
      const before = await scrape();
      expect(await fires(alert, [before, before])).toBe(false);
      const from = output().length;
      await inject();
      const first = await scrape();
      await inject();
      const latest = await scrape();
      expect(await fires(alert, [before, first, ...Array<Scrape>(lasts).fill(latest)])).toBe(true);
      expect(runbookSection(alert)).toContain(explanation);
      expect(output().slice(from)).toMatch(cause);
      expect(output()).toMatch(/^\{"level":"(?:info|warn|error)","time":"\d{4}-\d\d-\d\dT[\d:.]+Z"/m);
    }

    test("errors of the API fire MicApiErrors", async () => {
      const { listJobs, injectFault } = setUp();
      await listJobs();
      await expectAlert(
        "MicApiErrors",
        /"kind":"upstream_unavailable","status":500.*"tool call failed"/,
        "`tool call failed`",
        async () => {
          await injectFault("listMicJobs", 18);
          expect(await Promise.all([listJobs(), listJobs(), listJobs()])).toEqual([true, true, true]);
        },
      );
    });

    test("a token endpoint that is down fires MicTokenEndpointErrors", async () => {
      const { injectFault, listJobs, execute } = setUp();
      // Every team gets new tokens when it changes.
      await expectAlert("MicTokenEndpointErrors", /"tool call failed"/, "token endpoint is down", async () => {
        await execute("UPDATE teams SET changed_at = changed_at + 1");
        // Instances read the changes every 2 s.
        await sleep(5_000);
        await injectFault("token", 6);
        await listJobs();
      });
    });

    const FULL_DISK = "RAISE EXCEPTION USING MESSAGE = ''No space left on device'', ERRCODE = ''53100'';";
    test.each([
      [
        "a slow database",
        "degraded",
        200,
        "PERFORM pg_sleep(0.7); RETURN NEW;",
        /"degraded".*"reason":"slow"/,
        "| `slow` |",
      ],
      [
        "a database with a full disk",
        "not ready",
        503,
        FULL_DISK,
        /"failed".*No space left on device/,
        "| No space left on device |",
      ],
    ])(
      "%s fires MicDatabaseDegraded, and /readyz reports that the instance is %s with status %i and the reason",
      async (_what, status, http, body, cause, explanation) => {
        const { execute, probe } = setUp();
        const reason = expect.stringMatching(/^slow$|No space left/);
        // The body of a trigger (PL/pgSQL), which runs at each check of the database.
        await execute(`CREATE FUNCTION injected() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN ${body} END'`);
        await execute(
          "CREATE TRIGGER injected BEFORE INSERT OR UPDATE ON deployment FOR EACH ROW EXECUTE FUNCTION injected()",
        );
        await expectAlert("MicDatabaseDegraded", cause, explanation, async () => {
          const expected = { status, http, checks: { database: { reason }, identityProvider: { status: "ok" } } };
          await expect.poll(probe).toMatchObject(expected);
        });
        await execute("DROP FUNCTION injected CASCADE");
        await expect.poll(probe).toMatchObject({ status: "ok", http: 200 });
      },
      60_000,
    );

    test("commits that wait for a replica that is not there fire MicDatabaseDegraded, until the setting is cleared", async () => {
      const { execute, probe } = setUp();
      const cause = /"failed".*All writes are blocked/;
      try {
        await expectAlert("MicDatabaseDegraded", cause, "| All writes are blocked |", async () => {
          await execute("ALTER SYSTEM SET synchronous_standby_names = 'absent'");
          await execute("SELECT pg_reload_conf()");
          await expect.poll(probe, { timeout: 20_000 }).toMatchObject({ status: "not ready", http: 503 });
        });
        expect(runbookSection("MicDatabaseDegraded")).toContain("ALTER SYSTEM RESET synchronous_standby_names");
      } finally {
        // Other test files of this worker use the same server.
        await execute("ALTER SYSTEM RESET synchronous_standby_names");
        await execute("SELECT pg_reload_conf()");
      }
      await expect.poll(probe, { timeout: 20_000 }).toMatchObject({ status: "ok", http: 200 });
    });

    test("one token of an unknown key among many calls fires no alert, because its counter exists from the start", async () => {
      const { scrape, listJobs } = setUp();
      const before = await scrape();
      const [counter = ""] = [...before.keys()].filter((name) => name.includes('reason="signing_key_unknown"'));
      expect(before.get(counter)).toBe("0");
      for (let calls = 1; calls <= 15; calls++) expect(await listJobs()).toBe(false);
      const after = new Map([...(await scrape()), [counter, "1"]]);
      for (const alert of ["MicSignInUnavailable", "MicServerErrors", "MicApiErrors", "MicDatabaseErrors"])
        expect(await fires(alert, [before, after, after]), alert).toBe(false);
    });

    test("a 429 of the API with a long Retry-After fires MicCooldown, and the query of the runbook returns the team", async () => {
      const { listJobs, injectFault, execute } = setUp();
      const inject = async () => {
        await injectFault("listMicJobs", 1, { status: 429, retryAfterSeconds: 600 });
        expect(await listJobs()).toBe(true);
      };
      await expectAlert("MicCooldown", /"kind":"rate_limited"/, "api_cooldowns", inject, 4);
      const [, query = ""] = /```sql\n([^`]+)```/.exec(runbookSection("MicCooldown")) ?? [];
      expect(await execute(query)).toMatchObject([{ team: "team-1" }]);
    });

    test("keys of the identity provider that are rotated twice fire MicSignInUnavailable", async () => {
      const { provider, status } = setUp();
      await expectAlert(
        "MicSignInUnavailable",
        /"refusal":"signing_key_unknown"/,
        "| `signing_key_unknown` |",
        async () => {
          for (let rotation = 0; rotation < 2; rotation++) {
            await provider.rotateKeys();
            await status();
          }
          await expect.poll(status).toBe(503);
        },
      );
    });

    test("an identity provider that cannot be reached fires MicIdentityProviderDown, and the instance stays ready", async () => {
      const { provider, probe } = setUp();
      const cause = /"dependency":"identity provider","status":"degraded".*is not available/;
      // On a busy machine, the latest check of the provider may have timed out.
      await expect.poll(probe).toMatchObject({ checks: { identityProvider: { status: "ok" } } });
      await expectAlert("MicIdentityProviderDown", cause, "the identity provider is not available", async () => {
        await provider.stop();
        const identityProvider = { status: "degraded" };
        await expect.poll(probe, { timeout: 90_000 }).toMatchObject({ http: 200, checks: { identityProvider } });
      });
    }, 180_000);
  });
});
