// This module advises on a rejection by the API. It names a tool call only if that call can help with this operation and rejection.

import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import type { FieldError } from "../contract/problem.ts";
import type { FailureFacts } from "../core/failure.ts";
import { ask, call, forReader, own, say, type Text } from "../core/text.ts";
import { CALL_LIMIT_SECONDS } from "../core/time-limits.ts";
import { idKindOf } from "./id-kinds.ts";

const hasField = (fields: Endpoint["query"] | undefined, name: string): boolean =>
  fields !== undefined && Object.hasOwn(fields.shape, name);

/** Whether a pointer (RFC 6901) names an argument, relative to the body or, as some APIs write it, after "body" or "query". */
function namesArgument({ body, query }: Endpoint, { pointer }: Pick<FieldError, "pointer">): boolean {
  if (pointer === "") return body !== undefined;
  const [, first = "", second = ""] = pointer.split("/");
  const name = first === "body" || first === "query" ? second : first;
  return hasField(body, name) || hasField(query, name);
}

const canCorrect = (endpoint: Endpoint, { status, fieldErrors = [] }: FailureFacts): boolean =>
  (status === 400 || status === 422) && fieldErrors.some((error) => namesArgument(endpoint, error));

/** For an agent, within a sentence. */
const ASK_TO = forReader("ask the user to ", "");

/** Advice after a failure that may pass. `setting`: the variable that the user checks otherwise. */
export function callAgainAdvice(minutes = 1, setting?: string): Text {
  const when = minutes > 1 ? say`${minutes} minutes` : own("a minute");
  return say`Call again in ${when}${setting !== undefined && say`; if it keeps failing, ${ASK_TO}check ${setting}`}.`;
}

export const waitAdvice = (seconds: number): Text => say`Wait ${seconds} s, then repeat the call.`;

const CONTACT_OPERATOR_ADVICE = say`${ask("Contact")} the operator of the API: the same call will be refused again.`;
const CODES_ADVICE = say`list_states has the codes in use.`;

function notFoundAdvice(endpoint: Endpoint): Text {
  if (endpoint.id === "listPlaygroundDistricts") return CODES_ADVICE;
  const [parameter = ""] = Object.keys(endpoint.pathParameters.shape);
  const kind = idKindOf(parameter);
  if (kind) return kind.notFound ?? say`Check ${parameter}. ${kind.find}`;
  const check = endpoint.body
    ? say`Check the ids: list_recipes shows recipe versions, list_actions the inputs that were registered here. If they are right, ${ASK_TO}check`
    : hasField(endpoint.query, "workspaceId")
      ? say`Check workspaceId. If it is right, ${ASK_TO}check`
      : ask("Check");
  return say`${check} that MIC_BASE_URL points at the API itself.`;
}

/** Advice by operation id. */
const CONFLICT_ADVICE: Readonly<Record<string, Text>> = {
  cancelMicJob: say`get_job shows the state of the job.`,
  retryMicJob: say`If the job was retried before, list_jobs shows its retry. If not, correct the input and submit a new job; get_recipe shows the schema.`,
  createMicJob: say`get_input shows the state of an input; a job needs READY inputs.`,
  requestMicSharedFileProcessing: say`get_recipe shows the current versionHash. get_input shows the input's state.`,
  getMicPublicAssetContent: say`Check the scan of the file's input with get_input.`,
};

const PROCESSING_REQUEST_ID = /micsharedrequest_[0-9a-f]{32}/;

/** Returns the id of the processing request that the refusal names. The contract has no code for this case, but ids have a fixed form. */
const findProcessingRequest = (title: string, { fieldErrors = [] }: FailureFacts): string | undefined =>
  PROCESSING_REQUEST_ID.exec([title, ...fieldErrors.map((error) => error.message)].join(" "))?.[0];

function forbiddenAdvice(endpoint: Endpoint, facts: FailureFacts, title: string): Text {
  const requestId = endpoint.id === "createMicJob" ? findProcessingRequest(title, facts) : undefined;
  if (requestId !== undefined) {
    const review = call("get_file_processing_request", { requestId, waitSeconds: CALL_LIMIT_SECONDS });
    return say`${review} shows the review. Once the request is APPROVED, the same call runs the job.${forReader(" If the review continues, tell the user.", "")}`;
  }
  if (endpoint.api === "playground")
    return say`${ask("Contact")} the operator of the geography API, whose policy denies this call.`;
  const askOwner =
    hasField(endpoint.query, "workspaceId") || hasField(endpoint.body, "workspaceId")
      ? say`Check workspaceId. If it is right, ${ASK_TO}ask`
      : ask("Ask");
  const permission =
    endpoint.id === "createMicJob" &&
    own(" A shared file may first need an APPROVED request (request_file_processing).");
  return say`${askOwner} the application's owner for the missing scope or permission.${permission}`;
}

function rejectedAdvice({ id }: Endpoint): Text {
  switch (id) {
    case "createMicJob":
      return say`get_recipe shows what the recipe asks for, get_capabilities what this workspace may do.`;
    case "listPlaygroundDistricts":
      return CODES_ADVICE;
    default:
      return CONTACT_OPERATOR_ADVICE;
  }
}

const DAY_MS = 86_400_000;

/** Advice on a key that the API has from another request: from another client, or from one that the journal does not contain. */
function knownKeyAdvice({ id }: Endpoint, now: number): Text {
  const createdSince = new Date(now - DAY_MS).toISOString().slice(0, 10);
  const jobs = id === "createMicJob" && say` ${call("list_jobs", { createdSince })} shows its job.`;
  return say`The API has this idempotencyKey from another request, maybe of another client.${jobs} A new idempotencyKey runs this call as a new action.`;
}

/** Returns advice in one or two sentences. `title`: the API's text. `now`: milliseconds since 1970. */
export function refusalAdvice(endpoint: Endpoint, facts: FailureFacts, title: string | undefined, now: number): Text {
  const { kind, code = "", retryable, retryAfterSeconds } = facts;
  if (kind === "rate_limited") return waitAdvice(retryAfterSeconds ?? 60);
  if (kind === "unauthorized")
    return say`${ask("Correct")} the client id and secret (mic-mcp doctor checks them); repeating the call does not help before that.`;
  if (kind === "upstream_unavailable") return callAgainAdvice();
  if (kind === "not_found") return notFoundAdvice(endpoint);
  // The contract shows no codes, but "capability" is one of its terms (docs/contract.md, 2.2).
  if (/capability/i.test(code))
    return say`get_capabilities shows what this workspace may do and its limits. If more is needed, ${ASK_TO}contact the operator of the API.`;
  // As above: the contract's term is "Idempotency-Key".
  if (/idempotency/i.test(code)) return knownKeyAdvice(endpoint, now);
  if (canCorrect(endpoint, facts)) return say`Correct the fields named above and call again.`;
  if (retryable) return callAgainAdvice();
  if (kind === "forbidden") return forbiddenAdvice(endpoint, facts, title ?? "");
  if (kind === "conflict") return CONFLICT_ADVICE[endpoint.id] ?? CONTACT_OPERATOR_ADVICE;
  if (kind === "precondition_failed") return say`get_job shows the job's current resourceVersion.`;
  return rejectedAdvice(endpoint);
}
