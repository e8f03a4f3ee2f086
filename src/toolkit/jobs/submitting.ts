// This module submits jobs: from bound inputs (submit_job), or from a recipe, files and parameters in one call (run_job). Each step of
// run_job is a separate action, so an identical call, in any process, continues where the last one stopped.
import type * as z from "zod/v4";
import { type InputReference, type InputReferences, identifies, type TraitsOf } from "../../actions/fingerprint.ts";
import { timeLeftMs } from "../../api-client/attempts.ts";
import { InputBinding, MAX_BINDINGS } from "../../contract/endpoints/bodies.ts";
import { createMicJob, getMicPublicInput } from "../../contract/endpoints/job-processing.ts";
import type { Input } from "../../contract/inputs.ts";
import type { Job } from "../../contract/jobs.ts";
import type { RecipeOffer } from "../../contract/recipes.ts";
import { withTimeout } from "../../core/async.ts";
import { countPart } from "../../core/counts.ts";
import { Failure, invalidArguments } from "../../core/failure.ts";
import { join, quoted, say, type Text } from "../../core/text.ts";
import { formatToken } from "../../core/untrusted-text.ts";
import { parameterValuesText } from "../arguments.ts";
import { describeInput, hasExpired, inputStatus } from "../describe/input.ts";
import { jobStatus } from "../describe/job.ts";
import { pollResource } from "../polling.ts";
import { type ActionResult, type Describe, type NextStep, resourceResult, type ToolResult } from "../results.ts";
import { runAction } from "../run-action.ts";
import { type ToolContext, toStepFailure } from "../tool-context.ts";
import { limitCall, mapConcurrently, readJob, readOffer, type TimedCall } from "./batch.ts";
import { findOrRegisterInput, type PortInput, type RequestedInput, rethrowUnreadable } from "./inputs.ts";
import { describeJobWith } from "./job-history.ts";
import { findOfferErrors } from "./offer-validation.ts";
import { waitForMadeJob } from "./waiting.ts";

export const submitTraits: TraitsOf<typeof createMicJob> = {
  targetArgument: "recipeVersionId",
  arguments: {
    workspaceId: identifies(),
    recipeVersionId: identifies(),
    inputBindings: identifies(),
    parameterValues: identifies(),
    clientReference: "note",
  },
};

const body = createMicJob.body.shape;

/** The arguments of submit_job, run_job and run_jobs that describe the job. `inputs`: the tool's own arguments for the job's inputs. */
export const submissionArguments = <const I extends z.ZodRawShape>(inputs: I) =>
  ({
    workspaceId: body.workspaceId,
    recipeVersionId: body.recipeVersionId,
    ...inputs,
    parameterValues: body.parameterValues.describe(parameterValuesText),
    clientReference: body.clientReference.describe("Your note."),
  }) satisfies Record<Exclude<keyof typeof body, "inputBindings">, z.ZodType>;

/** A job without its inputs. */
type Submission = Readonly<z.output<z.ZodObject<ReturnType<typeof submissionArguments<Record<never, never>>>>>>;

interface SubmitArguments extends Submission {
  readonly inputBindings: readonly InputBinding[];
  readonly idempotencyKey?: string;
  /** True if the key is that of one step of a call. */
  readonly isDerivedKey?: boolean;
}

const validationTimeout = (): Failure =>
  new Failure({
    kind: "timeout",
    message: say`The parameters could not be checked in the call's time, because this machine is busy.`,
    retryable: true,
    sideEffect: "none",
    next: say`Call again.`,
  });

/** Throws Failure if the API would reject the job because of the recipe's offer. `bindings`: the argument that contains the bindings. */
export async function validateAgainstOffer(
  offer: RecipeOffer | undefined,
  job: Pick<SubmitArguments, "inputBindings" | "parameterValues">,
  message: Text,
  bindings: "inputBindings" | "inputs",
  ctx: ToolContext,
): Promise<void> {
  if (offer === undefined) return;
  const timeoutMs = timeLeftMs(ctx, ctx.api.timing);
  const limits = { signal: ctx.signal, timeoutMs, timeoutError: validationTimeout };
  const errors = await withTimeout(findOfferErrors(offer, job), limits);
  if (errors.length === 0) return;
  throw invalidArguments(
    message,
    errors.map((error) => ({ ...error, pointer: error.pointer.replace(/^\/inputBindings/, `/${bindings}`) })),
    say`Correct the fields named above and call again. get_recipe shows the schema.`,
  );
}

const MISFIT = say`The job does not fit the recipe.`;

/**
 * Submits one job. Throws Failure. `describeRun`: given if the caller reads the current state of the job itself. `references`: those of the
 * inputs that the caller got by reference.
 */
export async function submitJob(
  args: SubmitArguments,
  ctx: ToolContext,
  describeRun?: Describe<Job>,
  references?: InputReferences,
): Promise<ActionResult<Job>> {
  const { recipeVersionId } = args;
  return await runAction({ ...args }, ctx, {
    endpoint: createMicJob,
    traits: submitTraits,
    describe: describeRun ?? describeJobWith(ctx),
    status: jobStatus,
    references,
    readNow: (jobId) => readJob(jobId, ctx),
    readsItself: describeRun !== undefined,
    findOut: say`Look with list_jobs (view full) for a job created at that time with this recipe version.`,
    async check() {
      await validateAgainstOffer(ctx.offers.get(recipeVersionId), args, MISFIT, "inputBindings", ctx);
    },
  });
}

interface RunArguments extends Omit<SubmitArguments, "inputBindings"> {
  readonly inputs: readonly RequestedInput[];
}

interface RunOptions {
  /** Seconds for the whole call. */
  readonly waitSeconds: number;
  /** `submit`: the call returns as soon as the job is submitted. `replay`: the same, and the job of an identical call is not read. */
  readonly until: "end" | "submit" | "replay";
  /** The call that continues this one. */
  readonly again: Pick<NextStep, "tool" | "arguments">;
}

const SUBMIT = "submit_job";

/** Time that is reserved for the submission after the scans, and its maximum share of the time left. */
const SUBMISSION_MS = 2_000;
const SUBMISSION_SHARE = 0.25;

/** One call of run_job, or of submit_job with files. */
interface JobRun extends RunOptions, TimedCall {
  readonly args: RunArguments;
  /** The ids of the inputs that the call has registered so far. */
  readonly registered: string[];
  /** Sentences about files that the call registered again, because the outcome of an earlier registration is unknown. */
  readonly registeredAgain: Text[];
  /** True from the moment at which the submission may have been sent. */
  isSubmitted: boolean;
}

/**
 * Returns the bindings of the job that an identical call submitted before; undefined if there was none. They are used again, even if the
 * inputs have changed since. Throws Failure, for example if the key belongs to another action.
 */
async function findSubmittedBindings({ args, ctx }: JobRun): Promise<readonly InputBinding[] | undefined> {
  const { inputs, idempotencyKey: explicitKey, isDerivedKey, ...job } = args;
  const inputBindings = inputs.map(({ port, inputId, referenceId, inputKind = "M4_FILE" }) =>
    inputId === undefined ? { port, inputKind, referenceId } : { port, inputId },
  );
  const action = {
    tool: SUBMIT,
    arguments: { ...job, inputBindings },
    traits: submitTraits,
    explicitKey,
    isDerivedKey,
  };
  const known = await ctx.actions.findExisting(action);
  return known && createMicJob.body.shape.inputBindings.parse(known.arguments["inputBindings"]);
}

const isUsable = ({ input, readAt }: PortInput): boolean =>
  input === undefined || (input.state === "READY" && !hasExpired(input, readAt));
const isScanned = ({ input }: PortInput): boolean => input === undefined || !inputStatus(input).isInProgress;

/** Waits until the scan of the input ends or time is up, and returns the input. */
async function waitForScan({ ctx, secondsLeft }: JobRun, obtained: PortInput): Promise<PortInput> {
  if (isScanned(obtained)) return obtained;
  const waitSeconds = secondsLeft();
  const reading = {
    endpoint: getMicPublicInput,
    path: { inputId: obtained.inputId },
    status: inputStatus,
    waitSeconds,
    reservedMs: Math.min(SUBMISSION_MS, Math.max(0, waitSeconds) * 1_000 * SUBMISSION_SHARE),
  };
  const answer = await pollResource(reading, ctx, ({ scanState }) =>
    ctx.report({ progress: 0, message: `${obtained.port}: scan ${scanState}` }),
  ).catch((error: unknown) => rethrowUnreadable(obtained.inputId, error));
  return { ...obtained, input: answer.value.data, readAt: answer.respondedAt };
}

/** Returns all inputs if each is READY or cannot be read; otherwise returns one that is not READY. */
async function obtainReadyInputs(run: JobRun): Promise<readonly PortInput[] | PortInput> {
  const { args, ctx, registered, registeredAgain } = run;
  const { inputs, workspaceId, idempotencyKey: callKey } = args;
  const explicitInputIds = new Set(inputs.flatMap(({ inputId = [] }) => inputId));
  function onRegistered(port: string, id: string, isAgain: boolean): void {
    registered.push(id);
    if (isAgain)
      registeredAgain.push(
        say`The file for port ${quoted(port)} was registered again: the outcome of an earlier registration is unknown.`,
      );
    ctx.report({ progress: 0, message: `${port}: ${formatToken(id)}` });
  }
  const obtained = await mapConcurrently(inputs, (each) =>
    findOrRegisterInput(each, { workspaceId, explicitInputIds, callKey, onRegistered }, ctx),
  );
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

/** Adds the sentences about files that the call registered again. */
function withRegisteredAgain<T>({ registeredAgain }: JobRun, describe: Describe<T>): Describe<T> {
  if (registeredAgain.length === 0) return describe;
  return async (...state) => {
    const described = await describe(...state);
    return { ...described, summary: join([described.summary, ...registeredAgain]) };
  };
}

/** Returns the result of a call that submitted nothing, because one input is not READY. */
async function inputNotReady(run: JobRun, { port, inputId }: PortInput): Promise<ToolResult<Input>> {
  const { ctx, again } = run;
  const reading = ctx.api.call(getMicPublicInput, { path: { inputId } }, ctx);
  const answer = await reading.catch((error: unknown) => rethrowUnreadable(inputId, error));
  const describe: Describe<Input> = (input, readAt) => {
    const { summary, nextStep, fields, link } = describeInput(input, readAt);
    return {
      summary: say`No job was submitted. Port ${quoted(port)}: ${summary}`,
      nextStep: inputStatus(input).isInProgress
        ? { ...again, why: say`waits for the scan, then submits the job` }
        : nextStep,
      fields,
      link,
    };
  };
  return await resourceResult(answer, withRegisteredAgain(run, describe));
}

async function submit(run: JobRun, inputBindings: readonly InputBinding[]): Promise<ToolResult<Job>> {
  const { args, ctx, until } = run;
  const { inputs, ...job } = args;
  run.isSubmitted = true;
  const describe = withRegisteredAgain(run, describeJobWith(ctx, { isRun: true }));
  const byPort = new Map(inputs.map((input) => [input.port, input]));
  const references = new Map(
    inputBindings.flatMap(({ port, inputId }): (readonly [string, InputReference])[] => {
      const { referenceId, inputKind = "M4_FILE" } = byPort.get(port) ?? {};
      return referenceId === undefined ? [] : [[inputId, { inputKind, referenceId }]];
    }),
  );
  const made = await submitJob({ ...job, inputBindings }, { ...ctx, tool: SUBMIT }, describe, references);
  if (!made.replay) ctx.report({ progress: 0, message: `submitted ${formatToken(made.data.id)}` });
  const waitSeconds = ctx.followsTasks || until !== "end" ? 0 : run.secondsLeft();
  if (until === "replay" || (waitSeconds <= 0 && !made.isStored)) return made;
  return await waitForMadeJob(made, waitSeconds, describe, ctx);
}

/** Adds the effects of the earlier steps to the failure of a later step, so that neither is taken for the other. */
function withEarlierSteps({ registered, isSubmitted }: JobRun, failure: Failure): Failure {
  const { idempotencyKey, ...facts } = failure.facts;
  const { sideEffect } = facts;
  const effect = {
    none: say`No job was created.`,
    done: isSubmitted ? say`A job was created.` : say`No job was created. An input was registered.`,
    unknown: isSubmitted
      ? say`It is not known whether a job was created.`
      : say`No job was created. It is not known whether an input was registered.`,
  };
  const ids = join(registered, ", ");
  const reused =
    registered.length === 1
      ? say`An input was registered (${ids}); a repeated call uses it.`
      : say`Inputs were registered (${ids}); a repeated call uses them.`;
  if (registered.length === 0 && (sideEffect === "none" || isSubmitted)) return failure;
  const earlierSteps = join([effect[sideEffect], registered.length > 0 && reused]);
  // The key of a rejected step is omitted, since a call with it would be rejected again.
  const key = sideEffect !== "none" && idempotencyKey !== undefined && { idempotencyKey };
  return new Failure({ ...facts, ...key, earlierSteps }, { cause: failure.cause });
}

const compareByPort = (one: InputBinding, other: InputBinding): number => (one.port < other.port ? -1 : 1);

async function run(run: JobRun): Promise<ToolResult<Job> | ToolResult<Input>> {
  const { recipeVersionId, inputs, parameterValues } = run.args;
  const before = await findSubmittedBindings(run);
  if (before) return await submit(run, before);
  const inputBindings = inputs.map(({ port }) => ({ port, inputId: "" }));
  const offer = await readOffer(recipeVersionId, run.ctx);
  await validateAgainstOffer(offer, { inputBindings, parameterValues }, MISFIT, "inputs", run.ctx);
  const ready = await obtainReadyInputs(run);
  if ("port" in ready) return await inputNotReady(run, ready);
  // The order of the inputs does not make a different job.
  const bindings = ready.map(({ port, inputId }) => ({ port, inputId }));
  return await submit(run, bindings.sort(compareByPort));
}

/** Returns the recipe's only port, for one input. Throws Failure if it has several, or if the recipe could not be read. */
export function onlyPort(offer: RecipeOffer | undefined, inputs: number, ifSeveral: Text): string {
  const ports = offer?.recipe.inputs.map(({ name }) => name) ?? [];
  const [only, ...others] = ports;
  if (only === undefined || (others.length === 0 && !InputBinding.shape.port.safeParse(only).success))
    throw invalidArguments(say`The recipe's port could not be read.`, [], say`Call again with port.`);
  if (others.length === 0 && inputs === 1) return only;
  const names = join(ports.slice(0, MAX_BINDINGS), ", ");
  throw invalidArguments(say`The recipe has ${countPart(ports.length, "port")}: ${names}.`, [], ifSeveral);
}

/** Registers the files, submits the job and waits for it. `inputNote`: files that were registered again. Throws Failure. */
export async function runJob(
  args: RunArguments,
  options: RunOptions,
  toolContext: ToolContext,
): Promise<(ToolResult<Job> | ToolResult<Input>) & { readonly inputNote?: Text }> {
  const call = limitCall(options.waitSeconds, toolContext);
  const own: JobRun = { ...call, args, registered: [], registeredAgain: [], isSubmitted: false, ...options };
  try {
    const result = await run(own);
    const [inputNote] = own.registeredAgain;
    return inputNote === undefined ? result : { ...result, inputNote };
  } catch (error) {
    throw withEarlierSteps(own, toStepFailure(error, call.ctx));
  }
}
