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
  pickSummaryFields,
  toFailureSummary,
  toSummaryFields,
  unexpectedFailureText,
} from "../summary-view.ts";
import { uris } from "../uri.ts";
import { ENDED } from "./job-facts.ts";
import { INPUT, OPERATION, PROCESSING_REQUEST, toAdvice } from "./phrases.ts";

function inputCase({ state, scanState }: Input): keyof typeof INPUT {
  if (state === "WAITING_SCAN") return scanState === "UNAVAILABLE" || scanState === "STALE" ? "scan stuck" : "in scan";
  if (state === "QUARANTINED") return scanState === "INFECTED" ? "infected" : "quarantined";
  return state === "READY" ? "ready" : state === "EXPIRED" ? "expired" : "withdrawn";
}

const INPUT_FIELDS = ["id", "state", "inputKind", "referenceId", "scanState"];

export const inputPresenter = {
  version: ({ resourceVersion }) => resourceVersion,
  /** An input with a stuck scan also counts as moving, since the scan may still end. */
  isMoving: ({ state }) => state === "WAITING_SCAN",
  progressSnapshot: ({ state, scanState }) => ({ state, detail: `scan ${scanState}` }),
  state: ({ state }) => state,
  // An expired input has its own next step, and an unsafe input must not be registered again.
  mayRunAgain: ({ state }) => state === "READY" || state === "WAITING_SCAN",
  uri: ({ id }) => uris.input(id),
  advise: (input) => toAdvice(INPUT[inputCase(input)], input),
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
  uri: ({ id }) => uris.operation(id),
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

export const processingRequestPresenter = {
  version: ({ revision }) => revision,
  isMoving: () => false,
  needsUserAction: ({ state }) => state === "SUBMITTED" || state === "REVIEWABLE",
  progressSnapshot: ({ state }) => ({ state }),
  state: ({ state }) => state,
  uri: ({ id }) => uris.processingRequest(id),
  advise: (request) => toAdvice(PROCESSING_REQUEST[requestCase(request)], request),
  toSummary: (request) => pickSummaryFields(request, REQUEST_FIELDS),
} satisfies PollableResourcePresenter<ProcessingRequest>;

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
  uri: ({ recipe }) => uris.recipe(recipe.versionId),
  advise: ({ recipe: { name, inputs } }) => ({
    summary: `Recipe ${quote(name)}: bind ${portsOf(inputs)}; give parameterValues as recipe.parameters.definition asks.`,
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

const isUsedUp = (bucket: UsageBucket): boolean => isConfigured(bucket) && Number(bucket.remaining) === 0;

const namesOf = (buckets: readonly UsageBucket[]): string =>
  buckets.map(({ metric }) => formatToken(metric)).join(", ");

function usageText({ window, buckets }: UsageSummary): string {
  const usedUp = buckets.filter(isUsedUp);
  const others = buckets.filter((bucket) => !isConfigured(bucket));
  const sentences = [
    `Usage by ${window}: ${usedUp.length === 0 ? "nothing is used up" : `used up: ${namesOf(usedUp)}`}.`,
    others.length > 0 && `Not configured, which is not used up: ${namesOf(others)}.`,
  ];
  return sentences.filter(Boolean).join(" ");
}

/**
 * `requestedWindow`: the window in the call. A response cannot contain MONTH, and the contract does not tie its window to the requested one
 * (open question 1).
 */
export const createUsagePresenter = (requestedWindow: string): ResourcePresenter<UsageSummary> => ({
  uri: () => undefined,
  advise: (usage) => ({
    summary: usageText(usage) + (usage.window === requestedWindow ? "" : ` Usage by ${requestedWindow} was asked for.`),
  }),
  toSummary({ window, observedAt, resetTimezone, expiresAt, buckets }) {
    const configured = buckets.filter(isConfigured).map(({ unit, unitDefinitionState, quotaScope, ...rest }) => ({
      ...toSummaryFields(rest, { reserved: "0" }),
      ...(unit !== "COUNT" && { unit }),
    }));
    const others = buckets.filter((bucket) => !isConfigured(bucket)).map(({ metric }) => metric);
    return {
      window,
      ...toSummaryFields({ observedAt, resetTimezone, expiresAt }),
      buckets: extractSharedFields(configured),
      ...toSummaryFields({ notConfigured: others }),
    };
  },
});

/** Includes `granted` only if it is not the sum of `used`, `reserved` and `remaining`. */
function toLimitSummary({ granted, ...rest }: QuotaBucket): Readonly<Record<string, unknown>> {
  const isSum = granted === rest.used + rest.reserved + rest.remaining;
  return toSummaryFields({ ...rest, ...(!isSum && { granted }) }, { reserved: 0 });
}

export const capabilitiesPresenter: ResourcePresenter<CapabilitySet> = {
  uri: () => undefined,
  advise: ({ capabilities }) => ({
    summary: `${capabilities.filter(({ enabled }) => enabled).length} of ${capabilities.length} capabilities are enabled; limits are the quotas.`,
  }),
  toSummary: ({ capabilities, limits }) => ({
    capabilities: extractSharedFields(
      capabilities.map(({ evidenceRef, version, ...rest }) =>
        toSummaryFields(rest, { enabled: true, maxPages: 0, maxRows: 0 }),
      ),
    ),
    limits: extractSharedFields(limits.map(toLimitSummary)),
  }),
};
