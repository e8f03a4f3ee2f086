// Implements `mic-mcp actions`, which prints the action journal as a table, and `mic-mcp resolve`, which resolves its unresolved actions.
import { parseArgs } from "node:util";
import { type ActionStatus, formatState, type ListedAction, summarizeList } from "../actions/listing.ts";
import { UsageError } from "../core/config.ts";
import { Failure } from "../core/failure.ts";
import { formatTable } from "../core/table.ts";
import { escapeJson, escapeText, formatToken } from "../core/untrusted-text.ts";
import { factsOf } from "../mcp/tools/failure-text.ts";
import { type ResolutionMethod, resolutionMethodOf } from "../toolkit/jobs/resolving.ts";
import { type CommandContext, withRuntime } from "./backend.ts";
import { type OutputFormat, parseOutputFormat, runToolCall, writeFailure } from "./call.ts";
import { COMMANDS } from "./commands.ts";
import { alignColumns, applyStyle, isTerminal } from "./terminal.ts";
import { quoteForShell } from "./tool-arguments.ts";

const LIMIT = 20;
const STATES = COMMANDS.actions.flags.state.oneOf;
const COLUMNS = ["state", "tool", "about", "made", "code", "attempts", "updatedAt", "idempotencyKey"];

const toCells = (action: ListedAction) => [
  formatState(action),
  action.tool,
  action.about,
  action.resourceId ?? "",
  action.code ?? "",
  action.attempts,
  action.updatedAt,
  action.idempotencyKey,
];

const resolveCommandLines = ({ nextStep, idempotencyKey }: ListedAction): readonly string[] =>
  nextStep === undefined
    ? []
    : [`${escapeText(`mic-mcp resolve ${quoteForShell(idempotencyKey)}`)}    # ${nextStep.why}`];

/** Prints the latest actions (at most 20). Returns exit code 0, or 1 if the journal cannot be read. Throws UsageError. */
export async function actions(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: COMMANDS.actions.flags });
  const state = STATES.find((each) => each === values.state);
  if (values.state !== undefined && state === undefined)
    throw new UsageError(`--state must be one of ${STATES.join(", ")}.`);
  return await withRuntime(environment, async ({ runtime }) => {
    const { redact } = runtime.redactor;
    const { stdout, stderr } = process;
    try {
      const list = await runtime.ports.actions.list({ state, limit: LIMIT });
      if (list.actions.length === 0) {
        stderr.write(`No actions${state === undefined ? "" : ` with state ${state}`}.\n`);
        return 0;
      }
      const rows = formatTable(COLUMNS, list.actions.map(toCells));
      const shown = isTerminal(stdout) ? alignColumns(rows) : rows;
      const steps = list.actions.flatMap(resolveCommandLines);
      const advice = steps.length === 0 ? [] : [applyStyle("bold", "To resolve them:", stdout), ...steps];
      stdout.write(`${redact([summarizeList(list, state), shown, ...advice].join("\n"))}\n`);
      return 0;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return await writeFailure("actions", error.facts, "text", redact);
    }
  });
}

const TOOL = "resolve_actions";

const STEPS: Readonly<Record<ResolutionMethod, string>> = {
  send: "send again under its key",
  read: "read the job instead",
  wait: "none: in progress",
  skip: "none: an identical action succeeded later",
  none: "none: too old to be sent again",
};

const toStepRow = (action: ActionStatus) => ({
  tool: action.tool,
  about: action.about,
  firstSent: new Date(action.firstSentAt).toISOString(),
  idempotencyKey: action.idempotencyKey,
  step: STEPS[resolutionMethodOf(action)],
});

const formatStep = ({ tool, about, firstSent, idempotencyKey, step }: ReturnType<typeof toStepRow>): string =>
  `${formatToken(tool)} ${formatToken(about)}, first sent ${firstSent}, idempotencyKey ${formatToken(idempotencyKey)}: ${step}`;

async function writeSteps(key: string | undefined, output: OutputFormat, { runtime }: CommandContext): Promise<number> {
  const { redact } = runtime.redactor;
  try {
    const all = await runtime.ports.actions.listUnresolved();
    const steps = all.filter(({ idempotencyKey }) => key === undefined || idempotencyKey === key).map(toStepRow);
    const text = steps.length === 0 ? "No actions are unresolved." : steps.map(formatStep).join("\n");
    const shown = output === "json" ? escapeJson(redact(JSON.stringify({ actions: steps }))) : redact(text);
    process.stdout.write(`${shown}\n`);
    return 0;
  } catch (error) {
    return await writeFailure(TOOL, factsOf(error), output, redact);
  }
}

/** Calls resolve_actions, or with --dry-run lists the steps that it would take. Returns the exit code of the call. Throws UsageError. */
export async function resolve(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { flags } = COMMANDS.resolve;
  const { values, positionals } = parseArgs({ args: [...args], options: flags, allowPositionals: true });
  const [key, ...others] = positionals;
  if (others.length > 0) throw new UsageError("mic-mcp resolve accepts at most one KEY.");
  const output = parseOutputFormat(values.output);
  const pairs = key === undefined ? [] : [`idempotencyKey=${key}`];
  const options = { name: TOOL, pairs, json: undefined, output, isConfirmed: values.yes ?? false };
  return await withRuntime(environment, async (context) =>
    values["dry-run"] ? await writeSteps(key, output, context) : await runToolCall(options, context),
  );
}
