// What the demo's three people do: an analyst asks, an assistant runs a job, a retrier retries; and what they are told when it goes wrong.
import * as z from "zod/v4";
import { STAGES } from "../contract/jobs.ts";
import { escaped } from "../outside.ts";
import type { Agent } from "./agent.ts";
import { chapter, dim, expect, say } from "./story.ts";

const NextStep = z.object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()), why: z.string() });
const told = <T extends z.ZodType>(data: T) =>
  z.looseObject({ summary: z.string(), nextStep: NextStep.optional(), data });
const Action = z.object({ idempotencyKey: z.string(), replayed: z.boolean(), attempts: z.number() });
const acted = <T extends z.ZodType>(data: T) => told(data).extend({ action: Action });
const plain = <T extends z.ZodType>(data: T) => z.looseObject({ data });
const RecipeSummaries = plain(z.array(z.object({ versionId: z.string(), name: z.string(), ports: z.string() })));
// What an agent is given by default (docs/interface.md, "Results"), as far as the demo reads it.
const Districts = z.looseObject({
  state: z.string(),
  districts: z.array(z.looseObject({ name: z.string(), mandalCount: z.number() })),
  source: z.string().optional(),
});
const Offer = z.looseObject({
  recipe: z.looseObject({
    parameters: z.looseObject({ definition: z.looseObject({ properties: z.looseObject({}) }) }),
  }),
});
const Created = z.looseObject({ id: z.string(), state: z.string() });
const Job = z.looseObject({
  state: z.string(),
  stages: z.string().optional(),
  retryOfBatchId: z.string().optional(),
});
const CreatedJob = Created.extend(Job.shape);
const Usage = z.looseObject({
  buckets: z.looseObject({
    rows: z.array(z.looseObject({ metric: z.string(), used: z.string(), granted: z.string() })),
  }),
});
const Hashed = z.looseObject({ sha256: z.string() });
type Created = z.infer<typeof Created>;

const Ranking = z.looseObject({
  rows: z.array(z.looseObject({ name: z.string(), stateName: z.string(), mandalCount: z.number() })),
  totals: z.looseObject({ districts: z.number(), mandals: z.number() }),
  coverage: z.looseObject({ complete: z.boolean(), statesRead: z.number() }),
  vintage: z.looseObject({ sourceUpdatedAt: z.array(z.string()) }),
});
const SavedFile = z.looseObject({ path: z.string(), bytes: z.number(), sha256: z.string(), fileName: z.string() });

const PARAMETERS = { level: "DISTRICT", vintage: "2026-09-30" };
const TOP = 5;

function fileAt(fileIds: readonly string[], index: number): string {
  const id = fileIds[index];
  if (id === undefined) throw new Error("the emulator has too few files");
  return id;
}

export async function analystAsks(agent: Agent): Promise<void> {
  chapter("An analyst asks: which districts of India have the most mandals?");
  const wish = { level: "district", by: "mandalCount", limit: TOP };
  const { rows, totals, coverage, vintage } = await agent.ask(Ranking, "rank_divisions", wish);
  for (const { name, stateName, mandalCount } of rows)
    say(`${escaped(name).padEnd(30)}${escaped(stateName).padEnd(20)}${String(mandalCount).padStart(3)}`);
  say(dim(escaped(`vintage ${vintage.sourceUpdatedAt.join(", ")}`)));
  expect(
    coverage.complete,
    `all ${coverage.statesRead} states were read: ${totals.districts} districts, ${totals.mandals} mandals`,
  );

  chapter("And of Telangana alone?");
  const answer = await agent.ask(Districts, "list_districts", { state: "TG" });
  const largest = answer.districts.toSorted((a, b) => b.mandalCount - a.mandalCount).slice(0, TOP);
  for (const { name, mandalCount } of largest) say(`${escaped(name).padEnd(24)}${String(mandalCount).padStart(3)}`);
  const total = answer.districts.reduce((sum, { mandalCount }) => sum + mandalCount, 0);
  say(dim(escaped(answer.source ?? "no source stated")));
  expect(answer.districts.length > 0, `${answer.state} has ${answer.districts.length} districts and ${total} mandals`);
}

interface Prepared {
  readonly versionId: string;
  readonly port: string;
}

/** The recipe that normalizes divisions, which every job of the demo runs. */
async function findRecipe(agent: Agent) {
  const { data: offers } = await agent.ask(RecipeSummaries, "list_recipes", {});
  const found = offers.find(({ name }) => name.startsWith("Normalize"));
  if (!found) throw new Error("no recipe to normalize divisions is offered");
  return { offers, found, prepared: { versionId: found.versionId, port: found.ports } };
}

async function chooseRecipe(agent: Agent): Promise<Prepared> {
  const { offers, found, prepared } = await findRecipe(agent);
  for (const { name, ports } of offers) say(`${escaped(name)} ${dim(escaped(`(ports: ${ports})`))}`);
  const { data: offer } = await agent.ask(plain(Offer), "get_recipe", { versionId: found.versionId });
  const parameters = Object.keys(offer.recipe.parameters.definition.properties);
  expect(parameters.length > 0, `"${found.name}" asks for the parameters ${parameters.join(", ")}`);
  return prepared;
}

async function registerFile(agent: Agent, fileId: string): Promise<Created> {
  const args = { inputKind: "M4_FILE", referenceId: fileId };
  const { data, summary, action } = await agent.ask(acted(Created), "register_input", args);
  say(summary);
  expect(action.attempts === 1, `registered under the key ${action.idempotencyKey}`);
  return data;
}

const submission = ({ versionId, port }: Prepared, input: Created, parameterValues: object) => ({
  recipeVersionId: versionId,
  inputBindings: [{ port, inputId: input.id }],
  parameterValues,
});

async function submitJob(agent: Agent, prepared: Prepared, input: Created): Promise<Created> {
  const { data, summary } = await agent.ask(acted(Created), "submit_job", submission(prepared, input, PARAMETERS));
  say(summary);
  return data;
}

/** Waits for the job's end and says each stage as it goes by. */
async function watchJob(agent: Agent, jobId: string) {
  let last = "";
  const ended = await agent.ask(told(Job), "get_job", { jobId, waitSeconds: 45 }, (message) => {
    const stage = message.split(" ").slice(0, 2).join(" ");
    if (stage !== last) say(dim(escaped(`  ${message}`)));
    last = stage;
  });
  say(ended.summary);
  return ended;
}

export async function assistantRunsJob(
  agent: Agent,
  fileIds: readonly string[],
  sha256Of: (path: string) => Promise<string>,
): Promise<void> {
  chapter("An assistant runs a job: find a recipe, register an input, submit, wait, read");
  const prepared = await chooseRecipe(agent);
  const fileId = fileAt(fileIds, 0);
  const input = await registerFile(agent, fileId);
  const submitted = await submitJob(agent, prepared, input);
  const { data: job } = await watchJob(agent, submitted.id);
  const all = `${STAGES.join(" ")} done`;
  expect(job.state === "SUCCEEDED" && job.stages === all, `all nine stages went by: ${all}`);
  const { data: usage } = await agent.ask(plain(Usage), "get_usage", { window: "DAY" });
  for (const { metric, used, granted } of usage.buckets.rows) say(`${metric.padEnd(24)}${used} of ${granted}`);

  chapter("It downloads the original file and checks it");
  const file = await agent.ask(SavedFile, "download_asset", { assetId: fileId });
  say(`${escaped(file.fileName)}, ${file.bytes} bytes`);
  const onDisk = await sha256Of(file.path);
  const { data: whole } = await agent.ask(plain(Hashed), "get_input", { inputId: input.id, view: "full" });
  expect(onDisk === whole.sha256 && onDisk === file.sha256, `sha256 on disk is the input's: ${onDisk.slice(0, 16)}…`);
}

export async function retrierRetries(agent: Agent, fileIds: readonly string[]): Promise<void> {
  chapter("A second job fails on the way, and a retrier takes the advice it gets");
  const { prepared } = await findRecipe(agent);
  const input = await registerFile(agent, fileAt(fileIds, 1));
  const submitted = await submitJob(agent, prepared, input);
  const failed = await watchJob(agent, submitted.id);
  const { nextStep } = failed;
  expect(
    failed.data.state === "FAILED" && nextStep?.tool === "retry_job",
    "the failure is retryable, and the answer says how",
  );
  say(`${nextStep.tool}: ${nextStep.why}`);
  const { data: retry } = await agent.ask(acted(CreatedJob), nextStep.tool, nextStep.arguments);
  expect(retry.retryOfBatchId === submitted.id, `the retry ${retry.id} names the job it repeats`);
  const { data: job } = await watchJob(agent, retry.id);
  expect(job.state === "SUCCEEDED", "the retry succeeded");
}

export async function assistantMistypes(agent: Agent): Promise<void> {
  chapter("A wrong parameter: what an agent is told, before anything is sent");
  const { prepared } = await findRecipe(agent);
  const wrong = {
    recipeVersionId: prepared.versionId,
    inputBindings: [{ port: prepared.port, inputId: `micinput_${"0".repeat(32)}` }],
    parameterValues: { ...PARAMETERS, level: "VILLAGE" },
  };
  const refused = await agent.call("submit_job", wrong);
  say(refused.text);
  expect(
    refused.failed && refused.text.includes("/parameterValues/level"),
    "the error names the field and what it takes",
  );
}

export async function assistantCancels(agent: Agent, fileIds: readonly string[]): Promise<void> {
  chapter("A third job is cancelled");
  const { prepared } = await findRecipe(agent);
  const input = await registerFile(agent, fileAt(fileIds, 0));
  const submitted = await submitJob(agent, prepared, input);
  const cancel = { jobId: submitted.id, reason: "The demo has seen enough" };
  const { data: operation, summary } = await agent.ask(acted(Created), "cancel_job", cancel);
  say(summary);
  await agent.ask(told(Job), "get_operation", { operationId: operation.id, waitSeconds: 20 });
  const { data: job, summary: end } = await agent.ask(told(Job), "get_job", { jobId: submitted.id });
  say(end);
  expect(job.state === "CANCELLED", "the job is cancelled");
}

/** One more input, and what a job on it would be submitted with. */
export async function prepareSubmission(agent: Agent, fileIds: readonly string[]): Promise<Record<string, unknown>> {
  const { prepared } = await findRecipe(agent);
  return submission(prepared, await registerFile(agent, fileAt(fileIds, 0)), PARAMETERS);
}
