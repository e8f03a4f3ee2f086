// Implements `mic-mcp call`, which calls one tool in this process with the same journal and keys as an agent's call.
import { parseArgs } from "node:util";
import { tools } from "../../tools/index.ts";
import type { Arguments } from "../actions/fingerprint.ts";
import { CALL_LIMIT_MS } from "../api-client/attempts.ts";
import { type Config, readConfig, UsageError } from "../core/config.ts";
import { Failure, type FailureFacts } from "../core/failure.ts";
import { escapeJson, escapeText } from "../core/untrusted-text.ts";
import type { Runtime } from "../mcp/runtime.ts";
import { completeArguments } from "../mcp/tools/call.ts";
import { factsOf, failureText } from "../mcp/tools/failure-text.ts";
import { filterVisibleTools, type OfferableTool, offeredTools, reasonNotOffered } from "../mcp/tools/offered-tools.ts";
import { createToolCall } from "../mcp/tools/tool-call.ts";
import type { Tool } from "../toolkit/define-tool.ts";
import type { ToolCall } from "../toolkit/tool-call.ts";
import { type CommandContext, withRuntime } from "./backend.ts";
import { COMMANDS } from "./commands.ts";
import { didYouMean, rephraseFailureForUser } from "./errors.ts";
import { isInteractive, openPrompter } from "./prompt.ts";
import { alignColumns, createProgressDisplay, isTerminal } from "./terminal.ts";
import { formatToolHelp, formatToolList, parseArgumentPairs, parseJsonArguments } from "./tool-arguments.ts";

export type OutputFormat = "text" | "json";

/** Returned if an identical call ran before, so that the action was not sent again. */
const REPLAY_EXIT_CODE = 3;

/** Throws UsageError. */
export function parseOutputFormat(text = "text"): OutputFormat {
  if (text !== "text" && text !== "json") throw new UsageError("--output must be text or json.");
  return text;
}

/** Returns the offered tool with this name. Throws UsageError. */
function findOfferedTool<T extends OfferableTool>(name: string, all: readonly T[], config: Config): T {
  const offered = offeredTools(all, config);
  const tool = offered.find((each) => each.name === name);
  if (tool) return tool;
  const hidden = all.find((each) => each.name === name);
  if (hidden) throw new UsageError(`${name} is not offered: ${reasonNotOffered(hidden, config)}.`);
  const names = offered.map((each) => each.name);
  throw new UsageError(
    `${JSON.stringify(name)} is not a tool.${didYouMean(name, names)} Run mic-mcp call to list the tools.`,
  );
}

/** Returns the help text of an offered tool. Throws UsageError. */
export async function formatHelpOfTool(name: string, environment: NodeJS.ProcessEnv): Promise<string> {
  const config = readConfig(environment);
  return formatToolHelp(findOfferedTool(name, tools, config), config.workspaceId !== undefined);
}

/** Resolves when the text is written, or when the reader has closed the stream. */
const writeLine = (stream: NodeJS.WriteStream, text: string): Promise<void> =>
  new Promise((resolve) => stream.write(`${text}\n`, () => resolve()));

type Redact = (text: string) => string;

/** Writes a failure to stderr, and with --output json also to stdout. Returns exit code 2 for invalid arguments, else 1. */
export async function writeFailure(
  tool: string,
  facts: FailureFacts,
  output: OutputFormat,
  redact: Redact,
): Promise<number> {
  const shown = rephraseFailureForUser(facts);
  await writeLine(process.stderr, redact(failureText(tool, shown)));
  if (output === "json") await writeLine(process.stdout, escapeJson(redact(JSON.stringify({ error: shown }))));
  return facts.kind === "invalid_arguments" ? 2 : 1;
}

async function writeResult(
  { text, structured, drift, isReplay = false }: Awaited<ReturnType<Tool["invoke"]>>,
  output: OutputFormat,
  redact: Redact,
): Promise<number> {
  const { stdout, stderr } = process;
  if (drift.length > 0)
    stderr.write(`${escapeText(redact(`Fields that the contract does not define: ${drift.join(", ")}`))}\n`);
  const onTerminal = isTerminal(stdout);
  const shown =
    output === "json"
      ? escapeJson(redact(JSON.stringify(structured, null, onTerminal ? 2 : 0)))
      : redact(onTerminal ? alignColumns(text) : text);
  await writeLine(stdout, shown);
  return isReplay ? REPLAY_EXIT_CODE : 0;
}

const createNotConfirmedFailure = (message: string, next: string): Failure =>
  new Failure({ kind: "cancelled", message, retryable: false, sideEffect: "none", next });

async function askYesOrNo(question: string): Promise<boolean> {
  const prompter = openPrompter();
  try {
    return /^y(es)?$/i.test(await prompter.ask(`${question}\nType yes to continue: `));
  } catch {
    return false;
  } finally {
    prompter.close();
  }
}

/**
 * Asks the user before a call that discards something, as an agent's client would. Actions that are already in the journal were confirmed
 * before. Throws Failure.
 */
async function confirmCall(tool: Tool, args: Arguments, call: ToolCall, { config, ports }: Runtime) {
  const question = config.confirm === "never" ? undefined : tool.confirmationFor(args);
  if (!question) return {};
  if (question.actions) {
    const known = await Promise.all(question.actions.map((action) => ports.actions.findExisting(action)));
    if (known.every(Boolean)) return {};
  }
  const prepared = await question.prepare(call);
  if (!prepared) return {};
  if (!isInteractive())
    throw createNotConfirmedFailure(
      `${tool.name} discards data or work and needs confirmation, but stdin is not a terminal. Nothing was sent.`,
      "Add --yes to confirm.",
    );
  if (!(await askYesOrNo(prepared.text)))
    throw createNotConfirmedFailure("The call was not confirmed. Nothing was sent.", "Type yes, or add --yes.");
  // The job version that the question described.
  return { proposedKey: question.idempotencyKey, shownVersion: prepared.resourceVersion };
}

const STOPPED_FACTS: FailureFacts = {
  kind: "cancelled",
  message: "The call was cancelled.",
  retryable: true,
  sideEffect: "none",
};

interface CallOptions {
  readonly name: string;
  readonly pairs: readonly string[];
  readonly json: string | undefined;
  readonly output: OutputFormat;
  /** True if --yes was given. */
  readonly isConfirmed: boolean;
}

/** Calls one tool and writes its result. Returns the exit code. Throws UsageError. */
export async function runToolCall(
  { name, pairs, json, output, isConfirmed }: CallOptions,
  { runtime, signal }: CommandContext,
): Promise<number> {
  const tool = findOfferedTool(name, runtime.tools, runtime.config);
  const typed = { ...parseJsonArguments(json), ...parseArgumentPairs(pairs, tool.inputSchema()) };
  const { redact } = runtime.redactor;
  const progress = createProgressDisplay(process.stderr);
  const limits = () => ({ signal, deadlineAt: Date.now() + CALL_LIMIT_MS });
  try {
    const { args, workspaceId } = await completeArguments(tool, typed, runtime);
    const confirmed = isConfirmed
      ? {}
      : await confirmCall(tool, args, createToolCall(runtime, tool.name, limits()), runtime);
    const result = await tool.invoke(
      args,
      createToolCall(runtime, tool.name, limits(), {
        workspaceId,
        ...confirmed,
        report: ({ message, ...rest }) => progress.report({ ...rest, message: escapeText(redact(message)) }),
      }),
    );
    progress.end();
    return await writeResult(result, output, redact);
  } catch (error) {
    progress.end();
    const facts = signal.aborted && !(error instanceof Failure) ? STOPPED_FACTS : factsOf(error);
    return await writeFailure(tool.name, facts, output, redact);
  }
}

/** Returns exit code 0, 1 if the tool failed, 2 for invalid arguments, or 3 for a replay. Throws UsageError. */
export async function call(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = parseArgs({ args: [...args], options: COMMANDS.call.flags, allowPositionals: true });
  const [name, ...pairs] = positionals;
  const output = parseOutputFormat(values.output);
  if (name === undefined) {
    // A terminal cannot show views; `mic-mcp show` writes them as pages.
    const listed = filterVisibleTools(offeredTools(tools, readConfig(environment)), { apps: "never" }, undefined);
    process.stdout.write(`${formatToolList(listed)}\n`);
    return 0;
  }
  const options = { name, pairs, json: values.json, output, isConfirmed: values.yes ?? false };
  return await withRuntime(environment, async (context) => await runToolCall(options, context));
}
