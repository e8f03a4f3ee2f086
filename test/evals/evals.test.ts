// Tests the evaluation tasks with a scripted agent: each task is completed, within its budget of calls and tokens if it has one.
import { describe, expect, test } from "vitest";
import type { Agent } from "../../evals/agent.ts";
import { measureAnswers } from "../../evals/answer-measurements.ts";
import { runTask } from "../../evals/run-task.ts";
import { scriptedAgent } from "../../evals/scripted/agent.ts";
import { tasks } from "../../evals/tasks/index.ts";

const idle: Agent = { name: "idle", work: async () => "It is done." };

describe.concurrent("evaluations", () => {
  test.each(tasks.map((task) => [`${task.id}: ${task.title}`, task] as const))(
    "the scripted agent completes %s",
    async (_name, task) => {
      expect((await runTask(task, idle)).problems, "an agent that does nothing gets through").not.toEqual([]);
      const { problems, calls, tokens } = await runTask(task, scriptedAgent);
      expect(problems).toEqual([]);
      if (task.budget === undefined) return;
      expect(calls).toBeLessThanOrEqual(task.budget.calls);
      expect(tokens).toBeLessThanOrEqual(task.budget.currentLimit ?? task.budget.tokens);
    },
  );

  test("results and the list of tools stay within their token budgets", async () => {
    const measured = await measureAnswers();
    expect(measured.length).toBeGreaterThan(10);
    const limit = ({ budget, currentLimit = budget }: (typeof measured)[number]): number => currentLimit;
    expect(measured.filter((each) => each.tokens > limit(each))).toEqual([]);
  });
});
