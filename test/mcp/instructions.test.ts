// Tests the server's instructions in each combination of settings.
import { expect, test } from "vitest";
import { expectConsistentInstructions } from "../support/instructions.ts";
import { connectionForTest, inProcessClientForTest } from "../support/mcp.ts";

const RULE =
  "An identical call within 20 hours of its success is the same action: nothing is sent, and the first result is returned " +
  "with replayed: true. To run it again, pass a new idempotencyKey; if an outcome was lost or is unknown, make the same call " +
  "again: it never runs twice.";

const settings = [{}, { MIC_READ_ONLY: "1" }].flatMap((readOnly) =>
  ["", "geography", "jobs", "essentials"].map((MIC_TOOLSETS) => ({ ...readOnly, MIC_TOOLSETS })),
);
const workspace = { MIC_WORKSPACE_ID: "micws_0123456789abcdef0123456789abcdef" };

test.each(settings)("%j: instructions name only listed tools, in less than 2,000 bytes", async (env) => {
  for (const connection of [
    await inProcessClientForTest("v2-modern", env),
    await inProcessClientForTest("v2-modern", { ...env, ...workspace }),
    await connectionForTest("v2-modern", { args: ["serve", "--emulator"], env: { ...env, ...workspace } }),
  ]) {
    await expectConsistentInstructions(connection, JSON.stringify(env));
    const hasWriteTools = !("MIC_READ_ONLY" in env) && env.MIC_TOOLSETS !== "geography";
    expect(connection.instructions()?.includes(RULE)).toBe(hasWriteTools);
  }
});
