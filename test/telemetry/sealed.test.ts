// Sessions that no instance holds: a server is told initialize again for a call, and a collector hears of it once, as the client said it.
import { expect, onTestFinished, test, vi } from "vitest";
import { compose } from "../../src/cli/compose.ts";
import { telemetryFor } from "../../src/cli/telemetry.ts";
import { readConfig } from "../../src/config.ts";
import { httpServiceOf } from "../../src/mcp/http/serve.ts";
import { job } from "../contract/samples.ts";
import { legacySpeaker } from "../mcp/http/raw.ts";
import { folderForTest } from "../support/home.ts";
import { answer, stubForTest } from "../support/stub.ts";
import { deploymentForTest, noticesForTest } from "../teams/sessions/instances.ts";
import { rowsForTest } from "../teams/sessions/rows.ts";
import { receiverForTest } from "./receiver.ts";

test("each request of a client has one span, whichever instance serves it, and what is said again has none", async () => {
  const receiver = await receiverForTest();
  const stub = await stubForTest();
  stub.respond(({ method }) => answer(method === "GET" ? 200 : 404, { data: job, meta: { requestId: "r-1" } }));
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint);
  onTestFinished(() => void vi.unstubAllEnvs());
  const telemetry = await telemetryFor(process.env, { hasPort: true });
  const config = readConfig({
    MIC_BASE_URL: stub.baseUrl,
    MIC_CLIENT_ID: "id-1",
    MIC_CLIENT_SECRET: "secret-1",
    MIC_KEYCHAIN: "off",
    MIC_LOG_LEVEL: "silent",
    MIC_STATE_DIR: await folderForTest(),
  });
  const composed = compose(config, { notes: [], inProcess: false, keychainLimitMs: 0, telemetry });
  onTestFinished(() => composed.close());
  const service = httpServiceOf(composed.runtime);
  const parts = { serviceOf: () => service, rows: await rowsForTest(), notices: noticesForTest() };
  const { url } = await deploymentForTest([parts, parts]);
  const { call } = await legacySpeaker(url);
  for (let id = 1; id <= 4; id++) await call(id, "get_job", { jobId: job.id }).answer;
  await call(5, "cancel_job", { jobId: job.id, reason: "r", resourceVersion: 1 }).answer;
  await composed.runtime.telemetry?.close();
  const SERVER = 2;
  const names = receiver.spans().flatMap(({ name, kind }) => (kind === SERVER ? [name] : []));
  expect(names).toEqual([
    "initialize",
    ...Array.from({ length: 4 }, () => "tools/call get_job"),
    "tools/call cancel_job",
  ]);
});
