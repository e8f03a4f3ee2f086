import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Emulator, startEmulator } from "../../../src/emulator/index.ts";
import { Service } from "../../emulator/service.ts";
import { FILE, submitJob } from "../../emulator/work.ts";
import { createManualClock } from "../../support/emulator.ts";
import {
  type ClientRevision,
  clientRevisions,
  connectHttp,
  emulatorEnv,
  type Progress,
  type Reply,
} from "../../support/mcp.ts";
import { factsIn } from "../../tools/bench.ts";
import { type HttpProgram, launchHttp } from "./server.ts";

const STAGE_MS = 500;

const questions: string[] = [];
let reply: Reply = { action: "accept", content: {} };
const onElicitation = (question: string): Reply => {
  questions.push(question);
  return reply;
};

interface Setup {
  readonly service: Service;
  readonly server: HttpProgram;
  readonly clients: Readonly<Record<ClientRevision, Awaited<ReturnType<typeof connectHttp>>>>;
}
let emulator: Emulator | undefined;
let running: Setup | undefined;
const setup = (): Setup => {
  if (running === undefined) throw new Error("the server is there only while tests run");
  return running;
};
const clock = createManualClock();

beforeAll(async () => {
  emulator = await startEmulator({ clock });
  const server = await launchHttp({ env: { ...emulatorEnv(emulator), MIC_GEOGRAPHY_RATE: "600" } });
  const connect = (revision: ClientRevision) => connectHttp(revision, server.url, { onElicitation });
  const [older, legacy, modern] = await Promise.all([connect("v1-client"), connect("v2-legacy"), connect("v2-modern")]);
  running = {
    service: new Service(emulator, clock),
    server,
    clients: { "v1-client": older, "v2-legacy": legacy, "v2-modern": modern },
  };
});
afterAll(async () => {
  const { clients, server } = setup();
  for (const revision of clientRevisions) await clients[revision].close();
  await server.kill();
  await emulator?.close();
});

/** Number of API requests of one operation whose path contains this id. */
const countRequests = async (operationId: string, id: string): Promise<number> =>
  (await setup().service.requests(operationId)).filter(({ path }) => path.includes(id)).length;

describe.each(clientRevisions)("%s", (revision) => {
  const client = () => setup().clients[revision];

  test("only clients of the older revisions have a session", () => {
    expect(client().sessionId() === undefined).toBe(revision === "v2-modern");
  });

  test("tools, resources, prompts and completions are available as on stdio", async () => {
    expect((await client().listTools()).length).toBeGreaterThan(20);
    expect(client().instructions()).toMatch(/find_district/);
    expect((await client().listResources()).map(({ uri }) => uri)).toContain("mic://geography/states");
    expect((await client().listTemplates()).length).toBeGreaterThan(5);
    expect((await client().listPrompts()).map(({ name }) => name)).toContain("diagnose_job");
    expect(await client().getPrompt("diagnose_job", { jobId: "job-1" })).toContain("job-1");
    const states = await client().readResource("mic://geography/states");
    expect(JSON.parse(states.text).states.length).toBeGreaterThan(30);
    const ref = { type: "ref/resource", uri: "mic://geography/states/{code}/districts" } as const;
    expect(await client().complete(ref, "code", "K")).toContain("KL");
  });

  test("a result has structured content, and an error has its facts", async () => {
    const { isError, structured, text } = await client().callTool("list_districts", { state: "KL" });
    expect(isError).toBe(false);
    for (const fact of factsIn(structured?.["districts"])) expect(text).toContain(fact);
    const failed = await client().callTool("get_job", { jobId: "no-such-job" });
    expect(failed.error).toMatchObject({ kind: "not_found", sideEffect: "none" });
    const unknown = client().readResource("mic://jobs/no-such-job");
    // The client of the second SDK reports the newer code in both revisions.
    await expect(unknown).rejects.toMatchObject({ code: revision === "v1-client" ? -32002 : -32602 });
  });

  test.each([
    ["agrees", { action: "accept", content: {} }],
    ["declines", { action: "decline" }],
  ] as const)("cancel_job asks the user, who %s", async (_what, answer) => {
    const { id } = await submitJob(setup().service, FILE.succeeds);
    questions.length = 0;
    reply = answer;
    const args = { jobId: id, reason: "not needed", waitSeconds: 0 };
    const { isError, structured } = await client().callTool("cancel_job", args);
    expect(questions).toEqual([expect.stringContaining(id)]);
    expect(isError).toBe(false);
    expect(structured?.["declined"]).toBe(answer.action === "accept" ? undefined : true);
    expect(await countRequests("cancelMicJob", id)).toBe(answer.action === "accept" ? 1 : 0);
  });
});

/** Runs `work` with all clients concurrently, because it mostly waits. */
const forEachClient = <T>(work: (client: Setup["clients"][ClientRevision]) => Promise<T>): Promise<T[]> =>
  Promise.all(clientRevisions.map((revision) => work(setup().clients[revision])));

test("progress is reported while a call waits, and the call then ends", async () => {
  const jobsWithProgress = new Set<string>();
  await forEachClient(async (client) => {
    const { id } = await submitJob(setup().service, FILE.succeeds);
    const onprogress = (_tick: Progress) => {
      jobsWithProgress.add(id);
      // The clock advances only after all calls have reported progress, so that no job ends before.
      if (jobsWithProgress.size === clientRevisions.length) clock.advance(20 * STAGE_MS);
    };
    const { structured } = await client.callTool("get_job", { jobId: id, waitSeconds: 20 }, { onprogress });
    expect(structured).toMatchObject({ data: { id, state: "SUCCEEDED" } });
  });
  expect(jobsWithProgress.size).toBe(clientRevisions.length);
});

test("updates of a job are sent to a client that listens", async () => {
  const listening = await forEachClient(async (client) => {
    const uri = `mic://jobs/${(await submitJob(setup().service, FILE.succeeds)).id}`;
    expect(await client.listen(uri)).toEqual([uri]);
    return { client, uri };
  });
  clock.advance(2 * STAGE_MS);
  for (const { client, uri } of listening) {
    await expect.poll(() => client.updates).toContain(uri);
    await client.stopListening(uri);
  }
});
