// `mic-mcp show`: what a host would draw in a conversation, as a page for a browser.
import { parseArgs } from "node:util";
import { CALL_LIMIT_MS } from "../../api-client/attempts.ts";
import { UsageError } from "../../config.ts";
import { completeArguments } from "../../mcp/tools/call.ts";
import { factsOf, failureText } from "../../mcp/tools/failure-text.ts";
import { toolCall } from "../../mcp/tools/tool-call.ts";
import { VIEW_NAMES, type ViewName } from "../../toolkit/views.ts";
import { typedArguments } from "../call/values.ts";
import { didYouMean } from "../command-line/nearest.ts";
import { COMMANDS } from "../commands.ts";
import { type AtWork, withCatalogue } from "../person.ts";
import { openPage, withData, writePage } from "./page.ts";

/** What a word without a name is, and what is shown where it is left out. */
const MAIN: Readonly<Record<ViewName, { readonly name: string; readonly usual?: string }>> = {
  job: { name: "jobId" },
  divisions: { name: "level", usual: "state" },
  usage: { name: "window", usual: "DAY" },
  actions: { name: "state" },
};

/** Throws UsageError. */
function viewOf(word: string | undefined): ViewName {
  const view = VIEW_NAMES.find((each) => each === word);
  if (view !== undefined) return view;
  const like = word === undefined ? "" : didYouMean(word, VIEW_NAMES);
  throw new UsageError(`show takes ${VIEW_NAMES.join(", ")}.${like}`);
}

/** NAME=VALUE for each; the first without a name is the view's main argument. */
function pairsOf(view: ViewName, words: readonly string[]): readonly string[] {
  const { name, usual } = MAIN[view];
  const [first, ...rest] = words;
  const named = first === undefined || first.includes("=") ? words : [`${name}=${first}`, ...rest];
  const isGiven = named.some((pair) => pair.startsWith(`${name}=`));
  return isGiven || usual === undefined ? named : [`${name}=${usual}`, ...named];
}

async function draw(view: ViewName, pairs: readonly string[], { runtime, signal }: AtWork): Promise<string> {
  const tool = runtime.tools.find((each) => each.view === view);
  if (tool === undefined) throw new UsageError(`There is no tool that shows ${view}.`);
  const { redact } = runtime.redactor;
  const typed = typedArguments(pairs, tool.inputSchema());
  try {
    const args = await completeArguments(tool, typed, runtime);
    const limits = { signal, deadlineAt: Date.now() + CALL_LIMIT_MS };
    const { structured, text } = await tool.invoke(args, toolCall(runtime, tool.name, limits));
    const result = { content: [{ type: "text", text }], structuredContent: structured };
    return withData(await runtime.readView(view), JSON.parse(redact(JSON.stringify(result))));
  } catch (error) {
    process.stderr.write(`${redact(failureText(tool.name, factsOf(error)))}\n`);
    return "";
  }
}

/** Exit code 1 where it could not be read. Throws UsageError. */
export async function show(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = parseArgs({ args: [...args], options: COMMANDS.show.flags, allowPositionals: true });
  const [word, ...words] = positionals;
  const view = viewOf(word);
  const pairs = pairsOf(view, words);
  return await withCatalogue(environment, async (at) => {
    const page = await draw(view, pairs, at);
    if (page === "") return 1;
    const path = await writePage(view, page);
    process.stdout.write(`${path}\n`);
    if (values.open && !(await openPage(path)))
      process.stderr.write("No browser could be opened: open the file yourself.\n");
    return 0;
  });
}
