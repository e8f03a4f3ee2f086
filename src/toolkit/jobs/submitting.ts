// This module submits jobs: from bound inputs (submit_job), or from a recipe, files and parameters in one call (run_job). Each step of
// run_job is a separate action, so an identical call, in any process, continues where the last one stopped.
import type { ActionTraits } from "../../actions/fingerprint.ts";
import type { InputBinding } from "../../contract/endpoints/bodies.ts";
import { createMicJob, getMicJob, getMicPublicInput } from "../../contract/endpoints/job-processing.ts";
import type { Input } from "../../contract/inputs.ts";
import type { Job } from "../../contract/jobs.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { RecipeOffer } from "../../contract/recipes.ts";
import { Failure, invalidArguments } from "../../core/failure.ts";
import { formatToken } from "../../core/untrusted-text.ts";
import { createJobPresenter, jobProgress, jobStateText, needsUserAction } from "../advice/job.ts";
import { inputPresenter } from "../advice/presenters.ts";
import { LONG_WAIT_SECONDS } from "../arguments.ts";
import { pollResource } from "../polling.ts";
import {
  type ActionResult,
  type Advice,
  type PollableResourcePresenter,
  type ReadAnswer,
  resourceResult,
  type Step,
  type ToolResult,
  toStep,
  withSteps,
} from "../results.ts";
import { replayNotice, runAction } from "../run-action.ts";
import { type JobPorts, type ToolCall, toStepFailure } from "../tool-call.ts";
import { MIN_ACTION_MS, mapConcurrently, readJob, readOffer, secondsLeft } from "./batch.ts";
import { findOrRegisterInput, type PortInput, type RequestedInput } from "./inputs.ts";
import { findOfferErrors } from "./offer-validation.ts";

export const submitTraits: ActionTraits = {
  aboutArgument: "recipeVersionId",
  identifyingArguments: ["workspaceId", "recipeVersionId", "inputBindings", "parameterValues"],
};

interface SubmitArguments {
  readonly workspaceId: string;
  readonly recipeVersionId: string;
  readonly inputBindings: readonly InputBinding[];
  readonly parameterValues: JsonObject;
  readonly clientReference?: string | null | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** Throws Failure if the API would reject the job because of the recipe's offer. `bindings`: the argument that contains the bindings. */
export async function validateAgainstOffer(
  offer: RecipeOffer | undefined,
  job: Pick<SubmitArguments, "inputBindings" | "parameterValues">,
  message: string,
  bindings: "inputBindings" | "inputs",
): Promise<void> {
  const errors = offer ? await findOfferErrors(offer, job) : [];
  if (errors.length === 0) return;
  throw invalidArguments(
    message,
    errors.map((error) => ({ ...error, pointer: error.pointer.replace(/^\/inputBindings/, `/${bindings}`) })),
    "Correct the fields named above and call again; get_recipe shows the schema.",
  );
}

/** Submits one job. Throws Failure. `readsReplay`: whether a replay reads the current state of the job (default: true). */
export async function submitJob(
  args: SubmitArguments,
  call: ToolCall,
  ports: JobPorts,
  { readsReplay = true } = {},
): Promise<ActionResult<Job>> {
  const { recipeVersionId } = args;
  return await runAction({ ...args }, call, ports, {
    endpoint: createMicJob,
    traits: submitTraits,
    presenter: createJobPresenter(ports),
    ...(readsReplay && { readNow: (jobId: string) => readJob(jobId, call, ports) }),
    findOut: "Look with list_jobs for a job created at that time with this recipe version.",
    async check() {
      const misfit = "submit_job was not sent: the job does not fit the recipe offer read before.";
      await validateAgainstOffer(ports.offers.get(recipeVersionId), args, misfit, "inputBindings");
    },
  });
}

interface RunArguments extends Omit<SubmitArguments, "inputBindings"> {
  readonly inputs: readonly RequestedInput[];
  readonly waitSeconds?: number | undefined;
  /** True if the key is that of one step of a call. */
  readonly isDerivedKey?: boolean | undefined;
}

const SUBMIT = "submit_job";

/** One call of run_job. */
interface JobRun {
  readonly args: RunArguments;
  readonly call: ToolCall;
  readonly ports: JobPorts;
  /** Returns the seconds that remain of the call's `waitSeconds`. */
  readonly secondsLeft: () => number;
  /** The actions that the call has completed so far. */
  readonly steps: Step[];
}

/**
 * Returns the bindings of the job that an identical call submitted before; undefined if there was none. They are used again, even if the
 * inputs have changed since. Throws Failure, also if the key belongs to another action.
 */
async function findSubmittedBindings({ args, ports }: JobRun): Promise<readonly InputBinding[] | undefined> {
  const { inputs, waitSeconds, idempotencyKey: explicitKey, isDerivedKey, ...job } = args;
  const inputBindings = inputs.map(({ port, inputId, referenceId, inputKind = "M4_FILE" }) =>
    inputId === undefined ? { port, inputKind, referenceId } : { port, inputId },
  );
  const call = { tool: SUBMIT, arguments: { ...job, inputBindings }, traits: submitTraits, explicitKey, isDerivedKey };
  const known = await ports.actions.findExisting(call);
  return known && createMicJob.body.shape.inputBindings.parse(known.arguments["inputBindings"]);
}

const isUsable = ({ input }: PortInput): boolean => input === undefined || input.state === "READY";
const isScanned = ({ input }: PortInput): boolean => input === undefined || !inputPresenter.isMoving(input);

/** Waits until the scan of the input ends or time is up, and returns the input. */
async function waitForScan({ call, ports, steps, secondsLeft }: JobRun, obtained: PortInput): Promise<PortInput> {
  if (isScanned(obtained)) return obtained;
  const reading = {
    endpoint: getMicPublicInput,
    path: { inputId: obtained.inputId },
    presenter: inputPresenter,
    waitSeconds: secondsLeft(),
    reservedMs: MIN_ACTION_MS,
  };
  const answer = await pollResource(reading, call, ports, ({ scanState }) =>
    call.report({ progress: steps.length, message: `${obtained.port}: scan ${scanState}` }),
  );
  return { ...obtained, input: answer.value.data };
}

/** Returns all inputs if each is READY or cannot be read; otherwise returns one that is not READY. */
async function obtainReadyInputs(run: JobRun): Promise<readonly PortInput[] | PortInput> {
  const { args, call, ports, steps } = run;
  const { inputs, workspaceId, idempotencyKey: callKey } = args;
  const explicitInputIds = new Set(inputs.flatMap(({ inputId = [] }) => inputId));
  const stepByPort = new Map<string, Step>();
  function onStep(port: string, step: Step): void {
    stepByPort.set(port, step);
    call.report({ progress: stepByPort.size, message: `${port}: ${formatToken(step.resourceId)}` });
  }
  let obtained: readonly PortInput[];
  try {
    obtained = await mapConcurrently(inputs, (each) =>
      findOrRegisterInput(each, { workspaceId, explicitInputIds, callKey, onStep }, call, ports),
    );
  } finally {
    steps.push(...inputs.flatMap(({ port }) => stepByPort.get(port) ?? []));
  }
  const unusable = obtained.find((each) => !isUsable(each) && isScanned(each));
  if (unusable) return unusable;
  const ready: PortInput[] = [];
  for (const each of obtained) {
    const now = await waitForScan(run, each);
    if (!isUsable(now)) return now;
    ready.push(now);
  }
  return ready;
}

/** Returns the result of a call that submitted nothing, because one input is not READY. */
async function inputNotReady(
  { args, call, ports, steps }: JobRun,
  { port, inputId }: PortInput,
): Promise<ToolResult<Input>> {
  const answer = await ports.service.call(getMicPublicInput, { path: { inputId } }, call.context);
  function advise(input: Input): Advice {
    const { summary, nextStep } = inputPresenter.advise(input);
    const again = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined));
    const why = "goes on from here; what is registered is not registered again";
    return {
      summary: `No job was submitted, because of port ${port}: ${summary}`,
      nextStep: inputPresenter.isMoving(input) ? { tool: "run_job", arguments: again, why } : nextStep,
    };
  }
  return withSteps(await resourceResult(answer, { ...inputPresenter, advise }, call), steps);
}

/** Presents a job as get_job does. If a user of the API has to act, the next step is the get_job call that waits for them. */
function createRunPresenter(ports: JobPorts): PollableResourcePresenter<Job> {
  const { needsUserAction: _, ...presenter } = createJobPresenter(ports);
  return {
    ...presenter,
    async advise(job, readAt) {
      const advice = await presenter.advise(job, readAt);
      if (advice.nextStep || !needsUserAction(job)) return advice;
      const args = { jobId: job.id, waitSeconds: LONG_WAIT_SECONDS };
      return { ...advice, nextStep: { tool: "get_job", arguments: args, why: "waits until a person has acted" } };
    },
  };
}

/** Returns the job when it stops or time is up; undefined if it is not read, or cannot be read. */
async function pollJob(run: JobRun, { data, action }: ActionResult<Job>): Promise<ReadAnswer<Job> | undefined> {
  const { call, ports, steps } = run;
  const waitSeconds = call.followsTasks ? 0 : run.secondsLeft();
  if (waitSeconds <= 0 && !action.replayed) return undefined;
  const reading = { endpoint: getMicJob, path: { jobId: data.id }, presenter: createRunPresenter(ports), waitSeconds };
  return await pollResource(reading, call, ports, (job) => {
    const { progress, total, message } = jobProgress(job);
    call.report({ progress: steps.length + progress, total: steps.length + total, message });
    // The job exists even if it cannot be read.
  }).catch((error: unknown) => void toStepFailure(error, call));
}

async function submit(run: JobRun, inputBindings: readonly InputBinding[]): Promise<ToolResult<Job>> {
  const { args, call, ports, steps } = run;
  const { inputs, waitSeconds, ...job } = args;
  const made = await submitJob({ ...job, inputBindings }, { ...call, tool: SUBMIT }, ports, { readsReplay: false });
  steps.push(toStep(SUBMIT, made));
  call.report({ progress: steps.length, message: `submitted ${formatToken(made.data.id)}` });
  const answer = await pollJob(run, made);
  if (!answer) return withSteps(made, steps);
  const { data } = answer.value;
  const { replay } = made;
  const presenter = createRunPresenter(ports);
  const notice = replay ? replayNotice(replay, jobStateText(data), presenter.mayRunAgain?.(data) ?? true) : made.notice;
  const now = await resourceResult(answer, presenter, call, { notice, replay });
  return { ...withSteps(now, steps), action: made.action, job: data };
}

/** Adds the completed steps to the failure of a later step: an identical call uses their results again. */
function withEarlierSteps(steps: readonly Step[], failure: Failure): Failure {
  const ids = steps
    .filter(({ tool, replayed }) => tool === "register_input" && !replayed)
    .map(({ resourceId }) => formatToken(resourceId));
  if (ids.length === 0) return failure;
  const [inputs, them] = ids.length === 1 ? ["input", "it"] : ["inputs", "them"];
  const done = `Already done: registered ${inputs} ${ids.join(", ")}; calling run_job again reuses ${them}.`;
  const isSubmitted = steps.some(({ tool }) => tool === SUBMIT);
  if (isSubmitted || failure.facts.sideEffect !== "none") return failure.with({ earlierSteps: done });
  // The key of the rejected step is omitted, since a call with it would be rejected again.
  const { idempotencyKey, ...facts } = failure.facts;
  return new Failure({ ...facts, earlierSteps: `No job was submitted. ${done}` }, { cause: failure.cause });
}

const compareByPort = (one: InputBinding, other: InputBinding): number => (one.port < other.port ? -1 : 1);

async function run(run: JobRun): Promise<ToolResult<Job> | ToolResult<Input>> {
  const { inputs, parameterValues } = run.args;
  const before = await findSubmittedBindings(run);
  if (before) return await submit(run, before);
  const inputBindings = inputs.map(({ port }) => ({ port, inputId: "" }));
  const misfit = "run_job sent nothing: the job does not fit the recipe offer.";
  await validateAgainstOffer(
    await readOffer(run.args.recipeVersionId, run.call, run.ports),
    { inputBindings, parameterValues },
    misfit,
    "inputs",
  );
  const ready = await obtainReadyInputs(run);
  if ("port" in ready) return await inputNotReady(run, ready);
  // The order of the inputs does not make a different job.
  const bindings = ready.map(({ port, inputId }) => ({ port, inputId }));
  return await submit(run, bindings.sort(compareByPort));
}

export async function runJob(
  args: RunArguments,
  call: ToolCall,
  ports: JobPorts,
): Promise<ToolResult<Job> | ToolResult<Input>> {
  const { timing } = ports.service;
  const startedAt = timing.now();
  const { waitSeconds = LONG_WAIT_SECONDS } = args;
  const steps: Step[] = [];
  try {
    return await run({ args, call, ports, steps, secondsLeft: () => secondsLeft(waitSeconds, startedAt, timing) });
  } catch (error) {
    throw error instanceof Failure ? withEarlierSteps(steps, error) : error;
  }
}
