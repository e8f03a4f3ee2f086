// From a recipe, files and parameters to a job in one call. Each step is an action of its own, so the same call again, in any
// process, continues where the last one stopped.
import type { InputBinding } from "../../contract/endpoints/bodies.ts";
import {
  createMicJob,
  getMicExecutableRecipe,
  getMicJob,
  getMicPublicInput,
} from "../../contract/endpoints/job-processing.ts";
import type { Input } from "../../contract/inputs.ts";
import type { Job } from "../../contract/jobs.ts";
import { Failure, invalidArguments } from "../../failure.ts";
import { word } from "../../outside.ts";
import { inputAdvice, inputSubject, isInputMoving } from "../advice/input.ts";
import { isJobMoving, jobProgress, jobSubject, stateInWords, waitsForPerson } from "../advice/job.ts";
import type { ProcedureResult } from "../define-tool.ts";
import type { JobPorts } from "../ports.ts";
import { type ActionResult, type ActionSubject, type Advice, type AdvisedResult, advisedResult } from "../results.ts";
import { replayNotice } from "../run-action.ts";
import type { ToolCall } from "../tool-call.ts";
import { waitWhile } from "../wait-while.ts";
import { ACTION_MS, eachOfMany, PATIENT_SECONDS, secondsLeft } from "./batch.ts";
import { offerErrors } from "./offers.ts";
import { type InputSource, type Obtained, obtain, sourcesOf, type WantedInput } from "./run-inputs.ts";
import { failedAfter, type Step, stepOf, withSteps } from "./run-steps.ts";
import { type SubmitArguments, submitOnce, submitTraits } from "./submitting.ts";

interface RunArguments extends Omit<SubmitArguments, "inputBindings"> {
  readonly inputs: readonly WantedInput[];
  readonly waitSeconds?: number | undefined;
}

const SUBMIT = "submit_job";

/** One call of run_job. */
interface Run {
  readonly args: RunArguments;
  readonly call: ToolCall;
  readonly ports: JobPorts;
  readonly startedAt: number;
  /** The actions so far. */
  readonly steps: Step[];
}

function submission({ inputs, waitSeconds, ...job }: RunArguments, inputBindings: readonly InputBinding[]) {
  return { ...job, inputBindings };
}

/**
 * The bindings of the job that this very call submitted before; undefined if it did not. Whatever has become of the inputs since, nothing
 * else is submitted instead. Throws Failure, also if the key belongs to another action.
 */
async function submittedBefore({ args, ports }: Run): Promise<readonly InputBinding[] | undefined> {
  const { inputs, waitSeconds, idempotencyKey: explicitKey, ...job } = args;
  const inputBindings = inputs.map(({ port, inputId, referenceId, inputKind = "M4_FILE" }) =>
    inputId === undefined ? { port, inputKind, referenceId } : { port, inputId },
  );
  const call = { tool: SUBMIT, arguments: { ...job, inputBindings }, traits: submitTraits, explicitKey };
  const known = await ports.actions.findKnown(call);
  return known && createMicJob.body.shape.inputBindings.parse(known.arguments["inputBindings"]);
}

/** Throws Failure where the recipe's offer shows that the service would refuse the job. */
async function refuseMisfit({ args, call, ports }: Run): Promise<void> {
  const { recipeVersionId: versionId, inputs, parameterValues } = args;
  if (!ports.offers.get(versionId)) {
    try {
      const answer = await ports.service.call(getMicExecutableRecipe, { path: { versionId } }, call.context);
      ports.offers.remember([answer.value.data]);
    } catch (error) {
      // An application that may run jobs need not be allowed to read recipes.
      if (!(error instanceof Failure) || error.facts.kind !== "forbidden") throw error;
    }
  }
  const offer = ports.offers.get(versionId);
  if (!offer) return;
  const inputBindings = inputs.map(({ port }) => ({ port, inputId: "" }));
  const errors = (await offerErrors(offer, { inputBindings, parameterValues })).map((error) => ({
    ...error,
    pointer: error.pointer.replace(/^\/inputBindings/, "/inputs"),
  }));
  if (errors.length === 0) return;
  throw invalidArguments(
    "run_job sent nothing: the job does not fit the recipe offer.",
    errors,
    "Correct the fields named above and call again; get_recipe shows the schema.",
  );
}

const isUsable = ({ input }: Obtained): boolean => input === undefined || input.state === "READY";
const isScanned = ({ input }: Obtained): boolean => input === undefined || !isInputMoving(input);

/** As the input stands when its scan is over, or the time for it. */
async function scanned(run: Run, obtained: Obtained): Promise<Obtained> {
  const { args, call, ports, startedAt } = run;
  if (isScanned(obtained)) return obtained;
  const { timing } = ports.service;
  // What follows takes time as well.
  const context = { ...call.context, deadlineAt: call.context.deadlineAt - ACTION_MS };
  const answer = await waitWhile(
    {
      read: () => ports.service.call(getMicPublicInput, { path: { inputId: obtained.inputId } }, { ...call.context }),
      version: ({ value }) => value.data.resourceVersion,
      isMoving: ({ value }) => isInputMoving(value.data),
      onRead: ({ value }) =>
        call.report({ progress: run.steps.length, message: `${obtained.port}: scan ${value.data.scanState}` }),
    },
    secondsLeft(args.waitSeconds ?? PATIENT_SECONDS, startedAt, timing),
    { ...context, timing },
  );
  return { ...obtained, input: answer.value.data };
}

/** All inputs, READY; or the one that is not. */
async function readyInputs(run: Run, sources: readonly InputSource[]): Promise<readonly Obtained[] | Obtained> {
  const { call, ports, steps } = run;
  const byPort = new Map<string, Step>();
  let obtained: readonly Obtained[];
  try {
    obtained = await eachOfMany(sources, (source) =>
      obtain(source, run.args.idempotencyKey, call, ports, (step) => {
        byPort.set(source.port, step);
        call.report({ progress: byPort.size, message: `${source.port}: ${word(step.resourceId)}` });
      }),
    );
  } finally {
    for (const { port } of sources) steps.push(...[byPort.get(port)].filter((step) => step !== undefined));
  }
  const hopeless = obtained.find((each) => !isUsable(each) && isScanned(each));
  if (hopeless) return hopeless;
  const ready: Obtained[] = [];
  for (const each of obtained) {
    const now = await scanned(run, each);
    if (!isUsable(now)) return now;
    ready.push(now);
  }
  return ready;
}

function stopAdvice({ args }: Run, port: string, input: Input): Advice {
  const { summary, nextStep } = inputAdvice(input);
  const said = `No job was submitted, because of port ${port}: ${summary}`;
  if (!isInputMoving(input)) return { summary: said, ...(nextStep && { nextStep }) };
  const again = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined));
  const why = "goes on from here; what is registered is not registered again";
  return { summary: said, nextStep: { tool: "run_job", arguments: again, why } };
}

async function stoppedAt(run: Run, { port, inputId }: Obtained): Promise<ProcedureResult<Input>> {
  const { call, ports, steps } = run;
  const answer = await ports.service.call(getMicPublicInput, { path: { inputId } }, call.context);
  const subject = { ...inputSubject, advise: (input: Input) => stopAdvice(run, port, input) };
  return withSteps(await advisedResult(answer, subject, call), steps);
}

/** As of get_job; where a person has to act, the call that waits for them is the next step of the work that was begun here. */
function runSubject(ports: JobPorts): ActionSubject<Job> {
  const subject = jobSubject(ports);
  return {
    ...subject,
    async advise(job, readAt) {
      const advice = await subject.advise(job, readAt);
      if (advice.nextStep || !waitsForPerson(job)) return advice;
      const given = { jobId: job.id, waitSeconds: PATIENT_SECONDS };
      return { ...advice, nextStep: { tool: "get_job", arguments: given, why: "waits until a person has acted" } };
    },
  };
}

/** The job as it stands when it has stopped or time is up; undefined where it is not read, or cannot be. */
async function followed(run: Run, { data, action }: ActionResult<Job>): Promise<AdvisedResult<Job> | undefined> {
  const { args, call, ports, startedAt, steps } = run;
  const { timing } = ports.service;
  const seconds = call.followsTasks ? 0 : secondsLeft(args.waitSeconds ?? PATIENT_SECONDS, startedAt, timing);
  if (seconds <= 0 && !action.replayed) return undefined;
  try {
    const answer = await waitWhile(
      {
        read: () => ports.service.call(getMicJob, { path: { jobId: data.id } }, call.context),
        version: ({ value }) => value.data.resourceVersion,
        isMoving: ({ value }) => isJobMoving(value.data),
        onRead({ value }) {
          const { progress, total, message } = jobProgress(value.data);
          call.report({ progress: steps.length + progress, total: steps.length + total, message });
        },
      },
      seconds,
      { ...call.context, timing },
    );
    return await advisedResult(answer, runSubject(ports), call);
  } catch (error) {
    // The job has been made, whatever keeps it from being read.
    if (!(error instanceof Failure) || call.context.signal.aborted) throw error;
    return undefined;
  }
}

async function submitted(run: Run, bindings: readonly InputBinding[]): Promise<ProcedureResult<Job>> {
  const { args, call, ports, steps } = run;
  const submit = { ...call, tool: SUBMIT } as const;
  const made = await submitOnce(submission(args, bindings), submit, ports, { readsReplay: false });
  steps.push(stepOf(SUBMIT, made));
  call.report({ progress: steps.length, message: `submitted ${word(made.data.id)}` });
  const now = await followed(run, made);
  const { replay } = made;
  const mayRunAgain = runSubject(ports).mayRunAgain?.(now?.data ?? made.data) ?? true;
  const notice = replay ? replayNotice(replay, now && stateInWords(now.data), mayRunAgain) : made.notice;
  const shown = now ? withSteps(now, steps, notice) : withSteps(made, steps);
  return { ...shown, ...(replay && { isReplay: true }), job: { ...made, advice: shown.advice, data: shown.data } };
}

const byPort = (one: InputBinding, other: InputBinding): number => (one.port < other.port ? -1 : 1);

async function runSteps(run: Run): Promise<ProcedureResult<Job> | ProcedureResult<Input>> {
  const { args, ports } = run;
  const before = await submittedBefore(run);
  if (before) return await submitted(run, before);
  await refuseMisfit(run);
  const inputs = await readyInputs(run, await sourcesOf(args.inputs, args.workspaceId, ports));
  if ("port" in inputs) return await stoppedAt(run, inputs);
  // In whatever order they are named, it is the same job.
  const bindings = inputs.map(({ port, inputId }) => ({ port, inputId })).sort(byPort);
  return await submitted(run, bindings);
}

export async function runJob(
  args: RunArguments,
  call: ToolCall,
  ports: JobPorts,
): Promise<ProcedureResult<Job> | ProcedureResult<Input>> {
  const run: Run = { args, call, ports, startedAt: ports.service.timing.now(), steps: [] };
  try {
    return await runSteps(run);
  } catch (error) {
    throw error instanceof Failure ? failedAfter(run.steps, error) : error;
  }
}
