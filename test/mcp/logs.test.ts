// Tests the log lines of a call: one line for each failed attempt and one for the answer. Their ids link them to each other, the
// journal and the API (docs/operate/operations.md, "Logs").
import { describe, expect, test } from "vitest";
import * as z from "zod/v4";
import { serviceForFile } from "../emulator/service.ts";
import {
  type ClientRevision,
  type Connection,
  clientRevisions,
  connectHttp,
  connectionForTest,
  emulatorEnv,
} from "../support/mcp.ts";
import { start } from "./stdio/child.ts";

const service = serviceForFile();
const emulator = () => service().emulator;

const Line = z.looseObject({ msg: z.string(), call: z.int().optional(), requestId: z.string().optional() });
type Line = z.infer<typeof Line>;

const linesIn = (stderr: string): readonly Line[] =>
  stderr
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => Line.parse(JSON.parse(line)));

const failTwice = () =>
  service().injectFault({ kind: "status", status: 503 }, { operationId: "createMicPublicInput", times: 2 });

const NOTE = "a note that is nobody's business";

const register = (file: number) => ({
  workspaceId: emulator().workspaceId,
  inputKind: "M4_FILE",
  referenceId: emulator().fileIds[file] ?? "",
  clientReference: NOTE,
});

describe.each(clientRevisions)("logs of a %s client", (revision: ClientRevision) => {
  test("the lines of a call link its attempts, its answer, the journal and the API", async () => {
    const env = { ...emulatorEnv(emulator()), MIC_LOG_LEVEL: "info" };
    const connection: Connection = await connectionForTest(revision, { env });
    await failTwice();
    const file = clientRevisions.indexOf(revision);
    const { action, meta } = await connection.callTool("register_input", register(file));
    await connection.callTool("get_job", { jobId: "no-such-job" });
    await connection.close();

    const [first, second, done, failed] = linesIn(connection.stderr()).filter(({ call }) => call !== undefined);
    const same = { call: done?.call, request: done?.["request"], client: expect.any(String), tool: "register_input" };
    expect(done).toMatchObject({
      ...same,
      msg: "tool call",
      ms: expect.any(Number),
      key: action?.idempotencyKey,
      attempts: 3,
      requestId: meta["mic-mcp/requestId"],
    });
    const attempt = { ...same, msg: "attempt failed", operation: "createMicPublicInput", status: 503 };
    expect([first, second]).toMatchObject([
      { ...attempt, attempt: 1, requestId: expect.stringMatching(/^micreq_/) },
      { ...attempt, attempt: 2 },
    ]);
    expect(failed).toMatchObject({ msg: "tool call failed", tool: "get_job", kind: "not_found", status: 404 });
    expect(failed?.requestId).toMatch(/^micreq_/);
    expect(failed?.call).not.toBe(done?.call);
    // The log contains no arguments, results or secrets.
    for (const hidden of [NOTE, "no-such-job", emulator().clientSecret])
      expect(connection.stderr()).not.toContain(hidden);
  });
});

test("log lines over HTTP contain the session", async () => {
  const program = start(["serve", "--http"], { env: { ...emulatorEnv(emulator()), MIC_LOG_LEVEL: "info" } });
  const { url } = z.object({ url: z.string() }).parse(await program.next());
  const connection = await connectHttp("v2-legacy", url);
  // The second call bypasses the SDK.
  await connection.callTool("get_job", { jobId: "no-such-job" });
  await connection.callTool("get_job", { jobId: "no-such-job" });
  const session = connection.sessionId();
  await connection.close();
  const line = { session, client: expect.any(String), request: expect.anything() };
  const calls = () => linesIn(program.stderr()).filter(({ call }) => call !== undefined);
  await expect.poll(calls).toMatchObject([line, line]);
  expect(session).toBeDefined();
});
