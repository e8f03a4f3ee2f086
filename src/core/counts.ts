// This module groups and counts values, and formats numbers and counts: "1,204 jobs", "3 SUCCEEDED, 2 FAILED".
import { join, type Part, raw, say, type Text } from "./text.ts";

/** Groups values by their keys; Map.groupBy requires Node 21. */
export function groupByKey<K, V>(pairs: Iterable<readonly [K, V]>): ReadonlyMap<K, readonly V[]> {
  const groups = new Map<K, V[]>();
  for (const [key, value] of pairs) {
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}

/** Counts equal labels, the most frequent first. */
export const countLabels = (labels: Iterable<string>): ReadonlyMap<string, number> =>
  new Map(
    [...groupByKey([...labels].map((label) => [label, label]))]
      .map(([label, equal]) => [label, equal.length] as const)
      .sort(([, one], [, other]) => other - one),
  );

/** "2 FAILED, 1 RUNNING"; an empty string for no labels. */
export const tally = (labels: Iterable<string>): string =>
  [...countLabels(labels)].map(([label, count]) => `${formatNumber(count)} ${label}`).join(", ");

/** The same in a text. */
export const tallyText = (labels: Iterable<string>): Text =>
  join(
    [...countLabels(labels)].map(([label, count]) => say`${numberPart(count)} ${label}`),
    ", ",
  );

/** Adds commas to a whole number: "1,204". */
export const groupDigits = (digits: string): string => digits.replace(/\B(?=(\d{3})+$)/g, ",");

export const formatNumber = (value: number): string => {
  const [integerPart = "", ...fraction] = String(value).split(".");
  return [groupDigits(integerPart), ...fraction].join(".");
};

/** "1 job", "1,204 jobs". */
export const formatCount = (count: number, one: string, many = `${one}s`): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`;

/** "1,204" in a text. */
export const numberPart = (value: number): Part => raw(formatNumber(value));

/** "1,204 jobs" in a text. */
export const countPart = (count: number, one: string, many?: string): Part => raw(formatCount(count, one, many));
