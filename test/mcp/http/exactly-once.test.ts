// Tests deduplication over HTTP in each serving mode: an identical call is the same action, whether or not its answer arrived.
import { describe, expect, test } from "vitest";
import { stubEnv } from "../../api-client/client.ts";
import { createJob, job, micEnveloped } from "../../contract/samples.ts";
import { createLatch } from "../../support/latch.ts";
import { readResult } from "../../support/results.ts";
import { answer, holdUntil, type RecordedRequest, type Stub, stubForFile } from "../../support/stub.ts";
import { resultOf, type Sent } from "./raw-client.ts";
import { servingModes } from "./serving-modes.ts";

const stubOf = stubForFile();

const accepted = (id: string) => answer(202, micEnveloped({ ...job, id }));
const keyOf = ({ headers }: RecordedRequest) => headers["idempotency-key"];
const readCallResult = async (sent: Sent, id: number) => readResult(await resultOf(sent, id));
/** A replay reads the job once. */
const read = answer(200, micEnveloped({ ...job, id: "job-1" }));
const posts = (stub: Stub) => stub.requests.filter(({ method }) => method === "POST");
const otherJob = { ...createJob, parameterValues: { year: 2025 } };

const expectRequestCount = (stub: Stub, count: number) => expect.poll(() => stub.requests.length).toBe(count);

describe.each(servingModes)("%s", (_, { endCancels, serve, connect }) => {
  test("an identical call in a new connection or session finds the action of a client that disconnected before the answer", async () => {
    const stub = stubOf();
    const url = await serve(stubEnv(stub));
    const { released, release } = createLatch();
    stub.expect(holdUntil(released, accepted("job-1")));
    const first = (await connect(url)).call(1, "submit_job", createJob);
    await expectRequestCount(stub, 1);
    await first.cut();
    // Without a session the call ends with its connection. The call of a session continues, and its answer has no reader.
    if (endCancels) expect(await stub.requests[0]?.closed).toBe(false);
    release();
    if (endCancels) stub.expect(accepted("job-1"));
    else expect(await stub.requests[0]?.closed).toBe(true);
    stub.expect(read, read);
    const callAgain = async () => await readCallResult((await connect(url)).call(1, "submit_job", createJob), 1);
    const second = await callAgain();
    expect(second.structured).toMatchObject({ data: { id: "job-1" } });
    expect((await callAgain()).structured).toMatchObject({ data: { id: "job-1" }, action: { replayed: true } });
    expect(new Set(posts(stub).map(keyOf))).toEqual(new Set([second.action?.idempotencyKey]));
  });

  test("two clients that use the same request id at the same time each get their own result", async () => {
    const stub = stubOf();
    const url = await serve(stubEnv(stub));
    const { released, release } = createLatch();
    stub.respond(({ body }) => holdUntil(released, accepted(body.includes("2025") ? "job-of-other" : "job-of-one")));
    const [one, other] = await Promise.all([connect(url), connect(url)]);
    const ofOne = one.call(7, "submit_job", createJob);
    const ofOther = other.call(7, "submit_job", otherJob);
    await expectRequestCount(stub, 2);
    await ofOne.cut();
    if (endCancels) await expect.poll(() => Promise.race(stub.requests.map(({ closed }) => closed))).toBe(false);
    release();
    expect((await readCallResult(ofOther, 7)).structured).toMatchObject({ data: { id: "job-of-other" } });
    const again = await readCallResult(one.call(7, "submit_job", createJob), 7);
    expect(again.structured).toMatchObject({ data: { id: "job-of-one" } });
    const otherAgain = await readCallResult(other.call(8, "submit_job", otherJob), 8);
    expect(otherAgain.structured).toMatchObject({ data: { id: "job-of-other" }, action: { replayed: true } });
    for (const year of ["2026", "2025"]) {
      const ofYear = posts(stub).filter(({ body }) => body.includes(year));
      expect(new Set(ofYear.map(keyOf)).size).toBe(1);
    }
  });
});

test.each(servingModes.filter(([, { endCancels }]) => !endCancels))(
  "%s: a request that is repeated after its connection was lost gets the answer",
  async (_, { serve, connect }) => {
    const stub = stubOf();
    const url = await serve(stubEnv(stub));
    const { released, release } = createLatch();
    const client = await connect(url);
    stub.respond(({ method }) => (method === "POST" ? holdUntil(released, accepted("job-1")) : read));
    const first = client.call(1, "submit_job", createJob);
    await expectRequestCount(stub, 1);
    await first.cut();
    const again = client.call(1, "submit_job", createJob);
    // The server answers this request after it has read the repeated call.
    expect((await client.request(2, "tools/list").answer).status).toBe(200);
    release();
    expect((await readCallResult(again, 1)).structured).toMatchObject({ data: { id: "job-1" } });
    // Further identical calls are replayed, under the same request id or another one.
    for (const id of [1, 3])
      expect((await readCallResult(client.call(id, "submit_job", createJob), id)).action?.replayed).toBe(true);
    expect(posts(stub)).toHaveLength(1);
  },
);
