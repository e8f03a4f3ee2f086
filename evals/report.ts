// The tables of docs/evals.md, from what was measured.
import type { Measured } from "./measures.ts";
import type { Outcome } from "./work.ts";

const number = (value: number | undefined): string => value?.toLocaleString("en") ?? "";

const row = (...cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

const over = ({ tokens, budget }: Pick<Measured, "tokens" | "budget">): string =>
  tokens > budget ? `over by ${number(tokens - budget)}` : "";

function workRow({ task, calls, tokens, wrong }: Outcome): string {
  const { id, title, budget, before } = task;
  const allowed = budget && `${number(budget.calls)} / ${number(budget.tokens)}`;
  const then = before && `${number(before.calls)} / ${number(before.tokens)}`;
  const excess = budget === undefined ? "" : over({ tokens, budget: budget.tokens });
  const outcome = wrong.length === 0 ? ["done", excess].filter(Boolean).join(", ") : "not done";
  return row(id, title, number(calls), number(tokens), allowed ?? "", then ?? "", outcome);
}

const sum = (values: readonly (number | undefined)[]): number =>
  values.reduce<number>((all, value = 0) => all + value, 0);

function workTotal(outcomes: readonly Outcome[]): string {
  const then = outcomes.map(({ task }) => task.before);
  const before = `${number(sum(then.map((each) => each?.calls)))} / ${number(sum(then.map((each) => each?.tokens)))}`;
  const done = outcomes.filter(({ wrong }) => wrong.length === 0).length;
  const [calls, tokens] = [sum(outcomes.map((each) => each.calls)), sum(outcomes.map((each) => each.tokens))];
  return row("", "all", number(calls), number(tokens), "", before, `${done} of ${outcomes.length} done`);
}

export const workTable = (outcomes: readonly Outcome[]): string =>
  [
    row("", "work", "calls", "tokens", "budget", "before", "outcome"),
    "|---|---|--:|--:|--:|--:|---|",
    ...outcomes.map(workRow),
    workTotal(outcomes),
  ].join("\n");

export const measureTable = (measured: readonly Measured[]): string =>
  [
    row("answer", "tokens", "budget", ""),
    "|---|--:|--:|---|",
    ...measured.map((each) => row(each.what, number(each.tokens), number(each.budget), over(each))),
  ].join("\n");
