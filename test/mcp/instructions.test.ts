// Tests the server's instructions in each combination of settings.
import { expect, test } from "vitest";
import { expectConsistentInstructions } from "../support/instructions.ts";
import { connectionForTest, inProcessClientForTest, type TestClient } from "../support/mcp.ts";

const RULE =
  "An identical call within 20 hours of its success is the same action: nothing is sent, and the first result is returned " +
  "with replayed: true. To run it again, pass a new idempotencyKey; if an outcome was lost or is unknown, make the same call " +
  "again: it never runs twice.";

const READ_ONLY = [[], ["--read-only"]];
const TOOLSETS = [[], ["--toolsets", "geography"], ["--toolsets", "jobs"], ["--toolsets", "essentials"]];
const settings = READ_ONLY.flatMap((readOnly) => TOOLSETS.map((toolsets) => [...readOnly, ...toolsets]));

async function expectInstructions(connection: TestClient, args: readonly string[]): Promise<void> {
  await expectConsistentInstructions(connection, args.join(" "));
  const hasWriteTools = !args.includes("--read-only") && !args.includes("geography");
  expect(connection.instructions()?.includes(RULE)).toBe(hasWriteTools);
}

test.each(settings.map((args) => [args]))(
  "serve %j: instructions name only listed tools, in less than 2,000 bytes",
  async (args) => {
    const env = {
      ...(args.includes("--read-only") && { MIC_READ_ONLY: "1" }),
      ...(args.includes("--toolsets") && { MIC_TOOLSETS: args.at(-1) ?? "" }),
    };
    for (const more of [{}, { MIC_WORKSPACE_ID: "micws_0123456789abcdef0123456789abcdef" }]) {
      await expectInstructions(await inProcessClientForTest("v2-modern", { ...env, ...more }), args);
      const connection = await connectionForTest("v2-modern", { args: ["serve", "--emulator", ...args], env: more });
      await expectInstructions(connection, args);
    }
  },
);
