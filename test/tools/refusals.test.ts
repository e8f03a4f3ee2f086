// Tests the advice after a refusal: only calls that can help, and never one that cannot. test/snapshots has that of each tool.
import { expect, test } from "vitest";
import { createInputs, createJobBody, FILE, fileId, listOffers } from "../emulator/work.ts";
import { describeLatestRevision } from "./revisions.ts";

const CORRECT = /^Correct the fields named above and call again\.$/;
const OPERATOR = /^Ask the user to contact the operator of the API: the same call/;

describeLatestRevision((bench) => {
  test("the error for a disabled capability does not advise to correct arguments", async () => {
    const codes = new Set<string>();
    for (const offer of await listOffers(bench().service)) {
      const inputIds = await createInputs(bench().service, offer);
      bench().clock.advance(60_000);
      const order = createJobBody(bench().service, offer, ...inputIds);
      // The API checks capabilities before parameters.
      const { error, text } = await bench().call("submit_job", { ...order, parameterValues: { none: "such" } });
      codes.add(error?.code ?? "");
      if (error?.code !== "CAPABILITY_DISABLED") continue;
      expect(error.next).toMatch(/^get_capabilities shows/);
      expect(text).not.toContain("Correct the fields");
    }
    expect(codes).toContain("CAPABILITY_DISABLED");
  });

  test("the error advises to correct fields if the API names fields", {
    tags: ["2.2/problem-field-error"],
  }, async () => {
    const recipeVersionId = `micrecipev_${"0".repeat(32)}`;
    const args = { ...(await bench().argumentsFor("createMicJob")), recipeVersionId };
    const failed = await bench().fails("submit_job", args, "rejected");
    expect(failed).toMatchObject({ code: "RECIPE_NOT_OFFERED", sideEffect: "none" });
    expect(failed.next).toMatch(CORRECT);
  });

  test.each([
    [402, false, OPERATOR],
    [422, false, OPERATOR],
    [423, true, /^Call again in a minute/],
  ])(
    "the error for a %i that names no fields (retryable: %s) does not advise to correct fields",
    async (status, retryable, next) => {
      const referenceId = fileId(bench().service, FILE.succeeds);
      const args = { workspaceId: bench().workspaceId, inputKind: "M4_FILE", referenceId };
      await bench().service.injectFault({ kind: "status", status, retryable }, { operationId: "createMicPublicInput" });
      const failed = await bench().fails("register_input", args, "rejected");
      expect(failed.next).toMatch(next);
      expect(failed.text).not.toContain("Correct the fields");
    },
  );
});
