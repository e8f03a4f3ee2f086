// Formats the tables of docs/contribute/evals.md from the measurements.

import type { Usage } from "./agent-client.ts";
import type { Measurement } from "./answer-measurements.ts";
import type { Outcome } from "./run-task.ts";
import { countsForReview, REVIEW_BUDGET } from "./tasks/review.ts";

const formatNumber = (value: number | undefined): string => value?.toLocaleString("en") ?? "";

const formatRow = (...cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

const formatExcess = ({ tokens, budget }: Pick<Measurement, "tokens" | "budget">): string =>
  tokens > budget ? `over by ${formatNumber(tokens - budget)}` : "";

function formatOutcomeRow({ task, calls, tokens, problems }: Outcome): string {
  const { id, title, budget, before } = task;
  const budgetText = budget && `${formatNumber(budget.calls)} / ${formatNumber(budget.tokens)}`;
  const baselineText = before && `${formatNumber(before.calls)} / ${formatNumber(before.tokens)}`;
  const excess = budget === undefined ? "" : formatExcess({ tokens, budget: budget.tokens });
  const outcome = problems.length === 0 ? ["done", excess].filter(Boolean).join(", ") : "not done";
  return formatRow(id, title, formatNumber(calls), formatNumber(tokens), budgetText ?? "", baselineText ?? "", outcome);
}

const sum = (values: readonly (number | undefined)[]): number =>
  values.reduce<number>((all, value = 0) => all + value, 0);

function formatTotalRow(title: string, outcomes: readonly Outcome[], budget?: Usage): string {
  const baselines = outcomes.map(({ task }) => task.before);
  const baselineText = `${formatNumber(sum(baselines.map((each) => each?.calls)))} / ${formatNumber(sum(baselines.map((each) => each?.tokens)))}`;
  const done = outcomes.filter(({ problems }) => problems.length === 0).length;
  const [calls, tokens] = [sum(outcomes.map((each) => each.calls)), sum(outcomes.map((each) => each.tokens))];
  return formatRow(
    "",
    title,
    formatNumber(calls),
    formatNumber(tokens),
    budget === undefined ? "" : `${formatNumber(budget.calls)} / ${formatNumber(budget.tokens)}`,
    baselineText,
    [`${done} of ${outcomes.length} done`, budget && formatExcess({ tokens, budget: budget.tokens })]
      .filter(Boolean)
      .join(", "),
  );
}

export const formatOutcomes = (outcomes: readonly Outcome[]): string =>
  [
    formatRow("", "work", "calls", "tokens", "budget", "before", "outcome"),
    "|---|---|--:|--:|--:|--:|---|",
    ...outcomes.map(formatOutcomeRow),
    formatTotalRow(
      "A1 to A10 and A12",
      outcomes.filter(({ task }) => countsForReview(task)),
      REVIEW_BUDGET,
    ),
    formatTotalRow("all", outcomes),
  ].join("\n");

export const formatMeasurements = (measured: readonly Measurement[]): string =>
  [
    formatRow("answer", "tokens", "budget", ""),
    "|---|--:|--:|---|",
    ...measured.map((each) =>
      formatRow(each.label, formatNumber(each.tokens), formatNumber(each.budget), formatExcess(each)),
    ),
  ].join("\n");
