// Answers whose fields are each right but contradict each other: reported as drift, never refused (doubt 17).
import { type Job, STAGES, type StageName } from "./jobs.ts";
import type { Operation } from "./operation.ts";
import type { OpenApiDocument } from "./playground.ts";

/** Each as a JSON pointer into the body and what is wrong there, in our own words. */
export type Contradictions = readonly string[];

interface EnvelopedResponse<T> {
  readonly data: T;
}
interface PagedResponse<T> extends EnvelopedResponse<readonly T[]> {
  readonly page: { readonly nextCursor: string | null; readonly hasMore: boolean };
}

/** Section 7.2: FAILED carries a Problem, anything else carries none. */
function findFailureContradictions(
  { state, failure }: Pick<Job | Operation, "state" | "failure">,
  pointer: string,
): Contradictions {
  const isRight = (state === "FAILED") === (failure !== null);
  return isRight
    ? []
    : [`${pointer}/failure: ${failure === null ? "null" : "a Problem"}, though the state is ${state}`];
}

/** Section 1, rule 3: nine stages in their order, each once. The first that is not so. */
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

/** Section 4.2: `hasMore` says whether more remain, `nextCursor` fetches them. */
export const pageContradictions = ({ page: { nextCursor, hasMore } }: PagedResponse<unknown>): Contradictions =>
  hasMore === (nextCursor !== null)
    ? []
    : [`/page: hasMore is ${hasMore}, though nextCursor is ${nextCursor === null ? "null" : "given"}`];

export const jobPageContradictions = (body: PagedResponse<Job>): Contradictions => [
  ...pageContradictions(body),
  ...body.data.flatMap((job, index) => findJobContradictions(job, `/data/${index}`)),
];

/** Section 9, rule 1. */
const DOCUMENT_VERSION = "1.0.0";

export const documentContradictions = ({ info }: OpenApiDocument): Contradictions =>
  info["version"] === DOCUMENT_VERSION
    ? []
    : [`/info/version: not ${DOCUMENT_VERSION}, the contract's document version`];
