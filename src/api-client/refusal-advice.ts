// This module advises on a rejection by the API. It names a tool call only if that call can help with this operation and rejection.

import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import type { FieldError } from "../contract/problem.ts";
import type { FailureFacts } from "../core/failure.ts";
import { AGENT, render } from "../core/text.ts";
import { CALL_LIMIT_SECONDS } from "../core/time-limits.ts";
import { idKindOf } from "./id-kinds.ts";

const hasField = (fields: Endpoint["query"] | undefined, name: string): boolean =>
  fields !== undefined && Object.hasOwn(fields.shape, name);

/** Whether a pointer (RFC 6901) names an argument, relative to the body or, as some APIs write it, after "body" or "query". */
function namesArgument({ body, query }: Endpoint, { pointer }: FieldError): boolean {
  if (pointer === "") return body !== undefined;
  const [, first = "", second = ""] = pointer.split("/");
  const name = first === "body" || first === "query" ? second : first;
  return hasField(body, name) || hasField(query, name);
}

const canCorrect = (endpoint: Endpoint, { status, fieldErrors = [] }: FailureFacts): boolean =>
  (status === 400 || status === 422) && fieldErrors.some((error) => namesArgument(endpoint, error));

/** Advice after a failure that may pass. `setting`: the variable that the user checks otherwise. */
export function callAgainAdvice(minutes = 1, setting?: string): string {
  const when = minutes > 1 ? `${minutes} minutes` : "a minute";
  return `Call again in ${when}${setting === undefined ? "" : `; if it keeps failing, ask the user to check ${setting}`}.`;
}

const CONTACT_OPERATOR_ADVICE = "Ask the user to contact the operator of the API: the same call will be refused again.";

function notFoundAdvice(endpoint: Endpoint): string {
  if (endpoint.id === "listPlaygroundDistricts") return "list_states has the codes in use.";
  const [parameter = ""] = Object.keys(endpoint.pathParameters.shape);
  const named = idKindOf(parameter)?.notFound;
  if (named !== undefined) return named;
  const ids = endpoint.body
    ? "Check the ids: list_recipes shows recipe versions, list_actions the inputs that were registered here. If they are right, ask"
    : hasField(endpoint.query, "workspaceId")
      ? "Check workspaceId. If it is right, ask"
      : "Ask";
  return `${ids} the user to check that MIC_BASE_URL points at the API itself.`;
}

/** Advice by operation id. */
const CONFLICT_ADVICE: Readonly<Record<string, string>> = {
  cancelMicJob: "get_job shows the state of the job.",
  retryMicJob:
    "If the job was retried before, list_jobs shows its retry. If not, correct the input and submit a new job; get_recipe shows the schema.",
  createMicJob: "get_input shows the state of an input; a job needs READY inputs.",
  requestMicSharedFileProcessing: "get_recipe shows the current versionHash. get_input shows the input's state.",
  getMicPublicAssetContent: "Check the scan of the file's input with get_input.",
};

const PROCESSING_REQUEST_ID = /micsharedrequest_[0-9a-f]{32}/;

/** Returns the id of the processing request that the refusal names. The contract has no code for this case, but ids have a fixed form. */
const findProcessingRequest = ({ message, fieldErrors = [] }: FailureFacts): string | undefined =>
  PROCESSING_REQUEST_ID.exec([render(message, AGENT), ...fieldErrors.map((error) => error.message)].join(" "))?.[0];

function forbiddenAdvice(endpoint: Endpoint, facts: FailureFacts): string {
  const requestId = endpoint.id === "createMicJob" ? findProcessingRequest(facts) : undefined;
  if (requestId !== undefined)
    return (
      `get_file_processing_request ${JSON.stringify({ requestId, waitSeconds: CALL_LIMIT_SECONDS })} shows the review. ` +
      "Once the request is APPROVED, the same call runs the job. A review can take days: tell the user."
    );
  if (endpoint.api === "playground")
    return "Ask the user to contact the operator of the geography API, whose policy denies this call.";
  const ask =
    hasField(endpoint.query, "workspaceId") || hasField(endpoint.body, "workspaceId")
      ? "Check workspaceId. If it is right, ask"
      : "Ask";
  const permission =
    endpoint.id === "createMicJob"
      ? " A shared file needs an APPROVED processing request (request_file_processing) first."
      : "";
  return `${ask} the user to ask the application's owner for the missing scope or permission.${permission}`;
}

function rejectedAdvice({ id }: Endpoint): string {
  switch (id) {
    case "createMicJob":
      return "get_recipe shows what the recipe asks for, get_capabilities what this workspace may do.";
    case "listPlaygroundDistricts":
      return "list_states has the codes in use.";
    default:
      return CONTACT_OPERATOR_ADVICE;
  }
}

const DAY_MS = 86_400_000;

/** Advice on a key that the API has from another request: from another client, or from one that the journal does not contain. */
function knownKeyAdvice({ id }: Endpoint, now: number): string {
  const createdSince = new Date(now - DAY_MS).toISOString().slice(0, 10);
  const jobs = id === "createMicJob" ? ` list_jobs ${JSON.stringify({ createdSince })} shows its job.` : "";
  return `The API has this idempotencyKey from another request, maybe of another client.${jobs} A new idempotencyKey runs this call as a new action.`;
}

/** Returns advice in one or two sentences. `now`: milliseconds since 1970. */
export function refusalAdvice(endpoint: Endpoint, facts: FailureFacts, now: number): string {
  const { kind, code = "", retryable, retryAfterSeconds } = facts;
  if (kind === "rate_limited") return `Wait ${retryAfterSeconds ?? 60} s, then repeat the call.`;
  if (kind === "unauthorized")
    return "Ask the user to correct the client id and secret (mic-mcp doctor checks them); repeating the call does not help before that.";
  if (kind === "upstream_unavailable") return callAgainAdvice();
  if (kind === "not_found") return notFoundAdvice(endpoint);
  // The contract shows no codes, but "capability" is one of its terms (docs/contract.md, 2.2).
  if (/capability/i.test(code))
    return "get_capabilities shows what this workspace may do and its limits. If more is needed, ask the user to contact the operator of the API.";
  // As above: the contract's term is "Idempotency-Key".
  if (/idempotency/i.test(code)) return knownKeyAdvice(endpoint, now);
  if (canCorrect(endpoint, facts)) return "Correct the fields named above and call again.";
  if (retryable) return callAgainAdvice();
  if (kind === "forbidden") return forbiddenAdvice(endpoint, facts);
  if (kind === "conflict") return CONFLICT_ADVICE[endpoint.id] ?? CONTACT_OPERATOR_ADVICE;
  if (kind === "precondition_failed") return "get_job shows the job's current resourceVersion.";
  return rejectedAdvice(endpoint);
}
