// `mic-mcp demo`: every chapter as told, in less time than a newcomer gives it.
import { expect, test } from "vitest";
import { run } from "../mcp/stdio/child.ts";

test("the demo tells the main job, the whole country, and that a killed server makes no second job", async () => {
  const { code, stdout, stderr } = await run(["demo"]);
  expect(stdout).toContain("Everything went as told");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("ok all 36 states were read: 784 districts");
  expect(stdout).toContain("the server is dead (kill -9); the agent has no answer, no id, no key");
  expect(stdout).toContain("the service's own count: 2 requests under that key, 1 job");
});
