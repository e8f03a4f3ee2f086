// Tests collectors that are unreachable, slow or broken: no call waits for them, and neither does the shutdown.
import { expect, test } from "vitest";
import { job } from "../contract/samples.ts";
import { answer, refusingBaseUrl, stubForTest } from "../support/stub.ts";
import { connectClient } from "./client.ts";
import { receiverForTest } from "./receiver.ts";

/** A batch is sent immediately (1 ms), and the exporter would wait ten minutes for the response. */
const IMMEDIATE_EXPORT = { OTEL_BSP_SCHEDULE_DELAY: "1", OTEL_EXPORTER_OTLP_TIMEOUT: "600000" };

async function startClient(exporter: Readonly<Record<string, string>>) {
  const stub = await stubForTest();
  stub.respond(() => answer(200, { data: job, meta: { requestId: "r-1" } }));
  const client = await connectClient("stdio, modern", {
    MIC_BASE_URL: stub.baseUrl,
    MIC_CLIENT_ID: "id-1",
    MIC_CLIENT_SECRET: "secret-1",
    ...IMMEDIATE_EXPORT,
    ...exporter,
  });
  const callGetJob = () => client.call("get_job", { jobId: job.id });
  return { ...client, ask: callGetJob };
}

/** Lines about telemetry on stderr. */
const telemetryWarnings = (stderr: string): readonly string[] =>
  stderr.split("\n").filter((line) => line.includes('"msg":"telemetry"'));

test("with an unreachable collector calls are answered, the server exits, and stderr has at most one warning", async () => {
  const { ask: callGetJob, end, program } = await startClient({ OTEL_EXPORTER_OTLP_ENDPOINT: await refusingBaseUrl() });
  for (let count = 0; count < 5; count++) expect(await callGetJob()).toContain(job.id);
  expect(await end()).toEqual({ code: 0, signal: null });
  expect(telemetryWarnings(program.stderr()).length).toBeLessThanOrEqual(1);
});

test("with a collector that never responds calls are answered, and the server exits", async () => {
  const receiver = await receiverForTest(() => undefined);
  const { ask: callGetJob, end } = await startClient(receiver.env);
  await callGetJob();
  await expect.poll(() => receiver.requests()).toBeGreaterThan(0);
  for (let count = 0; count < 5; count++) expect(await callGetJob()).toContain(job.id);
  expect(await end()).toEqual({ code: 0, signal: null });
});

test("with a collector that fails calls are answered, and stderr has one warning without the collector's text", async () => {
  const receiver = await receiverForTest((response) => void response.writeHead(500).end("the collector's own words"));
  const { ask: callGetJob, end, program } = await startClient(receiver.env);
  await callGetJob();
  await expect.poll(() => telemetryWarnings(program.stderr())).toHaveLength(1);
  for (let count = 0; count < 3; count++) expect(await callGetJob()).toContain(job.id);
  expect(await end()).toEqual({ code: 0, signal: null });
  expect(telemetryWarnings(program.stderr())).toHaveLength(1);
});

test("SIGTERM sends the remaining spans and metrics", async () => {
  const receiver = await receiverForTest();
  const { ask: callGetJob, end } = await startClient({ ...receiver.env, OTEL_BSP_SCHEDULE_DELAY: "600000" });
  await callGetJob();
  expect(receiver.requests()).toBe(0);
  await end();
  expect(receiver.spans().map(({ name }) => name)).toContain("tools/call get_job");
  expect(receiver.points().map(({ name }) => name)).toContain("mcp.server.operation.duration");
});
