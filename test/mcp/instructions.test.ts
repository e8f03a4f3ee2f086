// Tests the size of the instructions in the worst cases: some clients cut them at 2,048 bytes.
import { expect, test } from "vitest";
import { emulatorNotes } from "../../src/cli/backend.ts";
import { readConfig } from "../../src/core/config.ts";
import { startEmulator } from "../../src/emulator/index.ts";
import { buildInstructions, type Note, unresolvedNotes } from "../../src/mcp/instructions.ts";
import { offeredTools } from "../../src/mcp/tools/offered-tools.ts";
import { tools } from "../../tools/index.ts";

const MAX_BYTES = 2_048;
const names = tools.map(({ name }) => name);

/** All tools, each selection of them that has its own lines, and all but one. */
const ENVIRONMENTS: readonly NodeJS.ProcessEnv[] = [
  {},
  { MIC_READ_ONLY: "1" },
  ...["essentials", "geography", "jobs"].map((toolsets) => ({ MIC_TOOLSETS: toolsets })),
  ...names.map((name) => ({ MIC_TOOLS: names.filter((each) => each !== name).join(",") })),
];

function expectSmall(workspaceId: string, notes: readonly Note[]): void {
  for (const environment of ENVIRONMENTS) {
    const offered = offeredTools(tools, readConfig(environment));
    const text = buildInstructions(offered, workspaceId, notes);
    for (const note of notes)
      if (note.requiredTools?.every((name) => offered.some((tool) => tool.name === name)) ?? true)
        expect(text).toContain(note.text);
    expect(Buffer.byteLength(text), `${JSON.stringify(environment)}: ${text}`).toBeLessThan(MAX_BYTES);
  }
}

test("the instructions have less than 2,048 bytes with the longest workspace id and all unresolved actions", () => {
  expectSmall("w".repeat(128), unresolvedNotes({ unknown: 99_999, ofOtherClients: 99_999 }));
});

test("the instructions of an emulator have less than 2,048 bytes with unresolved actions of other clients", async () => {
  const emulator = await startEmulator({});
  await emulator.close();
  // An emulator in the server's process is new, so it has no action of an earlier session.
  const unresolved = unresolvedNotes({ unknown: 0, ofOtherClients: 99_999 });
  expectSmall(emulator.workspaceId, [...unresolved, ...emulatorNotes(emulator)]);
});
