// Tests cancellation over HTTP: it aborts the API request. A confirmation is valid only for the client that was asked.
import { expect, test } from "vitest";
import { stubEnv } from "../../api-client/client.ts";
import { enveloped, job, micEnveloped, operation } from "../../contract/samples.ts";
import { serveHttpInProcess } from "../../support/in-process.ts";
import { createLatch } from "../../support/latch.ts";
import { answer, holdUntil, neverAnswer, stubForFile } from "../../support/stub.ts";
import { connectLegacyClient, createModernClient } from "./raw-client.ts";

const stubOf = stubForFile();
const expectRequestCount = (count: number) => expect.poll(() => stubOf().requests.length).toBe(count);
const start = () => serveHttpInProcess(stubEnv(stubOf()));

test("notifications/cancelled in a session, and a closed connection in revision 2026-07-28, abort the API request", async () => {
  const session = await connectLegacyClient(await start());
  stubOf().respond(() => neverAnswer);
  const inSession = session.call(1, "get_job", { jobId: "job-1" });
  await expectRequestCount(1);
  await session.notify("notifications/cancelled", { requestId: 1 });
  expect(await stubOf().requests[0]?.closed).toBe(false);
  expect((await inSession.answer).messages).toEqual([]);
  const sessionless = createModernClient(await start()).call(1, "get_job", { jobId: "job-1" });
  await expectRequestCount(2);
  await sessionless.cut();
  expect(await stubOf().requests[1]?.closed).toBe(false);
  // Neither is treated as a request to cancel the job.
  expect(stubOf().requests.map(({ method }) => method)).toEqual(["GET", "GET"]);
});

test("in a session a lost connection does not cancel a request, and another session cannot cancel it", async () => {
  const url = await start();
  const [one, other] = [await connectLegacyClient(url), await connectLegacyClient(url)];
  const { released, release } = createLatch();
  stubOf().respond(() => holdUntil(released, answer(200, enveloped(job))));
  const lost = one.call(1, "get_job", { jobId: "job-1" });
  const kept = one.call(2, "get_job", { jobId: "job-1" });
  await expectRequestCount(2);
  await lost.cut();
  await other.notify("notifications/cancelled", { requestId: 2 });
  // This answer shows that the server has read the notification.
  expect((await other.request(3, "tools/list").answer).status).toBe(200);
  release();
  expect((await kept.answer).messages[0]?.result).toMatchObject({ structuredContent: { data: { id: "job-1" } } });
  expect(await Promise.all(stubOf().requests.map(({ closed }) => closed))).toEqual([true, true]);
});

test("a confirmation is not accepted in a session or for another call", async () => {
  const url = await start();
  const elicitation = { elicitation: { form: {} } };
  const modern = createModernClient(url, elicitation);
  const session = await connectLegacyClient(url, elicitation);
  // The server reads the job before it asks for confirmation.
  stubOf().respond(({ method }) =>
    method === "GET" ? answer(200, enveloped(job)) : answer(202, micEnveloped(operation)),
  );
  const posts = () => stubOf().requests.filter(({ method }) => method === "POST");
  const cancel = { name: "cancel_job", arguments: { jobId: "job-1", reason: "not needed", resourceVersion: 3 } };
  const inputRequired = (await modern.request(1, "tools/call", cancel).answer).messages[0]?.result;
  expect(inputRequired).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
  const confirmation = {
    requestState: inputRequired?.["requestState"],
    inputResponses: { confirm: { action: "accept", content: {} } },
  };
  // The session's own user is asked.
  const inSession = session.request(2, "tools/call", { ...cancel, ...confirmation });
  await inSession.message(({ method, error }) => method === "elicitation/create" || error !== undefined);
  await inSession.cut();
  const otherCall = { ...cancel, arguments: { ...cancel.arguments, jobId: "job-2" } };
  const mismatched = await modern.request(3, "tools/call", { ...otherCall, ...confirmation }).answer;
  expect(mismatched.messages[0]?.error).toMatchObject({ code: -32602 });
  expect(posts()).toEqual([]);
  // The client that was asked can confirm in any later request.
  const done = (await modern.request(4, "tools/call", { ...cancel, ...confirmation }).answer).messages[0]?.result;
  expect(done).toMatchObject({ structuredContent: { action: { replayed: false } } });
  expect(posts()).toHaveLength(1);
});
