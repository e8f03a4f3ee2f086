// Tests get_input: the wait for the scan.
import { expect, test } from "vitest";
import { FILE, registerInput } from "../emulator/work.ts";
import { describeLatestRevision } from "./revisions.ts";

describeLatestRevision((bench) => {
  test("get_input waits for the scan", async () => {
    const { id: inputId } = await registerInput(bench().service, FILE.waitsForScan);
    const { structured } = await bench().ok("get_input", { inputId, waitSeconds: 20 }, bench().withAdvancingClock());
    expect(structured["data"]).toMatchObject({ id: inputId, state: "READY" });
  });
});
