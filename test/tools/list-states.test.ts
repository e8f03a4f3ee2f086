// Tests list_states: a catalog that has changed.
import { expect, test } from "vitest";
import { PLAYGROUND_CONTRACT as contract } from "../../src/contract/playground.ts";
import { freshWith } from "./geography.ts";
import { describeLatestRevision } from "./revisions.ts";

describeLatestRevision((bench, revision) => {
  test("the states of a changed catalog are returned as they are, without built-in states", {
    tags: ["1/catalogue-may-change"],
  }, async () => {
    const name = "A state of tomorrow";
    const states = [{ code: "QX", name, districtCount: 0, mandalCount: Number.MAX_SAFE_INTEGER }];
    const own = await freshWith(bench(), revision, { states: { contract, states } });
    const shown = { QX: { name, districts: 0, mandals: Number.MAX_SAFE_INTEGER } };
    expect((await own.ok("list_states")).structured["states"]).toEqual(shown);
  });
});
