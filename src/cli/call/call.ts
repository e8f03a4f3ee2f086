// `mic-mcp call`: one tool, called in this process through journal and keys as an agent's call is.
import { parseArgs } from "node:util";
import { tools } from "../../../tools/index.ts";
import { readConfig, UsageError } from "../../config.ts";
import { Failure, type FailureFacts } from "../../failure.ts";
import { completeArguments } from "../../mcp/tools/call.ts";
import { factsOf, failureText } from "../../mcp/tools/failure-text.ts";
import { offeredTools, toldTools, whyNotOffered } from "../../mcp/tools/offered-tools.ts";
import { toolCall } from "../../mcp/tools/tool-call.ts";
import { escaped, escapedJson } from "../../outside.ts";
import { CALL_LIMIT_MS } from "../../service/attempts.ts";
import type { Tool } from "../../toolkit/define-tool.ts";
import { didYouMean } from "../command-line/nearest.ts";
import { COMMANDS } from "../commands.ts";
import { type AtWork, withCatalogue } from "../person.ts";
import { createProgress } from "../progress.ts";
import { aligned, isTerminal } from "../terminal.ts";
import { seekConsent } from "./consent.ts";
import { listingText, toolText } from "./listing.ts";
import { jsonArguments, typedArguments } from "./values.ts";

export type Output = "text" | "json";

/** Nothing was sent: an identical call ran before. */
const REPLAY_EXIT_CODE = 3;

/** Throws UsageError. */
export function outputOf(text = "text"): Output {
  if (text !== "text" && text !== "json") throw new UsageError("--output takes text or json.");
  return text;
}

/** Of the tools that are there, the one of this name that is offered here. Throws UsageError. */
function named<T extends Pick<Tool, "name" | "toolset" | "isWrite" | "view">>(
  name: string,
  all: readonly T[],
  config: ReturnType<typeof readConfig>,
): T {
  const offered = offeredTools(all, config);
  const tool = offered.find((each) => each.name === name);
  if (tool) return tool;
  const hidden = all.find((each) => each.name === name);
  if (hidden) throw new UsageError(`${name} is not offered: ${whyNotOffered(hidden, config)}.`);
  const like = didYouMean(
    name,
    offered.map((each) => each.name),
  );
  throw new UsageError(`There is no tool ${JSON.stringify(name)}.${like} mic-mcp call lists them.`);
}

/** Throws UsageError. */
export async function helpOfTool(name: string, environment: NodeJS.ProcessEnv): Promise<string> {
  const config = readConfig(environment);
  return toolText(named(name, tools, config), config.workspaceId !== undefined);
}

/** Resolves when the text is written, or when the reader has closed the stream. */
const write = (stream: NodeJS.WriteStream, text: string): Promise<void> =>
  new Promise((resolve) => stream.write(`${text}\n`, () => resolve()));

/** Writes to stderr for the user, and to stdout for a program. Returns the exit code. */
export async function tellFailure(tool: string, facts: FailureFacts, output: Output, redact: (text: string) => string) {
  const { stdout, stderr } = process;
  await write(stderr, redact(failureText(tool, facts)));
  if (output === "json") await write(stdout, escapedJson(redact(JSON.stringify({ error: facts }))));
  return facts.kind === "invalid_arguments" ? 2 : 1;
}

async function tellResult(
  { text, structured, drift, isReplay = false }: Awaited<ReturnType<Tool["invoke"]>>,
  output: Output,
  redact: (text: string) => string,
): Promise<number> {
  const { stdout, stderr } = process;
  if (drift.length > 0)
    stderr.write(`${escaped(redact(`Fields that the contract does not know: ${drift.join(", ")}`))}\n`);
  const onTerminal = isTerminal(stdout);
  const shown =
    output === "json"
      ? escapedJson(redact(JSON.stringify(structured, null, onTerminal ? 2 : 0)))
      : redact(onTerminal ? aligned(text) : text);
  await write(stdout, shown);
  return isReplay ? REPLAY_EXIT_CODE : 0;
}

const stoppedFacts: FailureFacts = {
  kind: "cancelled",
  message: "The call was stopped.",
  retryable: true,
  sideEffect: "none",
};

interface Wish {
  readonly name: string;
  readonly pairs: readonly string[];
  readonly json: string | undefined;
  readonly output: Output;
  readonly isAgreed: boolean;
}

/** Calls one tool and writes its result. Returns the exit code. Throws UsageError. */
export async function perform(
  { name, pairs, json, output, isAgreed }: Wish,
  { runtime, signal }: AtWork,
): Promise<number> {
  const tool = named(name, runtime.tools, runtime.config);
  const typed = { ...jsonArguments(json), ...typedArguments(pairs, tool.inputSchema()) };
  const { redact } = runtime.redactor;
  const progress = createProgress(process.stderr);
  try {
    const args = await completeArguments(tool, typed, runtime);
    const asking = toolCall(runtime, tool.name, { signal, deadlineAt: Date.now() + CALL_LIMIT_MS });
    const consent = await seekConsent(tool, args, isAgreed, asking, runtime);
    const limits = { signal, deadlineAt: Date.now() + CALL_LIMIT_MS };
    const result = await tool.invoke(
      args,
      toolCall(runtime, tool.name, limits, {
        ...consent,
        report: ({ message, ...rest }) => progress.report({ ...rest, message: escaped(redact(message)) }),
      }),
    );
    progress.end();
    return await tellResult(result, output, redact);
  } catch (error) {
    progress.end();
    const facts = signal.aborted && !(error instanceof Failure) ? stoppedFacts : factsOf(error);
    return await tellFailure(tool.name, facts, output, redact);
  }
}

/** Exit code 0, 1 if the tool failed, 2 for wrong arguments, 3 for a replay. Throws UsageError. */
export async function call(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = parseArgs({ args: [...args], options: COMMANDS.call.flags, allowPositionals: true });
  const [name, ...pairs] = positionals;
  const output = outputOf(values.output);
  if (name === undefined) {
    const config = readConfig(environment);
    // No terminal shows views: mic-mcp show is for them.
    process.stdout.write(`${listingText(toldTools(offeredTools(tools, config), { apps: "never" }, undefined))}\n`);
    return 0;
  }
  const wish = { name, pairs, json: values.json, output, isAgreed: values.yes ?? false };
  return await withCatalogue(environment, async (at) => await perform(wish, at));
}
