// Tests that a repeated action sends the first request again, even if the resource and the texts have changed since.
import { expect, test } from "vitest";
import { enveloped, job, operation } from "../contract/samples.ts";
import { inProcessServerForTest } from "../support/server.ts";
import { answer } from "../support/stub.ts";
import { benchForTest } from "./bench.ts";

test("a repeated action sends the version and the texts of the first request, and reads nothing again [4.2/key-names-one-command, 4.2/if-match-form]", async () => {
  const { stub, env } = await benchForTest();
  const server = await inProcessServerForTest(env);
  stub.expect(
    answer(200, enveloped({ ...job, resourceVersion: 7 })),
    answer(503, undefined, { "retry-after": "60" }),
    answer(202, enveloped(operation)),
    answer(200, enveloped(operation)),
    answer(200, enveloped(job)),
  );
  const first = await server.call("cancel_job", { jobId: job.id, reason: "no longer wanted" });
  expect(first.error).toMatchObject({ kind: "outcome_unknown" });
  await server.end();
  const next = await inProcessServerForTest(env);
  const result = await next.call("cancel_job", { reason: "The person does not want it any more.", jobId: job.id });
  expect(result.action).toMatchObject({ idempotencyKey: first.error?.idempotencyKey, attempts: 2 });
  const [, sent, again] = stub.requests.map(({ target, headers, body }) => ({
    target,
    key: headers["idempotency-key"],
    ifMatch: headers["if-match"],
    body: body.toString(),
  }));
  expect(sent).toMatchObject({ ifMatch: '"7"', body: expect.stringContaining("no longer wanted") });
  expect(again).toEqual(sent);
});
