// What a workspace can do, what it may use and what it has used, in few words.
import type { CapabilitySet, QuotaBucket, UsageBucket, UsageSummary } from "../../contract/usage.ts";
import { word } from "../../outside.ts";
import { lean, shareFields } from "../lean.ts";
import type { Subject } from "../results.ts";

const isConfigured = ({ unitDefinitionState }: UsageBucket): boolean => unitDefinitionState === "DEFINED";

const isUsedUp = (bucket: UsageBucket): boolean => isConfigured(bucket) && Number(bucket.remaining) === 0;

const namesOf = (buckets: readonly UsageBucket[]): string => buckets.map(({ metric }) => word(metric)).join(", ");

function usageText({ window, buckets }: UsageSummary): string {
  const usedUp = buckets.filter(isUsedUp);
  const others = buckets.filter((bucket) => !isConfigured(bucket));
  const sentences = [
    `Usage by ${window}: ${usedUp.length === 0 ? "nothing is used up" : `used up: ${namesOf(usedUp)}`}.`,
    others.length > 0 && `Not configured, which is not used up: ${namesOf(others)}.`,
  ];
  return sentences.filter(Boolean).join(" ");
}

/** `asked`: the window of the question. A summary cannot say MONTH, and nothing ties its window to the one asked for (doubt 1). */
export const usageSubject = (asked: string): Subject<UsageSummary> => ({
  uri: () => undefined,
  advise: (usage) => ({
    summary: usageText(usage) + (usage.window === asked ? "" : ` Usage by ${asked} was asked for.`),
  }),
  lean({ window, observedAt, resetTimezone, expiresAt, buckets }) {
    const configured = buckets.filter(isConfigured).map(({ unit, unitDefinitionState, quotaScope, ...rest }) => ({
      ...lean(rest, { reserved: "0" }),
      ...(unit !== "COUNT" && { unit }),
    }));
    const others = buckets.filter((bucket) => !isConfigured(bucket)).map(({ metric }) => metric);
    return {
      window,
      ...lean({ observedAt, resetTimezone, expiresAt }),
      buckets: shareFields(configured),
      ...lean({ notConfigured: others }),
    };
  },
});

/** What was granted is the sum of the rest; it is said where it is not. */
function leanLimit({ granted, ...rest }: QuotaBucket): Readonly<Record<string, unknown>> {
  const isSum = granted === rest.used + rest.reserved + rest.remaining;
  return lean({ ...rest, ...(!isSum && { granted }) }, { reserved: 0 });
}

export const capabilitiesSubject: Subject<CapabilitySet> = {
  uri: () => undefined,
  advise: ({ capabilities }) => ({
    summary: `${capabilities.filter(({ enabled }) => enabled).length} of ${capabilities.length} capabilities are enabled; limits are the quotas.`,
  }),
  lean: ({ capabilities, limits }) => ({
    capabilities: shareFields(
      capabilities.map(({ evidenceRef, version, ...rest }) => lean(rest, { enabled: true, maxPages: 0, maxRows: 0 })),
    ),
    limits: shareFields(limits.map(leanLimit)),
  }),
};
