// Seeds the workspace with an input for each file and a few more, 130 jobs in all states, and processing requests.
import type { Input } from "../../contract/inputs.ts";
import { MAX_INT64 } from "../../contract/scalars.ts";
import { ID_PREFIX } from "../assumptions.ts";
import { DAY, HOUR, MINUTE, toInstant } from "../clock.ts";
import { sha256 } from "../ids.ts";
import { createFileInput, type InputRecord } from "./inputs.ts";
import type { JobRecord } from "./jobs.ts";
import { type JobPlan, jobAt, planJob, stageIndex } from "./lifecycle.ts";
import type { ProcessingRequestRecord } from "./processing-requests.ts";
import type { Recipe } from "./recipes.ts";
import type { World } from "./world.ts";

const JOB_COUNT = 130;
const JOBS_SPAN_MS = 40 * DAY;
const SEEDED_STAGE_MS = 20 * MINUTE;

/** Seeds one M4_FILE input for each file, in the same order, and then one input of each other kind and of each other state. */
function seedInputs(world: World): void {
  const { files, ids, inputs } = world;
  const startedAt = world.clock.now();
  const id = (): string => ids.next(ID_PREFIX.input);
  for (const file of files) {
    // A file that is still being scanned was uploaded just now.
    const createdAt = file.scan === "pending" ? startedAt : startedAt - 2 * DAY;
    inputs.seed(createFileInput(file, { id: id(), createdAt, inputKind: "M4_FILE", referenceId: file.id }));
  }
  const [districts, , , , , , , states] = files;
  if (districts === undefined || states === undefined) throw new Error("the LGD files are missing");
  const createInput = (
    file: typeof states,
    inputKind: Input["inputKind"],
    referenceId: string,
    ageMs: number,
  ): InputRecord => createFileInput(file, { id: id(), createdAt: startedAt - ageMs, inputKind, referenceId });
  inputs.seed(createInput(states, "ACQUISITION", ids.next(ID_PREFIX.acquisition), DAY));
  const dataset = createInput(states, "DATASET_VERSION", ids.next(ID_PREFIX.datasetVersion), DAY);
  inputs.seed({ ...dataset, scan: "not applicable", classification: "DATASET", expiresAt: null });
  inputs.seed(createInput(districts, "M4_FILE", districts.id, 100 * DAY));
  inputs.seed({ ...createInput(districts, "M4_FILE", districts.id, 5 * DAY), withdrawnAt: startedAt - DAY });
}

/** The outcome of each kind of seeded job, and the time after which the job stops changing, in stage durations. */
const JOB_KINDS: Readonly<Record<string, readonly [outcome: JobPlan["outcome"], stages: number]>> = {
  preparing: ["succeeds", 0],
  queued: ["succeeds", 0.5],
  waiting: ["waits for review", 2 + stageIndex("TASTE")],
  paused: ["pauses", Number.POSITIVE_INFINITY],
  failed: ["fails at SIFT", Number.POSITIVE_INFINITY],
  "failed-retryably": ["fails at CHURN, retryably", Number.POSITIVE_INFINITY],
};
/** The kinds of the newest jobs, newest first, so that the first page has all eight states. */
const NEWEST =
  "running running preparing queued succeeded running waiting paused failed-retryably cancelled failed queued waiting".split(
    " ",
  );
/** The kinds of all earlier jobs, as a repeating sequence. */
const EARLIER =
  "succeeded succeeded failed-retryably succeeded cancelled succeeded failed succeeded withdrawn failed-retryably paused".split(
    " ",
  );

function createSeededJob(
  world: World,
  kind: string,
  recipe: Recipe,
  createdAt: number,
): Pick<JobRecord, "initial" | "plan"> {
  const [outcome, stages] = JOB_KINDS[kind] ?? ["succeeds", Number.POSITIVE_INFINITY];
  const requestId = world.ids.next(ID_PREFIX.request);
  const facts = { recipe: recipe.definition, createdAt, stageMs: SEEDED_STAGE_MS, outcome, requestId };
  const { initial, plan } = planJob(world, facts);
  // Continues slowly from REFINE. Only these seeded jobs change.
  if (kind === "running") return { initial, plan: { ...plan, startsAt: world.clock.now() - 3.5 * SEEDED_STAGE_MS } };
  const requestedAt = createdAt + 3.4 * SEEDED_STAGE_MS;
  const cancellation = kind === "cancelled" ? { requestedAt, doneAt: requestedAt + MINUTE } : undefined;
  const job = jobAt(initial, plan, cancellation, createdAt + stages * SEEDED_STAGE_MS);
  if (kind !== "withdrawn") return { initial: job, plan: undefined };
  const updatedAt = toInstant(createdAt + 10 * HOUR);
  const resourceVersion = job.resourceVersion + 1;
  return { initial: { ...job, publicationState: "WITHDRAWN", resourceVersion, updatedAt }, plan: undefined };
}

function seedJobs(world: World): void {
  const { ids, jobs, recipes } = world;
  const startedAt = world.clock.now();
  const [flat, nested] = recipes;
  if (flat === undefined || nested === undefined) throw new Error("the recipes are missing");
  for (let age = JOB_COUNT - 1; age >= 0; age -= 1) {
    const kind = NEWEST[age] ?? EARLIER[age % EARLIER.length] ?? "succeeded";
    // Up to 1 h, so that the jobs are in order but not evenly spaced.
    const jitter = (Number.parseInt(ids.hashFor(`job ${age}`).slice(0, 6), 16) / 0xffffff) * HOUR;
    const createdAt = Math.round(startedAt - (age + 2) * (JOBS_SPAN_MS / (JOB_COUNT + 2)) + jitter);
    // A withdrawn job needs a publication, which needs a recipe that runs to FREEZE.
    const recipe = kind === "withdrawn" || age % 3 !== 0 ? flat : nested;
    jobs.add({ ...createSeededJob(world, kind, recipe, createdAt), recipe, retryOutcome: "succeeds" });
  }
}

/** Seeds one request that can still change, and three in states that a request takes long to reach. */
function seedProcessingRequests(world: World): void {
  const { ids, inputs, processingRequests, recipes, permissions } = world;
  const startedAt = world.clock.now();
  const withdrawnInput = inputs.seeded.at(-1);
  const archive = inputs.seeded[8];
  const profile = recipes[3];
  if (withdrawnInput === undefined || archive === undefined || profile === undefined)
    throw new Error("the seeded inputs or recipes are missing");
  const createRequest = (
    input: InputRecord,
    purpose: string,
    createdAt: number,
    fixed?: ProcessingRequestRecord["fixed"],
  ): ProcessingRequestRecord => {
    const id = ids.next(ID_PREFIX.processingRequest);
    const expiresAt = toInstant(createdAt + 20 * DAY);
    const recipeVersionId = profile.definition.versionId;
    const requestHash = sha256(`${id} ${purpose}`);
    return { id, createdAt, expiresAt, input, recipeVersionId, requestHash, purpose, fixed };
  };
  const approved = createRequest(archive, "Profile the signed archive", startedAt - DAY);
  permissions.set(`${archive.id} ${profile.definition.versionId}`, approved);
  const requests = [
    approved,
    createRequest(withdrawnInput, "Compare with last year", startedAt - 4 * DAY),
    createRequest(withdrawnInput, "Prepare a marketing campaign", startedAt - 4 * DAY),
    createRequest(withdrawnInput, "Long-running review", startedAt - 9 * DAY, {
      state: "REVOKED",
      revision: MAX_INT64,
      reasonCode: "SECURITY_REVOKED",
    }),
  ];
  for (const request of requests) processingRequests.seed(request);
}

export function seedWorld(world: World): void {
  seedInputs(world);
  seedJobs(world);
  seedProcessingRequests(world);
}
