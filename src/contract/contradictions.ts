// This module finds fields that are each valid but contradict each other. They are reported as drift, never rejected (open question 17).
import { type Job, STAGES, type StageName } from "./jobs.ts";
import type { Operation } from "./operation.ts";
import type { OpenApiDocument } from "./playground.ts";

/** Each element is a JSON pointer into the body, followed by a description of the contradiction. */
export type Contradictions = readonly string[];

interface EnvelopedResponse<T> {
  readonly data: T;
}
interface PagedResponse<T> extends EnvelopedResponse<readonly T[]> {
  readonly page: { readonly nextCursor: string | null; readonly hasMore: boolean };
}

/** Section 7.2: FAILED has a Problem, and every other state has none. */
function findFailureContradictions(
  { state, failure }: Pick<Job | Operation, "state" | "failure">,
  pointer: string,
): Contradictions {
  const isRight = (state === "FAILED") === (failure !== null);
  return isRight
    ? []
    : [`${pointer}/failure: ${failure === null ? "null" : "a Problem"}, though the state is ${state}`];
}

/** Returns the first stage that is repeated or out of order (section 1, rule 3: nine stages in their order, each once). */
function findMisplacedStage({ stages }: Job): StageName | undefined {
  let last = -1;
  for (const { stage } of stages) {
    const place = STAGES.indexOf(stage);
    if (place <= last) return stage;
    last = place;
  }
  return undefined;
}

function findJobContradictions(job: Job, pointer: string): Contradictions {
  const stage = findMisplacedStage(job);
  return [
    ...findFailureContradictions(job, pointer),
    ...(stage === undefined ? [] : [`${pointer}/stages: ${stage} is out of the contract's order, or there twice`]),
  ];
}

export const jobContradictions = ({ data }: EnvelopedResponse<Job>): Contradictions =>
  findJobContradictions(data, "/data");

export const operationContradictions = ({ data }: EnvelopedResponse<Operation>): Contradictions =>
  findFailureContradictions(data, "/data");

/** Section 4.2: `hasMore` states whether more items remain, and `nextCursor` fetches them. */
export const pageContradictions = ({ page: { nextCursor, hasMore } }: PagedResponse<unknown>): Contradictions =>
  hasMore === (nextCursor !== null)
    ? []
    : [`/page: hasMore is ${hasMore}, though nextCursor is ${nextCursor === null ? "null" : "given"}`];

export const jobPageContradictions = (body: PagedResponse<Job>): Contradictions => [
  ...pageContradictions(body),
  ...body.data.flatMap((job, index) => findJobContradictions(job, `/data/${index}`)),
];

/** The version of the playground's document (section 9, rule 1). */
const DOCUMENT_VERSION = "1.0.0";

export const documentContradictions = ({ info }: OpenApiDocument): Contradictions =>
  info["version"] === DOCUMENT_VERSION
    ? []
    : [`/info/version: not ${DOCUMENT_VERSION}, the contract's document version`];
