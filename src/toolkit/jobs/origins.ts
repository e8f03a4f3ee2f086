// This module finds in the journal what jobs were submitted with, so that a job can be recognized.
import type { Arguments } from "../../actions/fingerprint.ts";
import type { ResourceHistory } from "../../actions/history.ts";
import { isJsonObject } from "../../contract/json.ts";
import { withTimeoutFallback } from "../../core/async.ts";
import type { Ports } from "../tool-context.ts";

/** The note and the inputs of a job that the journal contains. */
export interface JobOrigin {
  readonly clientReference?: string;
  /** The ids of the files, acquisitions or dataset versions; the id of an input that the journal does not contain. */
  readonly inputs?: readonly string[];
}

/** A retry has the inputs of the job that it retries; a longer chain of retries is not followed. */
const MAX_RETRIES = 5;
const LIMIT_MS = 1_000;

export interface OriginPorts {
  readonly actions: Pick<Ports["actions"], "findManyCreationArguments">;
}

/** `created`: the arguments of the actions that created these jobs, by job id. */
async function findOrigins(
  jobIds: readonly string[],
  created: ReadonlyMap<string, Arguments>,
  { actions }: OriginPorts,
): Promise<ReadonlyMap<string, JobOrigin>> {
  const submissions = new Map<string, { readonly clientReference: unknown; readonly inputIds: readonly string[] }>();
  /** The requested jobs by the id of the job that they retry, or their own id. */
  let pending = new Map(jobIds.map((id) => [id, [id]]));
  for (let round = 0; round <= MAX_RETRIES && pending.size > 0; round++) {
    const found = round === 0 ? created : await actions.findManyCreationArguments([...pending.keys()]);
    const earlier = new Map<string, string[]>();
    for (const [id, requested] of pending) {
      const { jobId, clientReference, inputBindings } = found.get(id) ?? {};
      if (typeof jobId === "string") earlier.set(jobId, [...(earlier.get(jobId) ?? []), ...requested]);
      const bindings = Array.isArray(inputBindings) ? inputBindings.filter(isJsonObject) : [];
      const inputIds = bindings.flatMap(({ inputId }) => (typeof inputId === "string" ? inputId : []));
      if (inputIds.length > 0) for (const each of requested) submissions.set(each, { clientReference, inputIds });
    }
    pending = earlier;
  }
  const inputIds = [...new Set([...submissions.values()].flatMap((submission) => submission.inputIds))];
  const registrations = await actions.findManyCreationArguments(inputIds);
  const nameInput = (id: string): string => {
    const referenceId = registrations.get(id)?.["referenceId"];
    return typeof referenceId === "string" ? referenceId : id;
  };
  return new Map(
    [...submissions].map(([id, { clientReference, ...submission }]) => [
      id,
      {
        ...(typeof clientReference === "string" && { clientReference }),
        inputs: submission.inputIds.map(nameInput),
      },
    ]),
  );
}

const withLimit = (origins: Promise<ReadonlyMap<string, JobOrigin>>): Promise<ReadonlyMap<string, JobOrigin>> =>
  withTimeoutFallback(origins, new Map<string, JobOrigin>(), LIMIT_MS);

/** Returns the origins by job id. Returns none if the journal fails or takes more than 1 s, because rows are useful without them. */
export const readOrigins = (jobIds: readonly string[], ctx: OriginPorts): Promise<ReadonlyMap<string, JobOrigin>> =>
  withLimit(ctx.actions.findManyCreationArguments(jobIds).then((created) => findOrigins(jobIds, created, ctx)));

/** Like `readOrigins` for one job, about which the journal was already read. */
export async function readOrigin(
  jobId: string,
  { creationArguments: args }: ResourceHistory,
  ctx: OriginPorts,
): Promise<JobOrigin | undefined> {
  return args && (await withLimit(findOrigins([jobId], new Map([[jobId, args]]), ctx))).get(jobId);
}
