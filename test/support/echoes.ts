// Lets a sample answer any request: the API repeats in its answer what the request names.
import { API_PREFIX, type Endpoint } from "../../src/contract/endpoints/endpoint.ts";
import { endpoints } from "../../src/contract/endpoints/index.ts";
import * as samples from "../contract/samples.ts";

interface SentRequest {
  readonly method: string;
  /** Path and query as in the request line. */
  readonly target: string;
  readonly body: Buffer;
}

/** The samples' values that stand for what a request names. */
const SAMPLE_VALUES: ReadonlySet<unknown> = new Set([
  ...[samples.job, samples.input, samples.operation, samples.processingRequest].map(({ id }) => id),
  ...[samples.job.workspaceId, samples.job.recipeVersionId, samples.job.retryOfBatchId],
  ...[samples.input.inputKind, samples.input.referenceId],
]);

const templateOf = ({ api, path }: Endpoint): RegExp =>
  new RegExp(`${API_PREFIX[api]}${path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`);

/** Replaces the sample values of one field by the request's value. */
function replaceSample(
  value: unknown,
  [name = "", ...rest]: readonly string[],
  named: unknown,
  replacesAll: boolean,
): unknown {
  if (typeof value !== "object" || value === null || !(name in value)) return value;
  const field: unknown = Reflect.get(value, name);
  const isSample = rest.length === 0 && named !== undefined && (replacesAll || SAMPLE_VALUES.has(field));
  return { ...value, [name]: isSample ? named : replaceSample(field, rest, named, replacesAll) };
}

/** Returns the answer as the API gives it to this request: with the request's ids in place of the samples', or of all ids. */
export function withEchoes(answer: unknown, { method, target, body }: SentRequest, replacesAll = false): unknown {
  const { pathname, searchParams } = new URL(target, "http://stub");
  for (const endpoint of endpoints) {
    const found = endpoint.method === method ? templateOf(endpoint).exec(pathname) : null;
    if (!found) continue;
    if (typeof answer !== "object" || answer === null || !("data" in answer)) return answer;
    const fields: unknown = body.length === 0 ? {} : JSON.parse(body.toString());
    const path = Object.entries(found.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]);
    const named = { ...Object(fields), ...Object.fromEntries(searchParams), ...Object.fromEntries(path) };
    const echo = (resource: unknown): unknown =>
      Object.entries(endpoint.echoes ?? {}).reduce(
        (echoed, [pointer, name]) =>
          replaceSample(echoed, pointer.slice(1).split("/"), Reflect.get(named, name), replacesAll),
        resource,
      );
    return { ...answer, data: Array.isArray(answer.data) ? answer.data.map(echo) : echo(answer.data) };
  }
  return answer;
}
