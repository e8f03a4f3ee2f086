// Answers whose fields are each right but contradict each other: reported as drift, never refused (doubt 17).
import { type Job, STAGES, type StageName } from "./jobs.ts";
import type { Operation } from "./operation.ts";
import type { OpenApiDocument } from "./playground.ts";

/** Each as a JSON pointer into the body and what is wrong there, in our own words. */
export type Contradictions = readonly string[];

interface Enveloped<T> {
  readonly data: T;
}
interface PagedAnswer<T> extends Enveloped<readonly T[]> {
  readonly page: { readonly nextCursor: string | null; readonly hasMore: boolean };
}

/** Section 7.2: FAILED carries a Problem, anything else carries none. */
const failureFits = ({ state, failure }: Pick<Job | Operation, "state" | "failure">): boolean =>
  (state === "FAILED") === (failure !== null);

const inFailure = ({ state, failure }: Pick<Job | Operation, "state" | "failure">, pointer: string): Contradictions => [
  `${pointer}/failure: ${failure === null ? "null" : "a Problem"}, though the state is ${state}`,
];

const PLACES: ReadonlyMap<StageName, number> = new Map(STAGES.map((stage, place) => [stage, place]));

/** Section 1, rule 3: nine stages in their order, each once. The first that is not so. */
function stageOutOfOrder({ stages }: Job): StageName | undefined {
  let last = -1;
  for (const { stage } of stages) {
    const place = PLACES.get(stage) ?? -1;
    if (place <= last) return stage;
    last = place;
  }
  return undefined;
}

function inJob(job: Job, pointer: string): Contradictions {
  const stage = stageOutOfOrder(job);
  return [
    ...(failureFits(job) ? [] : inFailure(job, pointer)),
    ...(stage === undefined ? [] : [`${pointer}/stages: ${stage} is out of the contract's order, or there twice`]),
  ];
}

/** Nearly every job: a page of 100 is looked through for it. */
const isConsistent = (job: Job): boolean => failureFits(job) && stageOutOfOrder(job) === undefined;

export const jobContradictions = ({ data }: Enveloped<Job>): Contradictions => inJob(data, "/data");

export const operationContradictions = ({ data }: Enveloped<Operation>): Contradictions =>
  failureFits(data) ? [] : inFailure(data, "/data");

/** Section 4.2: `hasMore` says whether more remain, `nextCursor` fetches them. */
export const pageContradictions = ({ page: { nextCursor, hasMore } }: PagedAnswer<unknown>): Contradictions =>
  hasMore === (nextCursor !== null)
    ? []
    : [`/page: hasMore is ${hasMore}, though nextCursor is ${nextCursor === null ? "null" : "given"}`];

export const jobPageContradictions = (body: PagedAnswer<Job>): Contradictions => [
  ...pageContradictions(body),
  ...(body.data.every(isConsistent) ? [] : body.data.flatMap((job, index) => inJob(job, `/data/${index}`))),
];

/** Section 9, rule 1. */
const DOCUMENT_VERSION = "1.0.0";

export const documentContradictions = ({ info }: OpenApiDocument): Contradictions =>
  info["version"] === DOCUMENT_VERSION
    ? []
    : [`/info/version: not ${DOCUMENT_VERSION}, the contract's document version`];
