// Formats the reference of the tools for users: each tool with its parameters, from the schemas.
import * as z from "zod/v4";
import { countLabels, groupByKey } from "../src/core/counts.ts";
import { tools } from "../tools/index.ts";

type Tool = (typeof tools)[number];

const Schema = z.looseObject({
  type: z.string().optional(),
  description: z.string().optional(),
  enum: z.array(z.string()).optional(),
  format: z.string().optional(),
  maximum: z.number().optional(),
  items: z.looseObject({}).optional(),
  properties: z.record(z.string(), z.looseObject({})).optional(),
  required: z.array(z.string()).optional(),
});

/**
 * Meanings for people. `tools/list` leaves them to the names of the arguments, or states them in fewer words, since each word costs every agent
 * tokens. A key with a tool's name is about this tool only.
 */
const MEANINGS: Readonly<Record<string, string>> = {
  jobId: "The job's id, `micjob_…`.",
  jobIds: "Ids of the jobs.",
  inputId: "The input's id, `micinput_…`, from register_input.",
  operationId: "The operation's id, `micop_…`, from cancel_job with `waitSeconds: 0`, or list_actions.",
  requestId: "The request's id, `micsharedrequest_…`, from request_file_processing.",
  versionId: "The recipe's version, from list_recipes.",
  recipeVersionId: "The recipe's version, from list_recipes.",
  workspaceId: "Default: the configured workspace.",
  view: "`summary` (default), or `full` for every field that the API returns.",
  "retry_jobs limit": "Maximum number of jobs to retry.",
  cursor: "`page.nextCursor` of the previous page.",
  reason: "Why, in a sentence; sent to the API.",
  createdSince: "Only jobs created at this time or later.",
  createdBefore: "Only jobs created before this time.",
  updatedSince: "Only jobs that changed at this time or later.",
  "list_jobs recipeVersionId": "Only jobs of this recipe version.",
  "rank_divisions createdSince": "Only districts that were created in this year or later.",
  states: "Only these states: codes or names (default: all).",
  "rank_divisions limit": "Rows (default 10; with `perState`, 100).",
  "list_jobs states": "Only jobs in one of these states.",
  state: "Code or name of the state.",
  "list_actions state": "Only actions in this state.",
  "show_actions state": "Only actions in this state.",
  idempotencyKey:
    "Leave it out. A new key (8 to 128 letters, digits or hyphens) runs the call again; the key of an earlier call resumes that call.",
  "resolve_actions idempotencyKey": "Only the action with this key (default: all).",
  waitSeconds:
    "Seconds to wait until the resource stops changing, or until geography lists are loaded (there, default 20).",
  "resolve_actions jobId": "The user's decision: this is the job that the action created.",
  "retry_jobs jobIds": "Ids of the jobs. Without it, pass `createdSince`.",
  inputKind: "What `referenceId` is: a file, an acquisition, or the output of a job.",
  referenceId: "The id of a file (`devfile_…`), an acquisition or a dataset version.",
  parameterValues: "The recipe's parameters. `get_recipe` returns their schema.",
  clientReference: "A note for you in the journal, which `get_job` and `list_jobs` return.",
  sort: "The only order.",
  window: "The period of the quotas.",
  "get_usage window": "The period of the quotas (default: today and the entitlement).",
  level: "Whether the rows are states or districts.",
  until: "Wait until `all` jobs have stopped (default), or until `any` has.",
  source: "The tool whose rows are saved.",
  name: "One name. Pass `name` or `names`.",
  names: "Up to 50 names, instead of `name`.",
  min: "Only rows whose value of `by` is at least this.",
  max: "Only rows whose value of `by` is at most this.",
  perState: "Only the first N districts of each state, with `level` `district`.",
  by: "The value that ranks the rows. Districts have `mandalCount` and `name` only.",
  order: "Default: `desc`; with `by` `name`, `asc`.",
  resourceVersion: "Cancel only if the job still has this version (default: the current one).",
  failureCode: "Only jobs that failed with this code.",
  port: "The recipe's port for the files (default: its only port).",
  files: "Ids of the files, one job for each.",
  unretried: "Only failed jobs that were not retried and are worth a retry.",
  outcome: "The user's decision: the action had no effect.",
  alias: "Your name for the input.",
  expiresAt: "When the permission ends; in the future.",
};

/** Meanings that only arguments without a description need. */
const MEANING_OF_NAME: Readonly<Record<string, string>> = { limit: "Maximum number of rows." };

/** Returns the type of a value in a few words: `integer, at most 45`, `list of objects {port, inputId}`. */
function formatType(value: unknown): string {
  const { type = "", enum: values, format, maximum, items, properties } = Schema.parse(value);
  if (values !== undefined) return values.map((each) => `\`${each}\``).join(", ");
  if (type === "array") return `list of ${items === undefined ? "values" : formatType(items)}`;
  if (properties !== undefined) return `objects {${Object.keys(properties).join(", ")}}`;
  return [format ?? type, ...(maximum === undefined ? [] : [`at most ${maximum}`])].join(", ");
}

interface Parameter {
  readonly name: string;
  readonly isRequired: boolean;
  readonly type: string;
  readonly meaning: string;
  /** `Default 45.` */
  readonly preset: string | undefined;
}

function parametersOf(tool: Tool): readonly Parameter[] {
  const { properties = {}, required = [] } = Schema.parse(tool.inputSchema());
  return Object.entries(properties).map(([name, property]) => {
    const { description = MEANING_OF_NAME[name], enum: values } = Schema.parse(property);
    const longer = MEANINGS[`${tool.name} ${name}`] ?? MEANINGS[name];
    const preset = longer !== undefined && /^Default \d+\.$/.test(description ?? "") ? description : undefined;
    // Values without a description explain themselves.
    const meaning = longer ?? description ?? (values && "");
    if (meaning === undefined)
      throw new Error(
        `${name} of ${tool.name} has no meaning: add it to MEANINGS in ${import.meta.filename}, or an id to src/api-client/id-kinds.ts`,
      );
    const isRequired = required.includes(name) && name !== "workspaceId";
    return { name, isRequired, type: formatType(property), meaning, preset };
  });
}

/** `level` (required, `state`, `district`): … A text has no type. */
function formatParameter({ name, isRequired, type, meaning, preset }: Parameter): string {
  const facts = [...(isRequired ? ["required"] : []), ...(type === "string" ? [] : [type])];
  const texts = [meaning, ...(preset ? [preset] : [])].filter((text) => text !== "");
  return `- \`${name}\`${facts.length > 0 ? ` (${facts.join(", ")})` : ""}${texts.length > 0 ? `: ${texts.join(" ")}` : ""}`;
}

const formatCommon = (parameter: Parameter): string =>
  formatParameter({ ...parameter, isRequired: false, preset: undefined });

/** What several tools have, which the page describes once. If a name has several meanings, this is the most frequent one. */
const commonParameters = new Map(
  [
    ...groupByKey(tools.flatMap(parametersOf).map((parameter) => [parameter.name, formatCommon(parameter)] as const)),
  ].flatMap(([name, texts]) => {
    const [[text, count] = ["", 0]] = countLabels(texts);
    return count > 1 ? [[name, text] as const] : [];
  }),
);
const isCommon = (parameter: Parameter): boolean => commonParameters.get(parameter.name) === formatCommon(parameter);

function formatParameters(tool: Tool): string {
  const parameters = parametersOf(tool);
  if (parameters.length === 0) return "No parameters.";
  const common = parameters.filter(isCommon).map(({ name, isRequired, preset }) => {
    const fact = isRequired ? "required" : preset?.toLowerCase().replace(".", "");
    return `\`${name}\`${fact === undefined ? "" : ` (${fact})`}`;
  });
  return [
    ...(common.length > 0 ? [`- ${common.join(", ")}`] : []),
    ...parameters.filter((parameter) => !isCommon(parameter)).map(formatParameter),
  ].join("\n");
}

function formatTool(tool: Tool): string {
  const { name, description, endpoint } = tool;
  const facts = [
    ...(endpoint === undefined ? [] : [`\`${endpoint.id}\``]),
    `[answers](../../test/snapshots/${name}.md)`,
  ];
  return [`### ${name}`, `${description} ${facts.join(", ")}.`, formatParameters(tool)].join("\n\n");
}

const GROUPS: readonly (readonly [start: string, has: (tool: Tool) => boolean])[] = [
  ["## Jobs", ({ toolsets, view }) => toolsets.includes("jobs") && view === undefined],
  ["## Geography", ({ toolsets, view }) => !toolsets.includes("jobs") && view === undefined],
  ["## Views\n\nOnly [clients that show views](clients.md#views) get these tools.", ({ view }) => view !== undefined],
];

/** Returns the sections of docs/use/tools.md. */
export function formatToolReference(): string {
  const groups = GROUPS.map(([start, has]) => [start, ...tools.filter(has).map(formatTool)].join("\n\n"));
  const common = [...commonParameters.values()].sort().join("\n");
  return [`## Parameters of several tools\n\n${common}`, ...groups].join("\n\n");
}
