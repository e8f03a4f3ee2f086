// `mic-mcp resolve`: calls resolve_actions, or lists what it would do.
import { parseArgs } from "node:util";
import type { StandingAction } from "../actions/listing.ts";
import { UsageError } from "../config.ts";
import { factsOf } from "../mcp/tools/failure-text.ts";
import { escapedJson, word } from "../outside.ts";
import { type ResolvingStep, resolvingStep } from "../toolkit/jobs/resolving.ts";
import { type Output, outputOf, perform, tellFailure } from "./call/call.ts";
import { COMMANDS } from "./commands.ts";
import { type AtWork, withCatalogue } from "./person.ts";

const TOOL = "resolve_actions";

const STEPS: Readonly<Record<ResolvingStep, string>> = {
  send: "send again under its key",
  read: "read the job",
  wait: "none: in progress",
  skip: "none: an identical action succeeded later",
  none: "none: too old to be sent again",
};

const lineOf = ({ tool, about, firstSent, idempotencyKey, step }: ReturnType<typeof rowOf>): string =>
  `${word(tool)} ${word(about)}, first sent ${firstSent}, idempotencyKey ${word(idempotencyKey)}: ${step}`;

const rowOf = (action: StandingAction) => ({
  tool: action.tool,
  about: action.about,
  firstSent: new Date(action.firstSentAt).toISOString(),
  idempotencyKey: action.idempotencyKey,
  step: STEPS[resolvingStep(action)],
});

async function listSteps(key: string | undefined, output: Output, { runtime }: AtWork): Promise<number> {
  const { redact } = runtime.redactor;
  const { stdout } = process;
  try {
    const all = await runtime.ports.actions.unresolved();
    const actions = all.filter(({ idempotencyKey }) => key === undefined || idempotencyKey === key).map(rowOf);
    const text = actions.length === 0 ? "No action is unresolved." : actions.map(lineOf).join("\n");
    stdout.write(`${output === "json" ? escapedJson(redact(JSON.stringify({ actions }))) : redact(text)}\n`);
    return 0;
  } catch (error) {
    return await tellFailure(TOOL, factsOf(error), output, redact);
  }
}

/** Exit code 0, 1 if the tool failed. Throws UsageError. */
export async function resolve(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { flags } = COMMANDS.resolve;
  const { values, positionals } = parseArgs({ args: [...args], options: flags, allowPositionals: true });
  const [key, ...others] = positionals;
  if (others.length > 0) throw new UsageError("resolve takes one KEY at most.");
  const output = outputOf(values.output);
  const pairs = key === undefined ? [] : [`idempotencyKey=${key}`];
  const wish = { name: TOOL, pairs, json: undefined, output, isAgreed: values.yes ?? false };
  return await withCatalogue(environment, async (at) =>
    values["dry-run"] ? await listSteps(key, output, at) : await perform(wish, at),
  );
}
