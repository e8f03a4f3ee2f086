// Tests the evaluation tasks with a scripted agent, and that an agent that does nothing completes none (evals/run-task.ts).
import { afterAll, describe, expect, test } from "vitest";
import { measureAnswers } from "../../evals/answer-measurements.ts";
import { type Outcome, runTask } from "../../evals/run-task.ts";
import { scriptedAgent } from "../../evals/scripted/agent.ts";
import { tasks } from "../../evals/tasks/index.ts";
import { countsForReview, REVIEW_BUDGET } from "../../evals/tasks/review.ts";

/** Task A13a waits for the end of an outage of 30 s. */
const TEST_LIMIT_MS = 120_000;

const reviewOutcomes: Outcome[] = [];

// A run of selected tests does not have all outcomes.
afterAll(() => {
  if (reviewOutcomes.length < tasks.filter(countsForReview).length) return;
  expect(reviewOutcomes.reduce((sum, { calls }) => sum + calls, 0)).toBeLessThanOrEqual(REVIEW_BUDGET.calls);
  expect(reviewOutcomes.reduce((sum, { tokens }) => sum + tokens, 0)).toBeLessThanOrEqual(REVIEW_BUDGET.tokens);
});

describe.concurrent("evaluations", () => {
  test.each(tasks.map((task) => [`${task.id}: ${task.title}`, task] as const))(
    "the scripted agent completes %s",
    async (_name, task) => {
      const outcome = await runTask(task, scriptedAgent);
      const { problems, calls, tokens } = outcome;
      expect(problems).toEqual([]);
      if (countsForReview(task)) reviewOutcomes.push(outcome);
      if (task.budget === undefined) return;
      expect(calls).toBeLessThanOrEqual(task.budget.calls);
      expect(tokens).toBeLessThanOrEqual(task.budget.currentLimit ?? task.budget.tokens);
    },
    TEST_LIMIT_MS,
  );

  test("results and the list of tools stay within their token budgets", async () => {
    const measured = await measureAnswers();
    expect(measured.length).toBeGreaterThan(10);
    const limit = ({ budget, currentLimit = budget }: (typeof measured)[number]): number => currentLimit;
    expect(measured.filter((each) => each.tokens > limit(each))).toEqual([]);
  });
});
