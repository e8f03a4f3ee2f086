// Implements `mic-mcp show`, which writes a view as a page for a browser. The page contains its data and loads nothing.
import { spawn } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { CALL_LIMIT_MS } from "../api-client/attempts.ts";
import { UsageError } from "../core/config.ts";
import { completeArguments } from "../mcp/tools/call.ts";
import { factsOf, failureText } from "../mcp/tools/failure-text.ts";
import { toCallToolResult } from "../mcp/tools/result.ts";
import { createToolCall } from "../mcp/tools/tool-call.ts";
import { VIEW_NAMES, type ViewName } from "../toolkit/views.ts";
import { type CommandContext, withRuntime } from "./backend.ts";
import { COMMANDS } from "./commands.ts";
import { didYouMean, rephraseFailureForUser } from "./errors.ts";
import { parseArgumentPairs } from "./tool-arguments.ts";

/** Returns JSON that cannot end a script element. */
const toScriptJson = (data: unknown): string => JSON.stringify(data).replaceAll("<", "\\u003c");

/** apps/view.tsx reads the data. */
const embedData = (html: string, data: unknown): string =>
  html.replace(
    '<main id="app">',
    () => `<script type="application/json" id="data">${toScriptJson(data)}</script><main id="app">`,
  );

/** Writes a file that only its owner can read, and returns its path. */
async function writePage(name: string, html: string): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), "mic-mcp-")), `${name}.html`);
  await writeFile(path, html, { mode: 0o600, flag: "wx" });
  return path;
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Resolves with whether the platform's opener started. */
function openPage(path: string): Promise<boolean> {
  const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  return new Promise((resolve) => {
    const child = spawn(command, [...args, path], { stdio: "ignore", detached: true, windowsHide: true });
    child.once("error", () => resolve(false));
    child.once("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}

/** For each view, the argument that a value without a name sets, and the default of that argument. */
const MAIN_ARGUMENTS: Readonly<Record<ViewName, { readonly name: string; readonly defaultValue?: string }>> = {
  job: { name: "jobId" },
  divisions: { name: "level", defaultValue: "state" },
  usage: { name: "window", defaultValue: "DAY" },
  actions: { name: "state" },
};

/** Throws UsageError. */
function parseViewName(text: string | undefined): ViewName {
  const view = VIEW_NAMES.find((each) => each === text);
  if (view !== undefined) return view;
  const suggestion = text === undefined ? "" : didYouMean(text, VIEW_NAMES);
  throw new UsageError(`VIEW must be one of ${VIEW_NAMES.join(", ")}.${suggestion}`);
}

/** Returns the arguments as NAME=VALUE; a first value without a name sets the view's main argument. */
function toArgumentPairs(view: ViewName, viewArguments: readonly string[]): readonly string[] {
  const { name, defaultValue } = MAIN_ARGUMENTS[view];
  const [first, ...rest] = viewArguments;
  const named = first === undefined || first.includes("=") ? viewArguments : [`${name}=${first}`, ...rest];
  const isGiven = named.some((pair) => pair.startsWith(`${name}=`));
  return isGiven || defaultValue === undefined ? named : [`${name}=${defaultValue}`, ...named];
}

async function renderPage(
  view: ViewName,
  pairs: readonly string[],
  { runtime, signal }: CommandContext,
): Promise<string> {
  const tool = runtime.tools.find((each) => each.view === view);
  if (tool === undefined) throw new UsageError(`No tool offers the view ${view}.`);
  const { redact } = runtime.redactor;
  const typed = parseArgumentPairs(pairs, tool.inputSchema());
  try {
    const { args } = await completeArguments(tool, typed, runtime);
    const limits = { signal, deadlineAt: Date.now() + CALL_LIMIT_MS };
    const result = toCallToolResult(await tool.invoke(args, createToolCall(runtime, tool.name, limits)), undefined);
    return embedData(await runtime.readView(view), JSON.parse(redact(JSON.stringify(result))));
  } catch (error) {
    process.stderr.write(`${redact(failureText(tool.name, rephraseFailureForUser(factsOf(error))))}\n`);
    return "";
  }
}

/** Prints the path of the page. Returns exit code 0, or 1 if the data could not be read. Throws UsageError. */
export async function show(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = parseArgs({ args: [...args], options: COMMANDS.show.flags, allowPositionals: true });
  const [viewName, ...viewArguments] = positionals;
  const view = parseViewName(viewName);
  const pairs = toArgumentPairs(view, viewArguments);
  return await withRuntime(environment, async (context) => {
    const page = await renderPage(view, pairs, context);
    if (page === "") return 1;
    const path = await writePage(view, page);
    process.stdout.write(`${path}\n`);
    if (values.open && !(await openPage(path)))
      process.stderr.write("Could not open a browser. Open the file yourself.\n");
    return 0;
  });
}
