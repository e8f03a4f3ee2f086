// Tests the clients of both SDKs over HTTP: every kind of request and message works as on stdio.
import { describe, expect, onTestFinished, test } from "vitest";
import { serviceForFile } from "../../emulator/service.ts";
import { FILE, submitJob } from "../../emulator/work.ts";
import { serveHttpInProcess } from "../../support/in-process.ts";
import { clientRevisions, connectHttp, emulatorEnv, type Reply } from "../../support/mcp.ts";

const service = serviceForFile();
const countCancels = () => service().countEffects("cancelMicJob");

describe.each(clientRevisions)("%s", (revision) => {
  const isModern = revision === "v2-modern";

  async function connect(onElicitation: (question: string) => Reply = () => ({ action: "cancel" })) {
    const env = { ...emulatorEnv(service().emulator), MIC_GEOGRAPHY_RATE_LIMIT: "600" };
    const client = await connectHttp(revision, await serveHttpInProcess(env), { onElicitation });
    onTestFinished(() => client.close());
    return client;
  }

  test("tools, resources, prompts and completions are available over HTTP", async () => {
    const client = await connect();
    expect(client.sessionId() === undefined).toBe(isModern);
    expect(client.instructions()).toMatch(/find_district/);
    expect((await client.callTool("list_districts", { state: "KL" })).text).toContain("Kannur");
    const failed = await client.callTool("get_job", { jobId: "no-such-job" });
    expect(failed.error).toMatchObject({ kind: "not_found", sideEffect: "none" });
    expect((await client.listTemplates()).length).toBeGreaterThan(5);
    const [states] = await client.listResources();
    expect((await client.readResource(states?.uri ?? "")).text).toContain("Karnataka");
    const unknown = client.readResource("mic://jobs/no-such-job");
    // The client of the second SDK reports the newer code in both revisions.
    await expect(unknown).rejects.toMatchObject({ code: revision === "v1-client" ? -32002 : -32602 });
    expect((await client.listPrompts()).map(({ name }) => name)).toContain("diagnose_job");
    expect(await client.getPrompt("diagnose_job", { jobId: "job-1" })).toContain("job-1");
    const ref = { type: "ref/resource", uri: "mic://geography/states/{code}/districts" } as const;
    expect(await client.complete(ref, "code", "K")).toContain("KL");
  });

  test("cancel_job asks the user over HTTP", async () => {
    const { id } = await submitJob(service(), FILE.succeeds);
    const questions: string[] = [];
    const client = await connect((question) => {
      questions.push(question);
      return { action: "accept", content: {} };
    });
    const before = await countCancels();
    const args = { jobId: id, reason: "not needed", waitSeconds: 0 };
    const { isError } = await client.callTool("cancel_job", args);
    expect(questions).toEqual([expect.stringContaining(id)]);
    expect(isError).toBe(false);
    expect(await countCancels()).toBe(before + 1);
  });

  test("progress of a call that waits, and updates of its job, are sent over HTTP", async () => {
    const client = await connect();
    const { id } = await submitJob(service(), FILE.succeeds);
    const uri = `mic://jobs/${id}`;
    expect(await client.listen(uri)).toEqual([uri]);
    let progressCount = 0;
    const onprogress = () => {
      progressCount += 1;
      service().clock.advance(10_000);
    };
    const { structured } = await client.callTool("get_job", { jobId: id, waitSeconds: 20 }, { onprogress });
    expect(structured).toMatchObject({ data: { id, state: "SUCCEEDED" } });
    expect(progressCount).toBeGreaterThan(0);
    await expect.poll(() => client.updates).toContain(uri);
    await client.stopListening(uri);
  });
});
