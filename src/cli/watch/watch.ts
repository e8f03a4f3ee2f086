// `mic-mcp watch JOB`: a job's way through its stages, on a terminal or as lines, until it has ended.
import { parseArgs } from "node:util";
import { UsageError } from "../../config.ts";
import { getMicJob } from "../../contract/endpoints/job-processing.ts";
import type { Job } from "../../contract/jobs.ts";
import type { Failure } from "../../failure.ts";
import { factsOf, failureText } from "../../mcp/tools/failure-text.ts";
import { escaped, json } from "../../outside.ts";
import { jobSubject } from "../../toolkit/advice/job.ts";
import { callLine } from "../call/line.ts";
import { COMMANDS } from "../commands.ts";
import { type AtWork, withCatalogue } from "../person.ts";
import { isTerminal } from "../terminal.ts";
import { followJob, type Listener } from "./follow.ts";
import { createPlainLines, stagesShown } from "./stages.ts";

interface Screen extends Listener {
  end(): Promise<void>;
}

const troubleText = ({ facts }: Failure): string => `${escaped(facts.message)} Trying again.\n`;

/** A stage's line is not to be broken: it is drawn anew. */
const MIN_COLUMNS = 40;

async function createScreen(redact: (text: string) => string): Promise<Screen> {
  const { stdout, stderr } = process;
  const onTrouble = (failure: Failure) => void stderr.write(redact(troubleText(failure)));
  if (isTerminal(stdout) && stdout.columns >= MIN_COLUMNS) {
    const { createStagesView } = await import("./stages-view.ts");
    const view = createStagesView(stagesShown(undefined));
    return { onJob: (job) => view.show(stagesShown(job)), onTrouble, end: view.end };
  }
  const lineOf = createPlainLines();
  return { onJob: (job) => void stdout.write(lineOf(job)), onTrouble, end: async () => undefined };
}

async function follow(jobId: string, { runtime, signal }: AtWork): Promise<number> {
  const { ports, redactor } = runtime;
  const { redact } = redactor;
  const screen = await createScreen(redact);
  let job: Job;
  try {
    job = await followJob(jobId, { service: ports.service, signal }, screen);
    await screen.end();
  } catch (error) {
    await screen.end();
    const told = signal.aborted
      ? `No longer watched; the job goes on. mic-mcp watch ${escaped(jobId)} follows it again.`
      : failureText("watch", factsOf(error));
    process.stderr.write(`${redact(told)}\n`);
    return 1;
  }
  const { summary, nextStep } = await jobSubject(ports).advise(job, ports.service.timing.now());
  process.stdout.write(`${redact(summary)}\n`);
  if (nextStep) process.stderr.write(`${redact(callLine(nextStep.tool, nextStep.arguments))}    # ${nextStep.why}\n`);
  return job.state === "SUCCEEDED" ? 0 : 1;
}

/** Exit code 0 only where the job SUCCEEDED. Throws UsageError. */
export async function watch(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { positionals } = parseArgs({ args: [...args], options: COMMANDS.watch.flags, allowPositionals: true });
  const [jobId, ...more] = positionals;
  if (jobId === undefined || more.length > 0) throw new UsageError("mic-mcp watch takes one job id.");
  const { success, error } = getMicJob.pathParameters.safeParse({ jobId });
  if (!success) throw new UsageError(`${json(jobId)} is no job id: ${error.issues[0]?.message}.`);
  return await withCatalogue(environment, async (at) => await follow(jobId, at));
}
