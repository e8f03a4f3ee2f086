// Tests the telemetry of a deployment for teams: each span and log line has its team and caller, and metrics have the team.
import { expect, onTestFinished, test, vi } from "vitest";
import { readConfig } from "../../src/core/config.ts";
import { emulatorForTest } from "../support/emulator.ts";
import { BLUE, connectCaller, createCaller, environmentForTest, instanceForTest, RED } from "../teams/deployment.ts";
import { describeWithPostgres } from "../teams/services.ts";
import { loadTelemetryForTest, receiverForTest } from "./receiver.ts";

describeWithPostgres("telemetry of teams", (postgres) => {
  test("spans and log lines have team and caller, and metrics have only the team", async () => {
    const receiver = await receiverForTest();
    const startTelemetry = await loadTelemetryForTest(receiver);
    // The test checks exported log records, so the lines on stderr are discarded.
    const stderr = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    onTestFinished(() => void stderr.mockRestore());
    const place = await environmentForTest(postgres(), await emulatorForTest({ clients: 2 }), [RED, BLUE]);
    const config = readConfig({ MIC_BASE_URL: place.emulator.baseUrl, MIC_KEYCHAIN: "off", MIC_LOG_LEVEL: "info" });
    const instance = await instanceForTest(place, { config, startTelemetry });
    const ann = createCaller("ann", ["reds"]);
    const bob = createCaller("bob", ["blues"]);
    for (const caller of [ann, bob]) {
      const client = await connectCaller(instance, caller);
      expect((await client.callTool("list_jobs")).isError).toBe(false);
      await client.close();
    }
    await instance.telemetry?.close();

    const jobs = receiver.spans().filter(({ name }) => /list_jobs|\/v1\/mic\/jobs|token/.test(name));
    const owners = jobs.map(({ name, attributes }) => [name, attributes["mic.team"], attributes["mic.caller"]]);
    const names = ["POST /sandbox/oauth/token", "GET /v1/mic/jobs", "tools/call list_jobs"];
    expect(owners).toEqual([
      ...names.map((name) => [name, "red", ann.id]),
      ...names.map((name) => [name, "blue", bob.id]),
    ]);
    const lines = receiver.logs().filter(({ body }) => body === "tool call");
    expect(lines.map(({ attributes }) => [attributes["mic.team"], attributes["mic.caller"]])).toEqual([
      ["red", ann.id],
      ["blue", bob.id],
    ]);
    const points = receiver.points();
    expect(new Set(points.map(({ attributes }) => attributes["mic.team"]))).toEqual(
      new Set([undefined, "red", "blue"]),
    );
    expect(points.flatMap(({ attributes }) => Object.keys(attributes))).not.toContain("mic.caller");
    for (const name of ["mic.api.cooldown", "mic.database.waiting", "mic.watched.resources"])
      expect(
        points.filter((point) => point.name === name),
        name,
      ).toMatchObject([{ value: 0 }]);
    // The exported data must not contain the callers' subjects or their issuer.
    for (const name of ["ann", "bob", "login.example.org"]) expect(receiver.bytes().includes(name), name).toBe(false);
  });
});
