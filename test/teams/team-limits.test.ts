// Tests the limits of a team, which hold over all instances: its jobs per day (UTC) and its calls per minute.
import { expect, onTestFinished, test } from "vitest";
import { createModernClient } from "../mcp/http/raw-client.ts";
import { countExecutions } from "../support/load.ts";
import { connectHttp } from "../support/mcp.ts";
import { queryPostgres } from "../support/postgres.ts";
import { describeWithDeployment } from "./services.ts";

const SUBMISSION = "createMicJob";
const OPTIONS = {
  instances: 2,
  teams: 4,
  env: {
    MIC_LOG_LEVEL: "info",
    OTEL_METRICS_EXPORTER: "prometheus",
    OTEL_EXPORTER_PROMETHEUS_HOST: "127.0.0.1",
    OTEL_EXPORTER_PROMETHEUS_PORT: "0",
  },
};

describeWithDeployment("the limits of a team", OPTIONS, (deployment) => {
  /** A team with its callers, whose jobs differ in their dates. */
  async function setUp(at: number) {
    const { url, teams, issueToken, runCommand, emulator, databaseUrl, fleet } = deployment();
    const team = teams[at];
    if (!team) throw new Error("there is no such team");
    const connect = async (subject: string) => {
      const client = await connectHttp("v2-modern", url, { token: await issueToken(subject, [team]) });
      onTestFinished(() => client.close());
      return client;
    };
    const ann = await connect("ann");
    const recipes = Object((await ann.callTool("list_recipes")).structured).data;
    const recipe = recipes.find(({ name }: { name: string }) => name.startsWith("Normalize"));
    const [referenceId] = team.client.fileIds;
    const input = Object((await ann.callTool("register_input", { inputKind: "M4_FILE", referenceId })).structured).data;
    return {
      ann,
      connect,
      files: team.client.fileIds,
      recipeVersionId: recipe.versionId,
      job: (day: number) => ({
        recipeVersionId: recipe.versionId,
        inputBindings: [{ port: recipe.ports, inputId: input.id }],
        parameterValues: { level: "DISTRICT", vintage: new Date(Date.UTC(2020, 0, day)).toISOString().slice(0, 10) },
      }),
      limit: (...flags: readonly string[]) => runCommand(["teams", "add", team.name, ...flags]),
      async jobsToday(): Promise<number | undefined> {
        const { teams: listed } = JSON.parse(await runCommand(["teams", "list", "--json"]));
        return listed.find(({ name }: { name: string }) => name === team.name).jobsToday;
      },
      countJobs: () => countExecutions(emulator.baseUrl, SUBMISSION),
      async injectFault(fault: object) {
        const body = JSON.stringify({ operationId: SUBMISSION, times: 1, fault });
        const headers = { "content-type": "application/json" };
        await fetch(`${emulator.baseUrl}/__emulator/faults`, { method: "POST", headers, body });
      },
      execute: (sql: string) => queryPostgres(databaseUrl, sql),
      /** The sum of the counters of all instances, each of which exists. */
      async countRefusals(reason: string): Promise<number> {
        const counts = fleet.instances.map(async ({ output }) => {
          const [, metricsUrl = ""] = /"url":"(http[^"]+\/metrics)"/.exec(output()) ?? [];
          const text = await (await fetch(metricsUrl)).text();
          return Number(new RegExp(`mic_http_refusals_total\\{[^}]*"${reason}"[^}]*\\} (\\d+)`).exec(text)?.[1]);
        });
        return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
      },
      fleet,
      output: () => fleet.instances.map(({ output }) => output()).join("\n"),
    };
  }

  const LIMITED = /Not sent: the team team-\d has reached its limit of jobs per day \(\d+\)\.\nNothing was changed\./;

  test("40 jobs that callers of two instances submit at once with a limit of 10 are 10 jobs at the API", async () => {
    const { ann, connect, job, limit, countJobs, jobsToday, countRefusals, output } = await setUp(0);
    expect(await limit("--jobs-per-day", "10")).toBe("Team team-1: calls per minute: no limit; jobs per day: 10.\n");
    const before = await countJobs();
    expect(await countRefusals("team_jobs_limited")).toBe(0);
    const callers = [ann, ...(await Promise.all(["bob", "cleo", "dan"].map(connect)))];
    const calls = Array.from({ length: 40 }, (_, at) => ({ caller: callers[at % 4] ?? ann, job: job(at + 1) }));
    const submit = () => Promise.all(calls.map(({ caller, job }) => caller.callTool("submit_job", job)));
    const results = await submit();
    expect(await countJobs()).toBe(before + 10);
    const refused = results.filter(({ isError }) => isError);
    expect(refused).toHaveLength(30);
    for (const { text, error } of refused) {
      expect(text).toMatch(LIMITED);
      expect(error).toMatchObject({ kind: "rate_limited", retryable: true, sideEffect: "none" });
      expect(error?.retryAfterSeconds).toBeLessThanOrEqual(86_400);
      expect(error?.next).toContain("after 00:00 UTC");
    }
    expect(await jobsToday()).toBe(10);
    expect(await countRefusals("team_jobs_limited")).toBe(30);
    expect(output()).toMatch(/"refusal":"team_jobs_limited".*"team":"team-1".*limit of jobs per day \(10\)/);

    // Of identical calls, one is the job, and the others wait for it.
    await limit("--jobs-per-day", "11");
    const same = await Promise.all(Array.from({ length: 8 }, () => ann.callTool("submit_job", job(99))));
    expect(same.map(({ text, isError }) => isError && text)).toEqual(same.map(() => false));
    expect([await countJobs(), await jobsToday()]).toEqual([before + 11, 11]);

    // A replay is not a job.
    const again = await submit();
    for (const [at, { isError, action }] of results.entries())
      expect([again[at]?.isError, again[at]?.action?.replayed]).toEqual([isError, action && true]);
    expect(await countJobs()).toBe(before + 11);
  });

  test("a bulk call stops at the limit, and says when to call again", async () => {
    const { ann, files, recipeVersionId, limit, countJobs } = await setUp(1);
    const before = await countJobs();
    await limit("--jobs-per-day", "2");
    const parameterValues = { level: "DISTRICT", vintage: "2026-09-30" };
    const { text, isError } = await ann.callTool("run_jobs", { recipeVersionId, files, parameterValues });
    expect(isError, text).toBe(false);
    expect(text).toMatch(/Stopped: not sent: the team team-2 has reached its limit of jobs per day \(2\)\./);
    expect(text).toMatch(/Call again after (\S+ )?00:0\d UTC \(in \d+ min\)/);
    expect(await countJobs()).toBe(before + 2);
  });

  test("a changed limit applies to the next job, a first one counts the earlier jobs of the day, and a new day begins with none", async () => {
    const { ann, job, limit, countJobs, jobsToday, execute } = await setUp(2);
    let day = 0;
    const submit = async () => (await ann.callTool("submit_job", job(++day))).isError;
    const before = await countJobs();
    expect([await submit(), await submit()]).toEqual([false, false]);
    await limit("--jobs-per-day", "2");
    expect([await submit(), await jobsToday()]).toEqual([true, 2]);
    await limit("--jobs-per-day", "3");
    expect([await submit(), await submit()]).toEqual([false, true]);
    // Reads are not limited.
    expect((await ann.callTool("list_jobs")).isError).toBe(false);
    await execute("UPDATE team_limits SET day = day - 1 WHERE team = 'team-3'");
    expect([await jobsToday(), await submit(), await jobsToday()]).toEqual([0, false, 1]);
    await limit("--jobs-per-day", "1");
    expect(await submit()).toBe(true);
    await limit("--jobs-per-day", "none");
    expect([await submit(), await jobsToday()]).toEqual([false, undefined]);
    expect(await countJobs()).toBe(before + 5);
  });

  test("a job that the API rejected does not count, and a job whose instance was killed counts once", async () => {
    const { ann, job, limit, countJobs, jobsToday, injectFault, fleet, execute } = await setUp(3);
    await limit("--jobs-per-day", "1");
    const rejected = { ...job(1), idempotencyKey: "rejected-1" };
    await injectFault({ kind: "status", status: 400 });
    expect((await ann.callTool("submit_job", rejected)).error).toMatchObject({ kind: "rejected" });
    expect(await jobsToday()).toBe(0);
    await limit("--jobs-per-day", "2");
    const before = await countJobs();
    expect((await ann.callTool("submit_job", rejected)).isError).toBe(false);
    expect(await jobsToday()).toBe(1);

    await injectFault({ kind: "hang", afterCommit: true });
    const lost = expect(ann.callTool("submit_job", job(2))).rejects.toThrow();
    await expect.poll(countJobs).toBe(before + 2);
    const [action] = await execute("SELECT owner FROM actions WHERE state = 'in_progress'");
    const [, pid] = JSON.parse(String(action?.["owner"]));
    const owner = fleet.instances.find((instance) => instance.pid() === pid);
    await owner?.kill();
    await lost;
    // The limit is reached, and the call resumes its action.
    expect((await ann.callTool("submit_job", job(2))).action).toMatchObject({ replayed: true });
    expect((await ann.callTool("submit_job", job(3))).text).toMatch(LIMITED);
    expect([await jobsToday(), await countJobs()]).toEqual([2, before + 2]);
    await owner?.start();
  });

  test("both instances together admit as many calls of a team per minute as its limit, and those of other teams", async () => {
    const { limit, countRefusals, execute, output } = await setUp(0);
    const { url, teams, issueToken } = deployment();
    const clientOf = async (at: number) => {
      const authorization = `Bearer ${await issueToken("eve", teams.slice(at, at + 1))}`;
      return createModernClient(url, {}, { authorization });
    };
    const [limited, other] = [await clientOf(0), await clientOf(1)];
    let id = 0;
    const call = ({ call }: typeof limited) => call(++id, "list_actions", {}).answer;
    await limit("--calls-per-minute", "12");
    // Instances detect the change within 5 s.
    await expect.poll(async () => (await call(limited)).status, { timeout: 30_000 }).toBe(429);
    await expect
      .poll(
        async () => {
          await execute("DELETE FROM team_calls");
          const answers = await Promise.all(Array.from({ length: 30 }, () => call(limited)));
          const refused = answers.filter(({ status }) => status === 429);
          for (const { headers, messages } of refused) {
            expect(Number(headers["retry-after"])).toBeGreaterThan(0);
            expect(Number(headers["retry-after"])).toBeLessThanOrEqual(60);
            const text = "at most 12 calls per minute of the team team-1";
            expect(messages).toMatchObject([{ error: { message: expect.stringContaining(text) } }]);
          }
          // More are admitted only if a minute began meanwhile, or an instance has not detected the limit.
          return answers.length - refused.length;
        },
        { timeout: 60_000 },
      )
      .toBe(12);
    expect((await call(other)).status).toBe(200);
    // Reads must also work while calls cannot be counted.
    await execute("ALTER TABLE team_calls RENAME TO elsewhere");
    expect((await call(limited)).status).toBe(200);
    await execute("ALTER TABLE elsewhere RENAME TO team_calls");
    expect(await countRefusals("team_rate_limited")).toBeGreaterThan(18);
    expect(output()).toMatch(/"refusal":"team_rate_limited".*"team":"team-1"/);
    await limit("--calls-per-minute", "none");
    await expect.poll(async () => (await call(limited)).status, { timeout: 30_000 }).toBe(200);
  });
});
