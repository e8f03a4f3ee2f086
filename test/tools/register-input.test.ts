// Tests register_input: references of each kind, and the advice after a refusal. The page in test/snapshots has its states.
import { expect, test } from "vitest";
import { describeLatestRevision } from "./revisions.ts";

const OPERATOR = /^Ask the user to contact the operator of the API: the same call/;

describeLatestRevision((bench) => {
  test.each([
    [402, false, OPERATOR],
    [422, false, OPERATOR],
    [423, true, /^Call again in a minute/],
  ])(
    "the error for a %i that names no fields (retryable: %s) does not advise to correct fields",
    async (status, retryable, next) => {
      const args = await bench().newAction("createMicPublicInput");
      await bench().service.injectFault({ kind: "status", status, retryable }, { operationId: "createMicPublicInput" });
      const failed = await bench().fails("register_input", args, "rejected");
      expect(failed.next).toMatch(next);
    },
  );

  test("a referenceId of anything except a file may have any form", {
    tags: ["4.2/input-reference-file"],
  }, async () => {
    const args = { workspaceId: bench().workspaceId, inputKind: "ACQUISITION" };
    for (const referenceId of ["a", "\u{1F600}".repeat(128), "a b/c?d#e%2f"]) {
      const failed = await bench().fails("register_input", { ...args, referenceId }, "rejected");
      expect(failed).toMatchObject({ status: 422, code: "REFERENCE_NOT_FOUND" });
    }
    await bench().refuses("register_input", { ...args, referenceId: "a".repeat(129) }, "/referenceId");
  });
});
