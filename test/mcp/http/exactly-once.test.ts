// Exactly once over HTTP, in each way of being served: an action whose answer did not leave for its client whole is the same action when
// the call comes again; one that was told is not. Every POST that the service gets is counted, with its key.
import { describe, expect, test } from "vitest";
import { createJob, job, micEnveloped } from "../../contract/samples.ts";
import { stubEnv } from "../../service/client.ts";
import { gate } from "../../support/gate.ts";
import { serveHttpInside } from "../../support/inside.ts";
import { readResult } from "../../support/results.ts";
import { answer, holdUntil, type RecordedRequest, type Stub, stubForFile } from "../../support/stub.ts";
import { resultOf, type Sent } from "./raw.ts";
import { ways } from "./ways.ts";

const stubOf = stubForFile();

const accepted = (id: string) => answer(202, micEnveloped({ ...job, id }));
const keyOf = ({ headers }: RecordedRequest) => headers["idempotency-key"];
const told = async (sent: Sent, id: number) => readResult(await resultOf(sent, id));
const otherJob = { ...createJob, parameterValues: { year: 2025 } };

/** Resolves when the stub has got so many requests. */
const arrived = (stub: Stub, count: number) => expect.poll(() => stub.requests.length).toBe(count);

describe.each(ways)("%s", (_, { era, serve, speak }) => {
  test("once the answer is out, the same call is a new action", async () => {
    const stub = stubOf();
    const client = await speak(await serve(stubEnv(stub)));
    stub.expect(accepted("job-1"), accepted("job-2"));
    const one = await told(client.call(1, "submit_job", createJob), 1);
    const two = await told(client.call(2, "submit_job", createJob), 2);
    expect([one.action?.replayed, two.action?.replayed]).toEqual([false, false]);
    expect(new Set(stub.requests.map(keyOf)).size).toBe(2);
  });

  test("a client that went before the answer finds the same action, in a new connection and session too", async () => {
    const stub = stubOf();
    const url = await serve(stubEnv(stub));
    const { opened, open } = gate();
    stub.expect(holdUntil(opened, accepted("job-1")));
    const first = (await speak(url)).call(1, "submit_job", createJob);
    await arrived(stub, 1);
    await first.cut();
    // In 2026-07-28 the call is over with its connection. A session's goes on, and its answer finds nobody.
    if (era === "modern") expect(await stub.requests[0]?.closed).toBe(false);
    open();
    if (era === "modern") stub.expect(accepted("job-1"));
    else expect(await stub.requests[0]?.closed).toBe(true);
    const second = await told((await speak(url)).call(1, "submit_job", createJob), 1);
    expect(second.structured).toMatchObject({ data: { id: "job-1" } });
    expect(new Set(stub.requests.map(keyOf))).toEqual(new Set([second.action?.idempotencyKey]));
    // Now it was told.
    stub.expect(accepted("job-2"));
    const third = await told((await speak(url)).call(1, "submit_job", createJob), 1);
    expect(third.structured).toMatchObject({ data: { id: "job-2" }, action: { replayed: false } });
  });

  test("two clients with the same request id at once are two clients", async () => {
    const stub = stubOf();
    const url = await serve(stubEnv(stub));
    const { opened, open } = gate();
    stub.respond(({ body }) => holdUntil(opened, accepted(body.includes("2025") ? "job-of-other" : "job-of-one")));
    const [one, other] = await Promise.all([speak(url), speak(url)]);
    const ofOne = one.call(7, "submit_job", createJob);
    const ofOther = other.call(7, "submit_job", otherJob);
    await arrived(stub, 2);
    await ofOne.cut();
    if (era === "modern") await expect.poll(() => Promise.race(stub.requests.map(({ closed }) => closed))).toBe(false);
    open();
    expect((await told(ofOther, 7)).structured).toMatchObject({ data: { id: "job-of-other" } });
    // The one that went was not told by the other's answer; the other was, and only once.
    const again = await told(one.call(7, "submit_job", createJob), 7);
    expect(again.structured).toMatchObject({ data: { id: "job-of-one" } });
    const otherAgain = await told(other.call(8, "submit_job", otherJob), 8);
    expect(otherAgain.action?.replayed).toBe(false);
    const keysBy = (year: string) => stub.requests.filter(({ body }) => body.includes(year)).map(keyOf);
    expect(new Set(keysBy("2026")).size).toBe(1);
    expect(new Set(keysBy("2025")).size).toBe(2);
  });

  test("two clients that make the same call at once share one action", async () => {
    const stub = stubOf();
    const url = await serve(stubEnv(stub));
    const { opened, open } = gate();
    stub.expect(holdUntil(opened, accepted("job-1")));
    const clients = await Promise.all([speak(url), speak(url)]);
    const calls = clients.map((client) => client.call(1, "submit_job", createJob));
    await arrived(stub, 1);
    open();
    const both = await Promise.all(calls.map((call) => told(call, 1)));
    expect(new Set(both.map(({ action }) => action?.idempotencyKey)).size).toBe(1);
    expect(stub.requests).toHaveLength(1);
  });
});

test.each(ways.filter(([, { era }]) => era === "legacy"))(
  "%s: a request that comes again after its connection was lost gets the answer",
  async (_, { serve, speak }) => {
    const stub = stubOf();
    const url = await serve({ ...stubEnv(stub), MIC_REPEAT_WINDOW_SECONDS: "600" });
    const { opened, open } = gate();
    const client = await speak(url);
    stub.expect(holdUntil(opened, accepted("job-1")));
    const first = client.call(1, "submit_job", createJob);
    await arrived(stub, 1);
    await first.cut();
    const again = client.call(1, "submit_job", createJob);
    // Answered behind it.
    expect((await client.request(2, "tools/list").answer).status).toBe(200);
    open();
    expect((await told(again, 1)).structured).toMatchObject({ data: { id: "job-1" } });
    // Once more is that request again, under its own id or another.
    expect((await told(client.call(1, "submit_job", createJob), 1)).action?.replayed).toBe(true);
    expect((await told(client.call(3, "submit_job", createJob), 3)).action?.replayed).toBe(true);
    expect(new Set(stub.requests.map(keyOf)).size).toBe(1);
  },
);

describe.each(ways.filter(([, { serve }]) => serve === serveHttpInside))("%s", (_, { serve, speak }) => {
  test("for a client that has gone when its call is read nothing is begun: it may have called again elsewhere", async () => {
    const stub = stubOf();
    const url = await serve(stubEnv(stub));
    const gone = await speak(url);
    for (const id of [1, 2, 3]) await gone.call(id, "submit_job", createJob).leave();
    stub.expect(accepted("job-1"));
    const again = await told((await speak(url)).call(1, "submit_job", createJob), 1);
    expect(again.action).toMatchObject({ replayed: false, attempts: 1 });
    expect(stub.requests).toHaveLength(1);
  });
});
