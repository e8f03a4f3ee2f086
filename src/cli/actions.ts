// `mic-mcp actions`: the action journal as a table, and the commands that resolve what is unresolved.
import { parseArgs } from "node:util";
import { type ListedAction, listSummary, stateText } from "../actions/listing.ts";
import { UsageError } from "../config.ts";
import { Failure } from "../failure.ts";
import { failureText } from "../mcp/tools/failure-text.ts";
import { escaped } from "../outside.ts";
import { table } from "../table.ts";
import { shellWord } from "./call/line.ts";
import { forUser } from "./command-line/for-user.ts";
import { COMMANDS } from "./commands.ts";
import { withCatalogue } from "./person.ts";
import { aligned, isTerminal, styled } from "./terminal.ts";

const LIMIT = 20;
const STATES = COMMANDS.actions.flags.state.oneOf;
type State = (typeof STATES)[number];

/** Throws UsageError. */
function stateOf(text: string | undefined): State | undefined {
  const state = STATES.find((each) => each === text);
  if (text !== undefined && state === undefined) throw new UsageError(`--state takes ${STATES.join(", ")}.`);
  return state;
}

const COLUMNS = ["state", "tool", "about", "made", "code", "attempts", "updatedAt", "idempotencyKey"];

const rowOf = (action: ListedAction) => [
  stateText(action),
  action.tool,
  action.about,
  action.resourceId ?? "",
  action.code ?? "",
  action.attempts,
  action.updatedAt,
  action.idempotencyKey,
];

const resolving = ({ nextStep, idempotencyKey }: ListedAction): readonly string[] =>
  nextStep === undefined ? [] : [`${escaped(`mic-mcp resolve ${shellWord(idempotencyKey)}`)}    # ${nextStep.why}`];

/** Exit code 1 where the journal cannot be read. Throws UsageError. */
export async function actions(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: COMMANDS.actions.flags });
  const state = stateOf(values.state);
  return await withCatalogue(environment, async ({ runtime }) => {
    const { redact } = runtime.redactor;
    const { stdout, stderr } = process;
    try {
      const list = await runtime.ports.actions.list({ state, limit: LIMIT });
      const { actions: found } = list;
      if (found.length === 0) {
        stderr.write(`No action${state === undefined ? "" : ` is ${state}`}.\n`);
        return 0;
      }
      const rows = table(COLUMNS, found.map(rowOf));
      const shown = isTerminal(stdout) ? aligned(rows) : rows;
      const steps = found.flatMap(resolving);
      const advice = steps.length === 0 ? [] : [styled("bold", "To resolve them:", stdout), ...steps];
      stdout.write(`${redact([listSummary(list, state), shown, ...advice].join("\n"))}\n`);
      return 0;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      stderr.write(`${redact(failureText("actions", forUser(error.facts)))}\n`);
      return 1;
    }
  });
}
