// Tests the limit of one team's connections to the API: requests wait for a connection in order, and one that gives up takes none.
import { expect, test } from "vitest";
import { createTransport } from "../../src/api-client/transport.ts";
import { withConcurrencyLimit } from "../../src/teams/tenancy/concurrency-limit.ts";

const RESPONSE = { status: 200, headers: {}, body: Buffer.alloc(0) };

/** A transport with two connections, whose requests end when `end` is called. */
function limitedTransport() {
  const running: { readonly path: string; readonly timeoutMs: number; readonly end: () => void }[] = [];
  const transport = withConcurrencyLimit(
    {
      ...createTransport({ proxies: false }),
      exchange: ({ path }, { timeoutMs }) =>
        new Promise((resolve) => void running.push({ path, timeoutMs, end: () => resolve(RESPONSE) })),
    },
    2,
  );
  const send = (path: string, { timeoutMs = 60_000, signal = new AbortController().signal } = {}) =>
    transport.exchange(
      { method: "GET", origin: "http://127.0.0.1", path, headers: {}, body: undefined },
      { timeoutMs, signal, maxBytes: 1 },
    );
  return { send, running, paths: () => running.map(({ path }) => path) };
}

test("a request beyond the team's connections waits for one, and has the rest of its time", async () => {
  const { send, running, paths } = limitedTransport();
  const sent = ["/1", "/2", "/3", "/4"].map((path) => send(path));
  expect(paths()).toEqual(["/1", "/2"]);
  running[1]?.end();
  await expect.poll(paths).toEqual(["/1", "/2", "/3"]);
  expect(running[2]?.timeoutMs).toBeLessThan(60_000);
  running[0]?.end();
  await expect.poll(paths).toEqual(["/1", "/2", "/3", "/4"]);
  for (const { end } of running) end();
  expect(await Promise.all(sent)).toEqual([RESPONSE, RESPONSE, RESPONSE, RESPONSE]);
});

test("a request that is canceled or has no time left while it waits is not sent, and takes no connection", async () => {
  const { send, running, paths } = limitedTransport();
  const caller = new AbortController();
  const sent = [send("/1"), send("/2")];
  const canceled = send("/3", { signal: caller.signal });
  const late = send("/4", { timeoutMs: 20 });
  caller.abort();
  await expect(canceled).rejects.toMatchObject({ sent: false, timedOut: false });
  await expect(late).rejects.toMatchObject({ sent: false, timedOut: true });
  for (const { end } of running) end();
  await Promise.all(sent);
  const next = [send("/5"), send("/6"), send("/7")];
  expect(paths()).toEqual(["/1", "/2", "/5", "/6"]);
  running[2]?.end();
  await expect.poll(paths).toEqual(["/1", "/2", "/5", "/6", "/7"]);
  for (const { end } of running) end();
  await Promise.all(next);
});

test("a connection that is granted to a request at the moment when it is canceled goes to the next one", async () => {
  const { send, running, paths } = limitedTransport();
  const caller = new AbortController();
  const sent = [send("/1"), send("/2")];
  const canceled = send("/3", { signal: caller.signal }).catch(() => "canceled");
  const next = send("/4");
  running[0]?.end();
  await sent[0];
  caller.abort();
  await expect.poll(paths).toEqual(expect.arrayContaining(["/4"]));
  for (const { end } of running) end();
  await canceled;
  expect(await next).toEqual(RESPONSE);
});
