// What every view does alike: it waits for its tool's result, shows it, and says why where there is none.
// A page with its data in it (mic-mcp show) has no host: it shows them and asks for nothing.

import type { JSX } from "preact";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Bridge, connect } from "./bridge.ts";
import { dress } from "./dress.ts";
import "./style.css";
import { type Fields, parseToolResult, reasonOf, type ToolResult } from "./values.ts";

/** Some hosts hand no result to a view: with the arguments it asks by itself. */
const NO_RESULT_MS = 4_000;
const VERSION = "1";

export interface Shown {
  readonly result: ToolResult;
  readonly args: Fields;
  /** Undefined on a page by itself. */
  readonly host: Bridge | undefined;
  /** Calls the view's own tool. Rejects where the host refuses or does not answer. */
  ask(args: Fields): Promise<ToolResult>;
  /** The same, and shows what it answers. */
  refresh(args: Fields): Promise<ToolResult>;
}

interface View {
  readonly tool: string;
  /** Of what it shows, in lower case. */
  readonly what: string;
  readonly Body: (shown: Shown) => JSX.Element;
}

interface Given {
  readonly args: Fields | undefined;
  readonly result: ToolResult | undefined;
  /** Why there is nothing to wait for. */
  readonly problem: string | undefined;
}

/** What `mic-mcp show` has put into the page. */
function dataInPage(): ToolResult | undefined {
  const data = document.getElementById("data")?.textContent;
  return data ? parseToolResult(JSON.parse(data)) : undefined;
}

export function Problem({ text }: { readonly text: string }) {
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}

function Framed({ tool, what, Body }: View) {
  const [given, setGiven] = useState<Given>({ args: undefined, result: undefined, problem: undefined });
  const [host, setHost] = useState<Bridge>();
  const { args, result, problem } = given;
  const give = (more: Partial<Given>) => setGiven((before) => ({ ...before, ...more }));

  useEffect(() => {
    const bridge = connect(`mic-mcp ${what}`, VERSION, {
      input: (input) => give({ args: input }),
      result: (result) => give({ result: parseToolResult(result) }),
      cancelled: (why) => give({ problem: `The call was cancelled${why === "" ? "" : `: ${why}`}.` }),
      teardown: () => window.dispatchEvent(new Event("teardown")),
      context: dress,
    });
    bridge.ready.then(
      () => setHost(bridge),
      () => give({ problem: `The host does not answer: it cannot show ${what} here.` }),
    );
  }, []);

  const ask = async (wanted: Fields): Promise<ToolResult> => parseToolResult(await host?.callTool(tool, wanted));

  async function refresh(wanted: Fields): Promise<ToolResult> {
    const answer = await ask(wanted);
    if (!answer.isError) give({ result: answer });
    return answer;
  }

  useEffect(() => {
    if (result !== undefined || problem !== undefined || args === undefined || !host?.can("serverTools")) return;
    const timer = setTimeout(() => {
      refresh(args).then(
        (answer) => answer.isError && give({ result: answer }),
        (error: unknown) => give({ problem: reasonOf(error) }),
      );
    }, NO_RESULT_MS);
    return () => clearTimeout(timer);
  }, [result, problem, args, host]);

  if (result?.isError) return <Problem text={result.text || "It failed, without a word why."} />;
  if (result) return <Body result={result} args={args ?? {}} host={host} ask={ask} refresh={refresh} />;
  if (problem !== undefined) return <Problem text={problem} />;
  return (
    <p class="waiting" role="status">
      Waiting for {what} …
    </p>
  );
}

function ByItself({ result, view: { Body } }: { readonly result: ToolResult; readonly view: View }) {
  return <Body result={result} args={{}} host={undefined} ask={async () => result} refresh={async () => result} />;
}

/** Draws the view into the page. */
export function mount(view: View): void {
  const root = document.getElementById("app");
  const result = dataInPage();
  if (root) render(result ? <ByItself result={result} view={view} /> : <Framed {...view} />, root);
}
