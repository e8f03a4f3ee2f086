// What the workspace holds at start: an input for each file and a few more, 130 jobs in all states, processing requests.
import type { Input } from "../../contract/inputs.ts";
import { type Job, STAGES } from "../../contract/jobs.ts";
import { MAX_INT64 } from "../../contract/numbers.ts";
import { ID_PREFIX } from "../choices.ts";
import { DAY, HOUR, instant, MINUTE } from "../clock.ts";
import { sha256 } from "../ids.ts";
import { type InputRecord, inputOfFile } from "./inputs.ts";
import type { JobRecord } from "./jobs.ts";
import { freshStages, jobAt, lastStage, type Plan, stageIndex } from "./lifecycle.ts";
import type { ProcessingRequestRecord } from "./processing-requests.ts";
import type { Recipe } from "./recipes.ts";
import type { World } from "./world.ts";

const JOB_COUNT = 130;
const JOBS_SPAN_MS = 40 * DAY;
const SEEDED_STAGE_MS = 20 * MINUTE;

export function seed(world: World): void {
  seedInputs(world);
  seedJobs(world);
  seedProcessingRequests(world);
}

/** First one M4_FILE input for each file, in the files' order; then one of each other kind and of each other state. */
function seedInputs(world: World): void {
  const { files, ids, inputs } = world;
  const startedAt = world.clock.now();
  const id = (): string => ids.next(ID_PREFIX.input);
  for (const file of files) {
    // A file still being scanned was uploaded just now.
    const createdAt = file.scan === "pending" ? startedAt : startedAt - 2 * DAY;
    inputs.seed(inputOfFile(file, { id: id(), createdAt, inputKind: "M4_FILE", referenceId: file.id }));
  }
  const [districts, , , , , , , states] = files;
  if (districts === undefined || states === undefined) throw new Error("the LGD files are missing");
  const of = (file: typeof states, inputKind: Input["inputKind"], referenceId: string, ageMs: number): InputRecord =>
    inputOfFile(file, { id: id(), createdAt: startedAt - ageMs, inputKind, referenceId });
  inputs.seed(of(states, "ACQUISITION", ids.next(ID_PREFIX.acquisition), DAY));
  const dataset = of(states, "DATASET_VERSION", ids.next(ID_PREFIX.datasetVersion), DAY);
  inputs.seed({ ...dataset, scan: "not applicable", classification: "DATASET", expiresAt: null });
  inputs.seed(of(districts, "M4_FILE", districts.id, 100 * DAY));
  inputs.seed({ ...of(districts, "M4_FILE", districts.id, 5 * DAY), withdrawnAt: startedAt - DAY });
}

type Making = (world: World, recipe: Recipe, createdAt: number) => Pick<JobRecord, "initial" | "plan">;

function begin(
  world: World,
  recipe: Recipe,
  createdAt: number,
  outcome: Plan["outcome"],
): { initial: Job; plan: Plan } {
  const { ids, workspaceId } = world;
  const last = lastStage(recipe.definition);
  const initial: Job = {
    id: ids.next(ID_PREFIX.job),
    workspaceId,
    environment: "SANDBOX",
    state: "PREPARING",
    resourceVersion: 1,
    createdAt: instant(createdAt),
    updatedAt: instant(createdAt),
    recipeVersionId: recipe.definition.versionId,
    processingState: "PREPARING",
    publicationState: "NOT_REQUESTED",
    outputDatasetVersionId: null,
    reviewState: "NOT_REQUIRED",
    stages: freshStages(last),
    retryOfBatchId: null,
    failure: null,
  };
  const plan: Plan = {
    startsAt: createdAt,
    stageMs: SEEDED_STAGE_MS,
    outcome,
    first: 0,
    last,
    requestId: ids.next(ID_PREFIX.request),
    outputDatasetVersionId: ids.next(ID_PREFIX.datasetVersion),
  };
  return { initial, plan };
}

/** Runs as a job does and then stands still after so many stages' time. */
const stoodStill =
  (outcome: Plan["outcome"], afterStages: number): Making =>
  (world, recipe, createdAt) => {
    const { initial, plan } = begin(world, recipe, createdAt, outcome);
    return { initial: jobAt(initial, plan, undefined, createdAt + afterStages * SEEDED_STAGE_MS).job, plan: undefined };
  };

const FOR_EVER = 3 * STAGES.length;
const succeeded = stoodStill("succeeds", FOR_EVER);
const failedRetryably = stoodStill("fails at CHURN, retryably", FOR_EVER);
const failed = stoodStill("fails at SIFT", FOR_EVER);
const waiting = stoodStill("waits for review", 2 + stageIndex("TASTE"));
const paused = stoodStill("pauses", FOR_EVER);

const withdrawn: Making = (world, recipe, createdAt) => {
  const { initial, plan } = succeeded(world, recipe, createdAt);
  const resourceVersion = initial.resourceVersion + 1;
  const updatedAt = instant(createdAt + 10 * HOUR);
  return { initial: { ...initial, publicationState: "WITHDRAWN", resourceVersion, updatedAt }, plan };
};

const cancelled: Making = (world, recipe, createdAt) => {
  const { initial, plan } = begin(world, recipe, createdAt, "succeeds");
  const requestedAt = createdAt + 3.4 * SEEDED_STAGE_MS;
  return {
    initial: jobAt(initial, plan, { requestedAt, doneAt: requestedAt + MINUTE }, requestedAt + HOUR).job,
    plan: undefined,
  };
};

/** Goes on from REFINE, slowly: the only seeded jobs that move. */
const running: Making = (world, recipe, createdAt) => {
  const { initial, plan } = begin(world, recipe, createdAt, "succeeds");
  return { initial, plan: { ...plan, startsAt: world.clock.now() - 3.5 * SEEDED_STAGE_MS } };
};

/** The newest jobs, newest first: all eight states stand on the first page. */
const NEWEST: readonly Making[] = [
  running,
  running,
  stoodStill("succeeds", 0),
  stoodStill("succeeds", 0.5),
  succeeded,
  running,
  waiting,
  paused,
  failedRetryably,
  cancelled,
  failed,
  stoodStill("succeeds", 0.5),
  waiting,
];
/** All before, over and over. */
const EARLIER: readonly Making[] = [
  succeeded,
  succeeded,
  failedRetryably,
  succeeded,
  cancelled,
  succeeded,
  failed,
  succeeded,
  withdrawn,
  failedRetryably,
  paused,
];

function seedJobs(world: World): void {
  const { ids, jobs, recipes } = world;
  const startedAt = world.clock.now();
  const [flat, nested] = recipes;
  if (flat === undefined || nested === undefined) throw new Error("the recipes are missing");
  for (let age = JOB_COUNT - 1; age >= 0; age -= 1) {
    const make = NEWEST[age] ?? EARLIER[age % EARLIER.length] ?? succeeded;
    // Not evenly, but in order: up to an hour off.
    const jitter = (Number.parseInt(ids.named(`job ${age}`).slice(0, 6), 16) / 0xffffff) * HOUR;
    const createdAt = Math.round(startedAt - (age + 2) * (JOBS_SPAN_MS / (JOB_COUNT + 2)) + jitter);
    // Withdrawal needs a publication, and that a recipe that freezes.
    const recipe = make === withdrawn || age % 3 !== 0 ? flat : nested;
    jobs.add({ ...make(world, recipe, createdAt), recipe, outcomeOfRetry: "succeeds" });
  }
}

/** One that goes on, and three that stand for states that take long to come by. */
function seedProcessingRequests(world: World): void {
  const { ids, inputs, processingRequests, recipes, permissions } = world;
  const startedAt = world.clock.now();
  const withdrawnInput = inputs.seeded.at(-1);
  const archive = inputs.seeded[8];
  const profile = recipes[3];
  if (withdrawnInput === undefined || archive === undefined || profile === undefined)
    throw new Error("the seeded inputs or recipes are missing");
  const of = (
    input: InputRecord,
    purpose: string,
    createdAt: number,
    fixed?: ProcessingRequestRecord["fixed"],
  ): ProcessingRequestRecord => {
    const id = ids.next(ID_PREFIX.processingRequest);
    const expiresAt = instant(createdAt + 20 * DAY);
    const recipeVersionId = profile.definition.versionId;
    const requestHash = sha256(`${id} ${purpose}`);
    return { id, createdAt, expiresAt, input, recipeVersionId, requestHash, purpose, ...(fixed && { fixed }) };
  };
  const approved = of(archive, "Profile the signed archive", startedAt - DAY);
  permissions.set(`${archive.id} ${profile.definition.versionId}`, approved);
  const requests = [
    approved,
    of(withdrawnInput, "Compare with last year", startedAt - 4 * DAY),
    of(withdrawnInput, "Prepare a marketing campaign", startedAt - 4 * DAY),
    of(withdrawnInput, "Long-running review", startedAt - 9 * DAY, {
      state: "REVOKED",
      revision: MAX_INT64,
      reasonCode: "SECURITY_REVOKED",
    }),
  ];
  for (const request of requests) processingRequests.seed(request);
}
