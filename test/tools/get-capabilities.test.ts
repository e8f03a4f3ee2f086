// Tests get_capabilities: values that the contract does not list.
import { expect, test } from "vitest";
import { capability, capabilitySet, enveloped } from "../contract/samples.ts";
import { answer } from "../support/stub.ts";
import { sessionForTest } from "../unspecified/session.ts";

test("the kind, operation and version of a capability are returned unchanged", {
  tags: ["2.2/assumes-no-value-sets"],
}, async () => {
  const { stub, connection } = await sessionForTest();
  const data = { ...capabilitySet, capabilities: [{ ...capability, kind: "🧭", operation: "un-blend", version: "∞" }] };
  stub.expect(answer(200, enveloped(data)));
  const { structured, text } = await connection.callTool("get_capabilities", { workspaceId: "micws_1", view: "full" });
  expect(structured?.["data"], text).toEqual(data);
});
