// Real clients of every era over HTTP against the real server and the emulator: what works on stdio works here.
import { expect, test } from "vitest";
import { connectHttp, eras } from "../support/mcp.ts";
import { startHttp } from "./server.ts";

test("every era lists and calls; only the older ones have a session", async () => {
  const { url, stdout } = await startHttp({ args: ["--emulator"] });
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
  for (const era of eras) {
    const client = await connectHttp(era, url);
    expect(client.sessionId() === undefined).toBe(era === "v2-modern");
    expect((await client.listTools()).length).toBeGreaterThan(20);
    const { isError, structured } = await client.callTool("list_states");
    expect({ isError, structured }).toMatchObject({ isError: false, structured: { states: expect.any(Array) } });
    await client.close();
  }
  // Nothing but the line that tells the URL.
  expect(stdout().trim().split("\n")).toHaveLength(1);
});
