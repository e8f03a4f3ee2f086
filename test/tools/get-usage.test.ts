// Tests get_usage: the window of the answer, and the full view of several windows. The page in test/snapshots has the sentences.
import { expect, test } from "vitest";
import { enveloped, usageBucket, usageSummary } from "../contract/samples.ts";
import { answer } from "../support/stub.ts";
import { sessionForTest } from "../unspecified/session.ts";
import { describeLatestRevision } from "./revisions.ts";

describeLatestRevision((bench) => {
  test("get_usage without a window returns all windows that the API has", async () => {
    const { structured } = await bench().ok("get_usage", { workspaceId: bench().workspaceId, view: "full" });
    expect(structured).toMatchObject({ data: { windows: [{ window: "DAY" }, { window: "ENTITLEMENT" }] } });
  });
});

test("the server reports that the window of the usage differs from the requested one, and only if it does", {
  tags: ["4.2/usage-window-reported"],
}, async () => {
  const { stub, connection } = await sessionForTest();
  for (const requested of ["DAY", "MONTH", "ENTITLEMENT"])
    for (const window of ["DAY", "ENTITLEMENT"]) {
      stub.expect(answer(200, enveloped({ ...usageSummary, window })));
      const usage = await connection.callTool("get_usage", { workspaceId: "micws_1", window: requested });
      expect(stub.requests.at(-1)?.target).toContain(`window=${requested}`);
      expect(usage.structured?.["data"]).toMatchObject({ window });
      expect(usage.text.split("\n", 1)).toEqual([usage.structured?.["summary"]]);
      if (requested === window) expect(usage.text).not.toContain("The API returned");
      else for (const named of [requested, window]) expect(usage.structured?.["summary"]).toContain(named);
    }
});

test("a metric that the contract does not list is returned unchanged", {
  tags: ["2.2/assumes-no-value-sets"],
}, async () => {
  const { stub, connection } = await sessionForTest();
  const data = { ...usageSummary, buckets: ["Z", "A_9__"].map((metric) => ({ ...usageBucket, metric })) };
  stub.expect(answer(200, enveloped(data)));
  const args = { workspaceId: "micws_1", window: "DAY", view: "full" };
  const { structured, text } = await connection.callTool("get_usage", args);
  expect(structured?.["data"], text).toEqual(data);
});
