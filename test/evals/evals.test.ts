// A day's work in few calls and few tokens: each kind of it is done, and what has a budget stays within it.
import { describe, expect, test } from "vitest";
import type { Agent } from "../../evals/agent.ts";
import { measure } from "../../evals/measures.ts";
import { scriptedAgent } from "../../evals/scripted/agent.ts";
import { tasks } from "../../evals/tasks/index.ts";
import { workOn } from "../../evals/work.ts";

const idle: Agent = { name: "idle", work: async () => "It is done." };

describe.concurrent("an agent that follows the words", () => {
  test.each(tasks.map((task) => [`${task.id}: ${task.title}`, task] as const))("%s", async (_name, task) => {
    expect((await workOn(task, idle)).wrong, "an agent that does nothing gets through").not.toEqual([]);
    const { wrong, calls, tokens } = await workOn(task, scriptedAgent);
    expect(wrong).toEqual([]);
    if (task.budget === undefined) return;
    expect(calls).toBeLessThanOrEqual(task.budget.calls);
    expect(tokens).toBeLessThanOrEqual(task.budget.reached ?? task.budget.tokens);
  });

  test("reads answers and a list of tools that stay within their budgets", async () => {
    const measured = await measure();
    expect(measured.length).toBeGreaterThan(10);
    const limit = ({ budget, reached = budget }: (typeof measured)[number]): number => reached;
    expect(measured.filter((each) => each.tokens > limit(each))).toEqual([]);
  });
});
