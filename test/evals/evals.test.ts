// A day's work in few calls and few tokens: each kind of it is done, and what has a budget stays within it.
import { describe, expect, test } from "vitest";
import type { Agent } from "../../evals/agent.ts";
import { measureAnswers } from "../../evals/answer-measurements.ts";
import { runTask } from "../../evals/run-task.ts";
import { scriptedAgent } from "../../evals/scripted/agent.ts";
import { tasks } from "../../evals/tasks/index.ts";

const idle: Agent = { name: "idle", work: async () => "It is done." };

describe.concurrent("an agent that follows the words", () => {
  test.each(tasks.map((task) => [`${task.id}: ${task.title}`, task] as const))("%s", async (_name, task) => {
    expect((await runTask(task, idle)).problems, "an agent that does nothing gets through").not.toEqual([]);
    const { problems, calls, tokens } = await runTask(task, scriptedAgent);
    expect(problems).toEqual([]);
    if (task.budget === undefined) return;
    expect(calls).toBeLessThanOrEqual(task.budget.calls);
    expect(tokens).toBeLessThanOrEqual(task.budget.currentLimit ?? task.budget.tokens);
  });

  test("reads answers and a list of tools that stay within their budgets", async () => {
    const measured = await measureAnswers();
    expect(measured.length).toBeGreaterThan(10);
    const limit = ({ budget, currentLimit = budget }: (typeof measured)[number]): number => currentLimit;
    expect(measured.filter((each) => each.tokens > limit(each))).toEqual([]);
  });
});
