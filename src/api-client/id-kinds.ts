// This module has one record for each kind of id of the job-processing API: its form, the arguments that take it, and what to do with it.
import { forReader, say, type Text } from "../core/text.ts";

export interface IdKind {
  /** With 32 hex digits after it, a prefix makes an id. The ids of files have several prefixes. */
  readonly prefixes: readonly string[];
  /** With its article. */
  readonly noun: Text;
  /** What to do with an id of this kind that an argument of another kind got. */
  readonly use: Text;
  /** The collections of the resource's URI and of its URL. */
  readonly collections: readonly string[];
  /** Where such ids come from. */
  readonly find: Text;
  /** Advice if a request with this id in its path is answered with 404 (default: to check the argument, and `find`). */
  readonly notFound?: Text;
  /** The arguments that take such ids, with their descriptions in tools/list; undefined if the tool has its own. */
  readonly arguments: Readonly<Record<string, string | undefined>>;
}

/** A job's output has no form of its own: the contract gives its length only. */
export const OUTPUT_AS_INPUT = say`run_job takes a job's output as referenceId, with inputKind DATASET_VERSION.`;
const FIND_INPUT = say`list_actions shows the inputs that were registered here.`;

export const ID_KINDS: readonly IdKind[] = [
  {
    prefixes: ["micjob_"],
    noun: say`a job's id`,
    use: say`Read it with get_job.`,
    collections: ["jobs"],
    find: say`list_jobs shows the workspace's jobs.`,
    arguments: { jobId: "A micjob_ id.", jobIds: "Up to 50 micjob_ ids." },
  },
  {
    prefixes: ["micinput_"],
    noun: say`an input's id`,
    use: say`Read it with get_input.`,
    collections: ["inputs"],
    find: FIND_INPUT,
    notFound: say`Check inputId. ${FIND_INPUT} ${OUTPUT_AS_INPUT}`,
    arguments: { inputId: "A micinput_ id." },
  },
  {
    prefixes: ["micop_"],
    noun: say`an operation's id`,
    use: say`Read it with get_operation.`,
    collections: ["operations"],
    find: say`list_actions shows the operations that were started here.`,
    arguments: { operationId: "A micop_ id." },
  },
  {
    prefixes: ["micrecipev_"],
    noun: say`a recipe version's id`,
    use: say`Read it with get_recipe.`,
    collections: ["recipes", "recipe-versions"],
    find: say`list_recipes shows the versionId of each recipe, by name.`,
    notFound: say`Check versionId. It may have expired: list_recipes shows the current offers.`,
    arguments: { versionId: "From list_recipes.", recipeVersionId: "From list_recipes." },
  },
  {
    prefixes: ["micsharedrequest_"],
    noun: say`a processing request's id`,
    use: say`Read it with get_file_processing_request.`,
    collections: ["processing-requests"],
    find: say`list_actions shows the requests that were made here.`,
    arguments: { requestId: "From request_file_processing." },
  },
  {
    prefixes: ["devfile_", "devsignfile_"],
    noun: say`a file's id`,
    use: say`Make an input of it with register_input.`,
    collections: ["assets"],
    find: say`No tool lists files: ${forReader("ask the user for the id", "use the id that you were given")}.`,
    notFound: say`Check assetId: it names an original file, not an input, a job or a dataset version.`,
    arguments: { assetId: undefined },
  },
];

const KIND_OF_ARGUMENT = new Map(
  ID_KINDS.flatMap((kind) => Object.keys(kind.arguments).map((name) => [name, kind] as const)),
);

/** Returns the kind of the ids that an argument takes; undefined if it takes none of these. */
export const idKindOf = (argument: string): IdKind | undefined => KIND_OF_ARGUMENT.get(argument);

/** The descriptions of the arguments that take ids, by the arguments' names. */
export const ID_ARGUMENT_TEXTS: Readonly<Record<string, string>> = Object.fromEntries(
  ID_KINDS.flatMap((kind) => Object.entries(kind.arguments)).flatMap(([name, text]) => (text ? [[name, text]] : [])),
);
