// Implements `mic-mcp show`, which writes a view as a page for a browser. The page contains its data and loads nothing.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { CALL_LIMIT_MS, systemTiming } from "../api-client/attempts.ts";
import { errorMessage } from "../core/failure.ts";
import { toCallToolResult } from "../mcp/tools/answer.ts";
import { agentReaderOf, runTool } from "../mcp/tools/call.ts";
import { renderResult } from "../toolkit/results.ts";
import { VIEW_NAMES, type ViewName } from "../toolkit/views.ts";
import { type CommandContext, withRuntime, writeJson } from "./backend.ts";
import type { RunCommand } from "./commands.ts";
import { parseChoice } from "./errors.ts";
import { parseArgumentWords } from "./tool-arguments.ts";

/** apps/view.tsx reads the data. */
function embedData(html: string, data: unknown): string {
  // The data cannot end the script element.
  const json = JSON.stringify(data).replaceAll("<", "\\u003c");
  const main = '<main id="app">';
  return html.replace(main, () => `<script type="application/json" id="data">${json}</script>${main}`);
}

async function writePage(name: string, html: string): Promise<string> {
  const path = join(await mkdtemp(resolve(tmpdir(), "mic-mcp-")), `${name}.html`);
  await writeFile(path, html, { mode: 0o600, flag: "wx" });
  return path;
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** An opener without a browser exits before this time. Others may run as long as their browser. */
const OPENER_LIMIT_MS = 3_000;

/** Returns the reason if no browser could be started. */
async function openPage(path: string): Promise<string | undefined> {
  const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(command, [...args, path], { stdio: "ignore", detached: true, windowsHide: true });
  const limit = AbortSignal.timeout(OPENER_LIMIT_MS);
  try {
    const [code, killedBy] = await once(child, "exit", { signal: limit });
    return code === 0 ? undefined : `${command} ended with ${code ?? killedBy}`;
  } catch (error) {
    return limit.aborted ? undefined : errorMessage(error);
  } finally {
    child.unref();
  }
}

/** The default of the views' required arguments. */
const DEFAULTS: Readonly<Partial<Record<ViewName, Readonly<Record<string, string>>>>> = {
  divisions: { level: "state" },
  usage: { window: "DAY" },
};

async function showView(
  view: ViewName,
  words: readonly string[],
  opensPage: boolean,
  context: CommandContext,
): Promise<number> {
  const { runtime, signal, isJson } = context;
  const tool = runtime.tools.find((each) => each.view === view);
  if (tool === undefined) throw new Error(`No tool offers the view ${view}.`);
  const typed = { ...DEFAULTS[view], ...parseArgumentWords(words, tool) };
  const limits = { signal, deadlineAt: systemTiming.clockMs() + CALL_LIMIT_MS };
  const outcome = await runTool(tool, typed, runtime, { limits });
  if (!("result" in outcome)) throw new Error(`${tool.name} asks the user for consent.`);
  const rendered = renderResult(outcome.result, agentReaderOf(runtime, outcome.workspaceId));
  const result = toCallToolResult(outcome.result, rendered, undefined);
  const data = JSON.parse(runtime.redactor.redact(JSON.stringify(result)));
  const path = await writePage(view, embedData(await runtime.readView(view), data));
  if (isJson) await writeJson({ path }, context);
  else process.stdout.write(`${path}\n`);
  const problem = opensPage ? await openPage(path) : undefined;
  if (problem === undefined) return 0;
  process.stderr.write(`mic-mcp: no browser could be started (${problem}). Open the file yourself: ${path}\n`);
  return 1;
}

export const show: RunCommand<"show"> = async ({ values, positionals }, environment) => {
  const [viewName = "", ...words] = positionals;
  const view = parseChoice("VIEW", viewName, VIEW_NAMES);
  const opensPage = values.open ?? false;
  return await withRuntime(`show_${view}`, environment, values, (context) => showView(view, words, opensPage, context));
};
