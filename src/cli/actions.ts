// Implements `mic-mcp actions`, which prints the action journal as a table, and `mic-mcp resolve`, which resolves its unresolved actions.
import { parseArgs } from "node:util";
import { type ActionStatus, formatState, type ListedAction, summarizeList } from "../actions/listing.ts";
import { UsageError } from "../core/config.ts";
import { Failure } from "../core/failure.ts";
import { formatTable } from "../core/table.ts";
import { formatToken } from "../core/untrusted-text.ts";
import { factsOf } from "../mcp/tools/failure-text.ts";
import { type ResolutionMethod, resolutionMethodOf } from "../toolkit/jobs/resolving.ts";
import { type CommandContext, withRuntime } from "./backend.ts";
import { runToolCall, writeFailure, writeJson } from "./call.ts";
import { COMMANDS } from "./commands.ts";
import { parseChoice } from "./errors.ts";
import { alignColumns, applyStyle, isTerminal } from "./terminal.ts";
import { formatCallCommand } from "./tool-arguments.ts";

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

const resolveCommandLines = ({ nextStep }: ListedAction, flags: readonly string[]): readonly string[] =>
  nextStep === undefined ? [] : [`${formatCallCommand(nextStep.tool, nextStep.arguments, flags)}    # ${nextStep.why}`];

/** Prints the latest actions (at most 20). Returns exit code 0, or 1 if the journal cannot be read. Throws UsageError. */
export async function actions(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: COMMANDS.actions.flags });
  const state = values.state === undefined ? undefined : parseChoice("--state", values.state, STATES);
  const isJson = values.json ?? false;
  return await withRuntime(environment, values, async (context) => {
    const { runtime, flags } = context;
    const { redact } = runtime.redactor;
    const { stdout, stderr } = process;
    try {
      const list = await runtime.ports.actions.list({ state, limit: LIMIT });
      if (isJson) {
        await writeJson({ summary: summarizeList(list, state), ...list }, context);
        return 0;
      }
      if (list.actions.length === 0) {
        stderr.write(`No actions${state === undefined ? "" : ` with state ${state}`}.\n`);
        return 0;
      }
      const rows = formatTable(COLUMNS, list.actions.map(toCells));
      const shown = isTerminal(stdout) ? alignColumns(rows) : rows;
      const steps = list.actions.flatMap((action) => resolveCommandLines(action, flags));
      const advice = steps.length === 0 ? [] : [applyStyle("bold", "To resolve them:", stdout), ...steps];
      stdout.write(`${redact([summarizeList(list, state), shown, ...advice].join("\n"))}\n`);
      return 0;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return await writeFailure("actions", error.facts, isJson, context);
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

async function writeSteps(key: string | undefined, isJson: boolean, context: CommandContext): Promise<number> {
  const { runtime } = context;
  try {
    const all = await runtime.ports.actions.listUnresolved();
    const steps = all.filter(({ idempotencyKey }) => key === undefined || idempotencyKey === key).map(toStepRow);
    const text = steps.length === 0 ? "No actions are unresolved." : steps.map(formatStep).join("\n");
    if (isJson) await writeJson({ actions: steps }, context);
    else process.stdout.write(`${runtime.redactor.redact(text)}\n`);
    return 0;
  } catch (error) {
    return await writeFailure(TOOL, factsOf(error), isJson, context);
  }
}

/** Calls resolve_actions, or with --dry-run lists the steps that it would take. Returns the exit code of the call. Throws UsageError. */
export async function resolve(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { flags } = COMMANDS.resolve;
  const { values, positionals } = parseArgs({ args: [...args], options: flags, allowPositionals: true });
  const [key, ...others] = positionals;
  if (others.length > 0) throw new UsageError("mic-mcp resolve accepts at most one KEY.");
  const isJson = values.json ?? false;
  const words = key === undefined ? [] : [`idempotencyKey=${key}`];
  const options = { name: TOOL, words, isJson, isConfirmed: values.yes ?? false };
  return await withRuntime(environment, values, async (context) =>
    values["dry-run"] ? await writeSteps(key, isJson, context) : await runToolCall(options, context),
  );
}
