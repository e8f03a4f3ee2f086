// Tests the log lines of a call: their ids link them to each other, the journal and the API (docs/operate/operations.md, "Logs").
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { serviceForFile } from "../emulator/service.ts";
import { connectHttp, connectionForTest, emulatorEnv } from "../support/mcp.ts";
import { startHttp } from "./http/server.ts";

const service = serviceForFile();
const emulator = () => service().emulator;
const env = () => ({ ...emulatorEnv(emulator()), MIC_LOG_LEVEL: "info" });

const Line = z.looseObject({ msg: z.string(), call: z.int().optional(), requestId: z.string().optional() });

const callLinesIn = (stderr: string) =>
  stderr
    .split("\n")
    .flatMap((line) => (line.startsWith("{") ? [Line.parse(JSON.parse(line))] : []))
    .filter(({ call }) => call !== undefined);

const NOTE = "a note that is nobody's business";

test("log lines link a call's attempts, its answer, the journal and the API", async () => {
  const { workspaceId, fileIds, clientSecret } = emulator();
  const connection = await connectionForTest("v2-modern", { env: env() });
  const unavailable = { kind: "status", status: 503 };
  await service().injectFault(unavailable, { operationId: "createMicPublicInput", times: 2 });
  const input = { workspaceId, inputKind: "M4_FILE", referenceId: fileIds[0], clientReference: NOTE };
  const { action, meta } = await connection.callTool("register_input", input);
  await connection.callTool("get_job", { jobId: "no-such-job" });
  await connection.close();

  const [first, second, done, failed] = callLinesIn(connection.stderr());
  const same = { call: done?.call, request: done?.["request"], client: expect.any(String), tool: "register_input" };
  const { idempotencyKey: key } = action ?? {};
  const answered = { msg: "tool call", ms: expect.any(Number), key, attempts: 3, requestId: meta["mic-mcp/requestId"] };
  expect(done).toMatchObject({ ...same, ...answered });
  const requestId = expect.stringMatching(/^micreq_/);
  const attempt = { ...same, msg: "attempt failed", operation: "createMicPublicInput", status: 503 };
  expect([first, second]).toMatchObject([
    { ...attempt, attempt: 1, requestId },
    { ...attempt, attempt: 2 },
  ]);
  expect(failed).toMatchObject({ msg: "tool call failed", tool: "get_job", kind: "not_found", status: 404, requestId });
  expect(failed?.call).not.toBe(done?.call);
  // The log contains no arguments, results or secrets.
  for (const hidden of [NOTE, "no-such-job", clientSecret]) expect(connection.stderr()).not.toContain(hidden);
});

test("log lines over HTTP contain the session", async () => {
  const { url, stderr } = await startHttp({ env: env() });
  const connection = await connectHttp("v2-legacy", url);
  // The second call bypasses the SDK.
  for (const _ of [1, 2]) await connection.callTool("get_job", { jobId: "no-such-job" });
  const session = connection.sessionId();
  await connection.close();
  const line = { session, client: expect.any(String), request: expect.anything() };
  await expect.poll(() => callLinesIn(stderr())).toMatchObject([line, line]);
  expect(session).toBeDefined();
});
