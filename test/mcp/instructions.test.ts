// Tests the server's instructions in each combination of settings.
import { expect, test } from "vitest";
import { expectConsistentInstructions } from "../support/instructions.ts";
import { connectionForTest } from "../support/mcp.ts";

const RULE =
  "An identical call within 20 hours of its success is the same action: nothing is sent, and the first result is returned " +
  "with replayed: true. To run it again, pass a new idempotencyKey; if an outcome was lost or is unknown, make the same call " +
  "again: it never runs twice.";

const EMULATOR = [["--emulator"], []];
const READ_ONLY = [[], ["--read-only"]];
const TOOLSETS = [[], ["--toolsets", "geography"], ["--toolsets", "jobs"], ["--toolsets", "essentials"]];
const settings = EMULATOR.flatMap((emulator) =>
  READ_ONLY.flatMap((readOnly) => TOOLSETS.map((toolsets) => [...emulator, ...readOnly, ...toolsets])),
);

for (const args of settings)
  test(`serve ${args.join(" ")}: instructions name only listed tools, in less than 2,000 bytes`, async () => {
    for (const env of [{}, { MIC_WORKSPACE_ID: "micws_0123456789abcdef0123456789abcdef" }]) {
      const connection = await connectionForTest("v2-modern", { args: ["serve", ...args], env });
      await expectConsistentInstructions(connection, args.join(" "));
      const hasWriteTools = !args.includes("--read-only") && !args.includes("geography");
      expect(connection.instructions()?.includes(RULE)).toBe(hasWriteTools);
    }
  });
