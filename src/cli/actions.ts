// Implements `mic-mcp actions`, which prints the action journal as a table, and `mic-mcp resolve`, which resolves its unresolved actions.
import { type ActionStatus, formatState, type ListedAction, summarizeList } from "../actions/listing.ts";
import { UsageError } from "../core/config.ts";
import { formatTable } from "../core/table.ts";
import { render } from "../core/text.ts";
import { formatToken } from "../core/untrusted-text.ts";
import { NOTHING_UNRESOLVED, type ResolutionMethod, resolutionMethodOf } from "../toolkit/jobs/resolving.ts";
import { type CommandContext, withRuntime, writeJson } from "./backend.ts";
import { runToolCall } from "./call.ts";
import { COMMANDS, type RunCommand } from "./commands.ts";
import { parseChoice } from "./errors.ts";
import { formatTables } from "./tables.ts";
import { applyStyle } from "./terminal.ts";
import { formatCallCommand, PERSON } from "./terminal-reader.ts";

const LIMIT = 20;
const STATES = COMMANDS.actions.choices.state;
const COLUMNS = ["state", "tool", "targetId", "createdId", "code", "timesSent", "updatedAt", "idempotencyKey"];

const toCells = (action: ListedAction) => [
  formatState(action),
  action.tool,
  action.targetId,
  action.createdId ?? "",
  action.code ?? "",
  action.timesSent,
  action.updatedAt,
  action.idempotencyKey,
];

const resolveCommandLines = ({ nextStep }: ListedAction, flags: readonly string[]): readonly string[] =>
  nextStep === undefined ? [] : [`${formatCallCommand(nextStep.tool, nextStep.arguments, flags)}    # ${nextStep.why}`];

export const actions: RunCommand<"actions"> = async ({ values }, environment) => {
  const state = values.state === undefined ? undefined : parseChoice("--state", values.state, STATES);
  return await withRuntime("actions", environment, values, async (context) => {
    const { runtime, flags, isJson } = context;
    const { redact } = runtime.redactor;
    const { stdout, stderr } = process;
    const list = await runtime.ports.actions.list({ state, limit: LIMIT });
    const others = await runtime.ports.actions.countOfOtherClients();
    const summary = render(summarizeList(list, state, others), PERSON);
    if (isJson) {
      await writeJson({ summary, ...list }, context);
      return 0;
    }
    if (list.actions.length === 0 && others === 0) {
      stderr.write(`No actions${state === undefined ? "" : ` with state ${state}`}.\n`);
      return 0;
    }
    const rows = list.actions.map(toCells);
    const shown = rows.length === 0 ? [] : [formatTables(redact(formatTable(COLUMNS, rows)), stdout)];
    const steps = list.actions.flatMap((action) => resolveCommandLines(action, flags));
    const advice = steps.length === 0 ? [] : [applyStyle("bold", "To resolve them:", stdout), ...steps];
    stdout.write(`${redact([summary, ...shown, ...advice].join("\n"))}\n`);
    return 0;
  });
};

const TOOL = "resolve_actions";

const STEPS: Readonly<Record<ResolutionMethod, string>> = {
  send: "send again under its key",
  read: "read the job instead",
  wait: "none: in progress",
  none: "none: too old to be sent again",
};

const toStepRow = (action: ActionStatus) => ({
  tool: action.tool,
  targetId: action.targetId,
  firstSent: new Date(action.firstSentAt).toISOString(),
  idempotencyKey: action.idempotencyKey,
  step: STEPS[resolutionMethodOf(action)],
});

const formatStep = ({ tool, targetId, firstSent, idempotencyKey, step }: ReturnType<typeof toStepRow>): string =>
  `${formatToken(tool)} ${formatToken(targetId)}, first sent ${firstSent}, idempotencyKey ${formatToken(idempotencyKey)}: ${step}`;

async function writeSteps(key: string | undefined, context: CommandContext): Promise<number> {
  const { runtime, isJson } = context;
  const all = await runtime.ports.actions.listUnresolved();
  const steps = all.filter(({ idempotencyKey }) => key === undefined || idempotencyKey === key).map(toStepRow);
  const text = steps.length === 0 ? render(NOTHING_UNRESOLVED, PERSON) : steps.map(formatStep).join("\n");
  if (isJson) await writeJson({ actions: steps }, context);
  else process.stdout.write(`${runtime.redactor.redact(text)}\n`);
  return 0;
}

export const resolve: RunCommand<"resolve"> = async ({ values, positionals }, environment) => {
  const [key, ...others] = positionals;
  if (others.length > 0) throw new UsageError("mic-mcp resolve accepts at most one KEY.");
  const words = key === undefined ? [] : [`idempotencyKey=${key}`];
  const options = { name: TOOL, words, isConfirmed: values.yes ?? false };
  return await withRuntime(TOOL, environment, values, async (context) =>
    values["dry-run"] ? await writeSteps(key, context) : await runToolCall(options, context),
  );
};
