// Implements `mic-mcp call`, which calls one tool in this process with the same journal and keys as an agent's call.

import { tools } from "../../tools/index.ts";
import { CALL_LIMIT_MS, type FailedAttempt, systemTiming } from "../api-client/attempts.ts";
import { type Config, readConfig, UsageError } from "../core/config.ts";
import { abortFailure, Failure, type FailureKind } from "../core/failure.ts";
import { say, type Text } from "../core/text.ts";
import { escapeText } from "../core/untrusted-text.ts";
import { agentReaderOf, type Outcome, runTool } from "../mcp/tools/call.ts";
import { type Consent, isAlreadyConfirmed, PROCEED } from "../mcp/tools/confirmation.ts";
import { filterVisibleTools, type OfferableTool, offeredTools, reasonNotOffered } from "../mcp/tools/offered-tools.ts";
import type { ConfirmationRequest, Tool } from "../toolkit/define-tool.ts";
import { type RenderedResult, renderResult, type ToolResult } from "../toolkit/results.ts";
import type { ToolContext } from "../toolkit/tool-context.ts";
import { type CommandContext, TEMPORARY_EMULATOR, withRuntime, writeJson, writeLine } from "./backend.ts";
import { parseIntegerFlag, type RunCommand } from "./commands.ts";
import { didYouMean } from "./errors.ts";
import { exitCodeOfResult, UNFINISHED } from "./job-exit-code.ts";
import { isInteractive, openPrompter } from "./prompt.ts";
import { formatTables, wrapLines } from "./tables.ts";
import { createProgressDisplay } from "./terminal.ts";
import { terminalReader } from "./terminal-reader.ts";
import { formatToolHelp, formatToolList, parseArgumentWords, parseInputFlag } from "./tool-arguments.ts";

function findOfferedTool<T extends OfferableTool>(name: string, all: readonly T[], config: Config): T {
  const offered = offeredTools(all, config);
  const tool = offered.find((each) => each.name === name);
  if (tool) return tool;
  const hidden = all.find((each) => each.name === name);
  if (hidden) throw new UsageError(`${name} is not offered: ${reasonNotOffered(hidden, config)}.`);
  if (name.startsWith("--")) throw new UsageError(`Write the name of the tool before ${name}.`);
  const names = offered.map((each) => each.name);
  throw new UsageError(
    `${JSON.stringify(name)} is not a tool.${didYouMean(name, names)} Run mic-mcp call to list the tools.`,
  );
}

export async function formatHelpOfTool(name: string, environment: NodeJS.ProcessEnv): Promise<string> {
  const config = readConfig(environment);
  return formatToolHelp(findOfferedTool(name, tools, config), config.workspaceId !== undefined);
}

async function writeResult(
  tool: Tool,
  { drift, requestId }: ToolResult,
  { structured, text }: RenderedResult,
  exitCode: number,
  context: CommandContext,
): Promise<number> {
  const { runtime, inProcess, isJson } = context;
  const { redact } = runtime.redactor;
  const { stdout, stderr } = process;
  if (drift.length > 0)
    stderr.write(`${escapeText(redact(`Fields that the contract does not define: ${drift.join(", ")}`))}\n`);
  if (isJson) await writeJson({ ...structured, requestId, exitCode }, context);
  else {
    // Redacted first: a cut secret would not be recognized.
    const shown = redact(text);
    await writeLine(stdout, formatTables(shown, stdout));
  }
  if (inProcess && tool.isWrite) await writeLine(stderr, TEMPORARY_EMULATOR);
  return exitCode;
}

const createNotConfirmedFailure = (kind: FailureKind, message: Text, next: Text): Failure =>
  new Failure({ kind, message, retryable: false, sideEffect: "none", next });

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

/** Asks the user before a call that discards something. Actions in the journal were confirmed before. Throws Failure. */
async function confirmCall(
  question: ConfirmationRequest,
  ctx: ToolContext,
): Promise<Extract<Consent, { readonly go: true }>> {
  if (await isAlreadyConfirmed(question, ctx.actions)) return PROCEED;
  const prepared = await question.prepare(ctx);
  if (!prepared) return PROCEED;
  if (!isInteractive())
    throw createNotConfirmedFailure(
      "invalid_arguments",
      say`${ctx.tool} discards data or work and needs confirmation, but stdin is not a terminal. Nothing was sent.`,
      say`Add --yes to confirm.`,
    );
  if (!(await askYesOrNo(prepared.text)))
    throw createNotConfirmedFailure(
      "cancelled",
      say`The call was not confirmed. Nothing was sent.`,
      say`Type yes, or add --yes.`,
    );
  // The job version that the question described.
  return {
    go: true,
    shownVersion: prepared.resourceVersion,
    ...(question.idempotencyKey !== undefined && { key: question.idempotencyKey }),
  };
}

interface CallOptions {
  readonly name: string;
  readonly words: readonly string[];
  readonly input?: string;
  readonly isConfirmed: boolean;
  /** Time limit of the call (default `CALL_LIMIT_MS`, or until the end of a request that is in flight then). */
  readonly timeoutSeconds?: number;
}

const formatRetry = ({ status, kind, attempt }: FailedAttempt): string => {
  const reason =
    status !== undefined
      ? `answered with HTTP status ${status}`
      : kind === "timeout"
        ? "did not answer"
        : "could not be reached";
  return `The API ${reason}. Trying again (attempt ${attempt + 1}).`;
};

export async function runToolCall(
  { name, words, input, isConfirmed, timeoutSeconds }: CallOptions,
  context: CommandContext,
): Promise<number> {
  const { runtime } = context;
  const tool = findOfferedTool(name, runtime.tools, runtime.config);
  const typed = { ...parseInputFlag(input), ...parseArgumentWords(words, tool) };
  const { redact } = runtime.redactor;
  const progress = createProgressDisplay(process.stderr);
  const limitMs = timeoutSeconds === undefined ? CALL_LIMIT_MS : timeoutSeconds * 1_000;
  const timeout = timeoutSeconds === undefined ? undefined : AbortSignal.timeout(limitMs);
  const signal = timeout === undefined ? context.signal : AbortSignal.any([context.signal, timeout]);
  const noteStop = (rest = ""): void =>
    progress.note(`${context.signal.aborted ? "Stopped" : `Stopped after ${timeoutSeconds} s (--timeout)`}${rest}.`);
  let outcome: Outcome;
  try {
    outcome = await runTool(tool, typed, runtime, {
      limits: {
        signal,
        deadlineAt: systemTiming.clockMs() + limitMs,
        onFailedAttempt: (failed: FailedAttempt) => progress.note(formatRetry(failed)),
      },
      report: ({ message, ...rest }) => progress.report({ ...rest, message: escapeText(redact(message)) }),
      requestConsent:
        isConfirmed || runtime.config.confirm === "never"
          ? undefined
          : (question, _args, ctx) => confirmCall(question, ctx),
    });
    if (signal.aborted)
      noteStop(
        tool.isWrite ? `; ${tool.makes ? `the ${tool.makes} continues` : "jobs that were started continue"}` : "",
      );
  } catch (error) {
    if (timeout?.aborted) noteStop();
    if (error instanceof Failure && error.facts.kind === "invalid_arguments" && error.facts.next === undefined)
      throw error.with({ next: say`mic-mcp call ${tool.name} --help shows its arguments.` });
    throw signal.aborted && !(error instanceof Failure) ? abortFailure(signal) : error;
  } finally {
    progress.end();
  }
  if (!("result" in outcome)) throw new Error("The command asks the user itself.");
  const { result, workspaceId, notice } = outcome;
  const reader = context.isJson
    ? agentReaderOf(runtime, workspaceId)
    : terminalReader(runtime, context.flags, workspaceId);
  const rendered = renderResult(result, reader, notice);
  const isStopped = signal.aborted && tool.isWrite && !result.hasEnded;
  const exitCode = isStopped ? UNFINISHED : exitCodeOfResult(tool, typed, rendered.structured, result.isReplay);
  return await writeResult(tool, result, rendered, exitCode, context);
}

const MAX_CALL_SECONDS = 3_600;

export const call: RunCommand<"call"> = async ({ values, positionals }, environment) => {
  const [name, ...words] = positionals;
  if (name === undefined) {
    // A terminal cannot show views; `mic-mcp show` writes them as pages.
    const listed = filterVisibleTools(offeredTools(tools, readConfig(environment)), undefined);
    const rows = listed.map(({ name: tool, title, description }) => ({ name: tool, title, description }));
    process.stdout.write(
      `${values.json ? JSON.stringify({ tools: rows }) : wrapLines(formatToolList(listed), process.stdout)}\n`,
    );
    return 0;
  }
  const timeoutSeconds = parseIntegerFlag("timeout", values.timeout, MAX_CALL_SECONDS);
  const options = { name, words, input: values.input, isConfirmed: values.yes ?? false, timeoutSeconds };
  return await withRuntime(name, environment, values, async (context) => await runToolCall(options, context));
};
