// An answer that no agent has read, because the call was canceled just behind it: the same call is the same action. Clients that die and
// pipes that break are in kills.test.ts and processes.test.ts.
import { expect, test } from "vitest";
import { benchForTest as bench } from "../actions/bench.ts";
import { createJob, enveloped, job } from "../contract/samples.ts";
import { legacySpeaker, resultOf } from "../mcp/http/raw.ts";
import { serveHttpInside } from "../support/inside.ts";
import { readResult } from "../support/results.ts";
import { insideServer } from "../support/server.ts";
import { answer, type Stub } from "../support/stub.ts";

/** A replay reads the job once. */
const read = answer(200, enveloped(job));
const posts = (stub: Stub) => stub.requests.filter(({ method }) => method === "POST");

test.each(["stdio", "HTTP"])("a call canceled just behind its answer, over %s", async (transport) => {
  const { stub, env } = await bench();
  stub.expect(answer(202, enveloped(job)), read);
  if (transport === "stdio") {
    const server = await insideServer(env);
    await server.call("submit_job", createJob, 7);
    server.cancel(7);
    expect((await server.call("submit_job", createJob, 8)).action).toMatchObject({ replayed: true });
  } else {
    const session = await legacySpeaker(await serveHttpInside(env));
    await session.call(7, "submit_job", createJob).answer;
    await session.notify("notifications/cancelled", { requestId: 7 });
    const again = readResult(await resultOf(session.call(8, "submit_job", createJob), 8));
    expect(again.action).toMatchObject({ replayed: true });
  }
  expect(posts(stub)).toHaveLength(1);
});
