// This module presents resources other than jobs: inputs, operations, processing requests, recipe offers, usage and capabilities.
import type { Input } from "../../contract/inputs.ts";
import type { Operation } from "../../contract/operation.ts";
import type { ProcessingRequest } from "../../contract/processing-requests.ts";
import type { RecipeDefinition, RecipeOffer, RecipeParameters } from "../../contract/recipes.ts";
import type { CapabilitySet, QuotaBucket, UsageBucket, UsageSummary } from "../../contract/usage.ts";
import { formatToken, quote } from "../../core/untrusted-text.ts";
import type { PollableResourcePresenter, ResourcePresenter } from "../results.ts";
import {
  extractSharedFields,
  outOf,
  pickSummaryFields,
  toFailureSummary,
  toSummaryFields,
  unexpectedFailureText,
} from "../summary-view.ts";
import type { Ports } from "../tool-context.ts";
import { references } from "../uri.ts";
import { ENDED } from "./job-facts.ts";
import { INPUT, OPERATION, PROCESSING_REQUEST, toAdvice } from "./phrases.ts";

/** Returns true if the input has expired at `readAt` (milliseconds since 1970, by the API's clock), whether or not its state says so. */
export const hasExpired = ({ state, expiresAt }: Input, readAt: number | undefined): boolean =>
  state === "EXPIRED" ||
  (state === "READY" && expiresAt !== null && readAt !== undefined && Date.parse(expiresAt) <= readAt);

function inputCase(input: Input, readAt: number | undefined): keyof typeof INPUT {
  const { state, scanState } = input;
  if (hasExpired(input, readAt)) return "expired";
  if (state === "WAITING_SCAN") return scanState === "UNAVAILABLE" || scanState === "STALE" ? "scan stuck" : "in scan";
  if (state === "QUARANTINED") return "quarantined";
  return state === "READY" ? "ready" : "withdrawn";
}

const INPUT_FIELDS = ["id", "environment", "state", "inputKind", "referenceId", "scanState", "expiresAt"];

export const inputPresenter = {
  version: ({ resourceVersion }) => resourceVersion,
  /** An input with a stuck scan also counts as moving, since the scan may still end. */
  isMoving: ({ state }) => state === "WAITING_SCAN",
  progressSnapshot: ({ state, scanState }) => ({ state, detail: `scan ${scanState}` }),
  state: ({ state }) => state,
  // An expired input has its own next step, and an unsafe input must not be registered again.
  mayRunAgain: ({ state }) => state === "READY" || state === "WAITING_SCAN",
  reference: ({ id }) => references.input(id),
  advise: (input, readAt?: number) => toAdvice(INPUT[inputCase(input, readAt)], input),
  toSummary: (input) => pickSummaryFields(input, INPUT_FIELDS, { inputKind: "M4_FILE", scanState: "CLEAN" }),
} satisfies PollableResourcePresenter<Input>;

function operationCase({ state, failure }: Operation): keyof typeof OPERATION {
  if (state === "QUEUED" || state === "RUNNING") return "moving";
  if (state !== "FAILED") return state === "SUCCEEDED" ? "succeeded" : "cancelled";
  return failure === null ? "failed, unexplained" : failure.retryable ? "failed, retryable" : "failed";
}

const OPERATION_FIELDS = ["id", "state", "operationType", "originatingResourceId", "resultResourceId", "updatedAt"];

export const operationPresenter = {
  version: ({ resourceVersion }) => resourceVersion,
  isMoving: ({ state }) => state === "QUEUED" || state === "RUNNING",
  progressSnapshot: ({ state }) => ({ state }),
  state: ({ state }) => state,
  reference: ({ id }) => references.operation(id),
  hasEnded: ({ state }) => ENDED.has(state),
  advise(operation) {
    const advice = toAdvice(OPERATION[operationCase(operation)], operation);
    return { ...advice, summary: advice.summary + unexpectedFailureText(operation) };
  },
  toSummary: (operation) => ({
    ...pickSummaryFields(operation, OPERATION_FIELDS),
    ...toFailureSummary(operation.failure),
  }),
} satisfies PollableResourcePresenter<Operation>;

function requestCase({ state, reasonCode }: ProcessingRequest): keyof typeof PROCESSING_REQUEST {
  if (state === "SUBMITTED" || state === "REVIEWABLE") return "in review";
  if (state === "APPROVED") return "approved";
  if (state === "REVOKED") return reasonCode === "SECURITY_REVOKED" ? "revoked, security" : "revoked";
  if (reasonCode === "PURPOSE_NOT_ALLOWED") return "rejected, purpose";
  return reasonCode === "SOURCE_NOT_ELIGIBLE" ? "rejected, source" : "rejected";
}

const REQUEST_FIELDS = ["id", "state", "inputId", "recipeVersionId", "reasonCode", "expiresAt"];

export const createRequestPresenter = ({
  offers,
}: Pick<Ports, "offers">): PollableResourcePresenter<ProcessingRequest> => ({
  version: ({ revision }) => revision,
  isMoving: ({ state }) => state === "SUBMITTED" || state === "REVIEWABLE",
  progressSnapshot: ({ state }) => ({ state }),
  state: ({ state }) => state,
  reference: ({ id }) => references.processingRequest(id),
  advise(request) {
    const [only, ...others] = offers.get(request.recipeVersionId)?.recipe.inputs ?? [];
    const port = others.length === 0 ? only?.name : undefined;
    return toAdvice(PROCESSING_REQUEST[requestCase(request)], { ...request, port });
  },
  toSummary: (request) => pickSummaryFields(request, REQUEST_FIELDS),
});

const portsOf = (inputs: RecipeDefinition["inputs"]): string => inputs.map(({ name }) => name).join(", ");

export const summarizeOffer = ({ recipe, expiresAt }: RecipeOffer) => ({
  versionId: recipe.versionId,
  name: recipe.name,
  ports: portsOf(recipe.inputs),
  expiresAt,
});

/** Returns the JSON Schema and the schemas that it references. */
const schemaOf = ({ definition, references }: RecipeParameters) => ({
  definition,
  ...(Object.keys(references).length > 0 && { references }),
});

/** Omits `executionAvailable`: it is false in every offer of the contract, even if jobs can run. */
export const recipeOfferPresenter: ResourcePresenter<RecipeOffer> = {
  reference: ({ recipe }) => references.recipe(recipe.versionId),
  advise: ({ recipe: { name, inputs } }) => ({
    summary: `Recipe ${quote(name)}: bind ${portsOf(inputs)}; give parameterValues as recipe.parameters.definition requires.`,
  }),
  toSummary({ recipe, expiresAt }) {
    const { versionId, versionHash, name, inputs, parameters, requiredPermissions, stopAfterStage } = recipe;
    const ports = inputs.map((each) => ({
      name: each.name,
      valueState: each.valueState,
      schema: schemaOf(each.schema),
    }));
    return {
      recipe: {
        ...{ versionId, versionHash, name, inputs: ports, parameters: schemaOf(parameters), stopAfterStage },
        ...toSummaryFields({ requiredPermissions }),
      },
      ...toSummaryFields({ expiresAt }),
    };
  },
};

const isConfigured = ({ unitDefinitionState }: UsageBucket): boolean => unitDefinitionState === "DEFINED";

const namesOf = (buckets: readonly UsageBucket[]): string =>
  buckets.map(({ metric }) => formatToken(metric)).join(", ");

const groupDigits = (digits: string): string => digits.replace(/\B(?=(\d{3})+$)/g, ",");

/** Returns the remaining amounts: "JOBS_SUBMITTED: 999,891 of 1,000,000 left today; …". */
export function usageText({ window, buckets }: UsageSummary): string {
  const configured = buckets.filter(isConfigured);
  const others = buckets.filter((bucket) => !isConfigured(bucket));
  const left = window === "DAY" ? "left today" : "left in the entitlement";
  const amounts = configured.map(({ metric, remaining, granted, unit }, index) => {
    const bytes = unit === "BYTE" ? " bytes" : "";
    const amount = outOf(groupDigits(remaining), groupDigits(granted));
    return `${formatToken(metric)}: ${amount}${bytes}${index === 0 ? ` ${left}` : ""}`;
  });
  const sentences = [
    amounts.length > 0 && `${amounts.join("; ")}.`,
    others.length > 0 && `No quota: ${namesOf(others)}.`,
  ];
  return sentences.filter(Boolean).join(" ") || `The API returns no quota by ${window}.`;
}

/**
 * `requestedWindow`: the window in the call. A response cannot contain MONTH, and the contract does not tie its window to the requested one
 * (open question 1).
 */
export const createUsagePresenter = (requestedWindow: string) =>
  ({
    reference: () => undefined,
    advise: (usage) => ({
      summary:
        (usage.window === requestedWindow
          ? ""
          : `The API returned usage by ${usage.window}, not by ${requestedWindow}. `) + usageText(usage),
    }),
    toSummary({ window, observedAt, resetTimezone, expiresAt, buckets }) {
      const configured = buckets.filter(isConfigured).map(toAmountSummary);
      const others = buckets.filter((bucket) => !isConfigured(bucket)).map(({ metric }) => metric);
      return {
        window,
        ...toSummaryFields({ observedAt, resetTimezone, expiresAt }),
        buckets: extractSharedFields(configured),
        ...toSummaryFields({ notConfigured: others }),
      };
    },
  }) satisfies ResourcePresenter<UsageSummary>;

/** Includes `granted` only if it is not the sum of `used`, `reserved` and `remaining`. */
function toAmountSummary({ unit, unitDefinitionState, quotaScope, granted, ...rest }: UsageBucket) {
  const isSum = BigInt(granted) === BigInt(rest.used) + BigInt(rest.reserved) + BigInt(rest.remaining);
  return {
    ...toSummaryFields({ ...rest, ...(!isSum && { granted }) }, { reserved: "0" }),
    ...(unit !== "COUNT" && { unit }),
  };
}

function toLimitSummary({ granted, ...rest }: QuotaBucket): Readonly<Record<string, unknown>> {
  const isSum = granted === rest.used + rest.reserved + rest.remaining;
  return toSummaryFields({ ...rest, ...(!isSum && { granted }) }, { reserved: 0 });
}

export const capabilitiesPresenter: ResourcePresenter<CapabilitySet> = {
  reference: () => undefined,
  advise: ({ capabilities }) => ({
    summary: `${outOf(capabilities.filter(({ enabled }) => enabled).length, capabilities.length)} capabilities are enabled; limits are the quotas.`,
  }),
  toSummary: ({ environment, capabilities, limits }) => ({
    environment,
    capabilities: extractSharedFields(
      capabilities.map(({ evidenceRef, version, ...rest }) =>
        toSummaryFields(rest, { enabled: true, maxPages: 0, maxRows: 0 }),
      ),
    ),
    limits: extractSharedFields(limits.map(toLimitSummary)),
  }),
};
