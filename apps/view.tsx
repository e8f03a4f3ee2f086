// Implements the common part of all views: waits for the tool's result, and shows it or the reason why there is none.
// A page with embedded data (mic-mcp show) has no host: it shows the data and makes no calls.

import type { JSX } from "preact";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Bridge, connect } from "./bridge.ts";
import { applyHostContext } from "./host-context.ts";
import "./style.css";
import { type Fields, parseToolResult, reasonOf, type ToolResult } from "./values.ts";

/** Some hosts send a view only the arguments. After this time without a result, the view calls the tool with them. */
const RESULT_TIMEOUT_MS = 4_000;
const VERSION = "1";

export interface ViewProps {
  readonly result: ToolResult;
  readonly args: Fields;
  /** Undefined on a page without a host (mic-mcp show). */
  readonly host: Bridge | undefined;
  /** Calls the view's own tool. Rejects if the host refuses or does not answer. */
  callTool(args: Fields): Promise<ToolResult>;
  /** Does the same, and shows the result unless it is an error. */
  refresh(args: Fields): Promise<ToolResult>;
}

interface View {
  readonly tool: string;
  /** The name of its content, in lower case: "the job". */
  readonly label: string;
  readonly Body: (shown: ViewProps) => JSX.Element;
}

interface ViewState {
  readonly args: Fields | undefined;
  readonly result: ToolResult | undefined;
  /** Why no result will arrive. */
  readonly problem: string | undefined;
}

/** Reads the result that `mic-mcp show` has embedded in the page. */
function readEmbeddedResult(): ToolResult | undefined {
  const data = document.getElementById("data")?.textContent;
  return data ? parseToolResult(JSON.parse(data)) : undefined;
}

interface ProblemProps {
  readonly text: string;
  /** Undefined if trying again is not possible. */
  readonly onTryAgain?: (() => void) | undefined;
}

export function Problem({ text, onTryAgain }: ProblemProps) {
  return (
    <div class="problem" role="alert">
      <p>{text}</p>
      {onTryAgain && (
        <button type="button" onClick={onTryAgain}>
          Try again
        </button>
      )}
    </div>
  );
}

function HostedView({ tool, label, Body }: View) {
  const [viewState, setViewState] = useState<ViewState>({ args: undefined, result: undefined, problem: undefined });
  const [host, setHost] = useState<Bridge>();
  const { args, result, problem } = viewState;
  const updateViewState = (more: Partial<ViewState>) => setViewState((before) => ({ ...before, ...more }));

  useEffect(() => {
    const bridge = connect(`mic-mcp ${label}`, VERSION, {
      input: (input) => updateViewState({ args: input }),
      result: (result) => updateViewState({ result: parseToolResult(result) }),
      cancelled: (why) => updateViewState({ problem: `The call was cancelled${why === "" ? "" : `: ${why}`}.` }),
      teardown: () => window.dispatchEvent(new Event("teardown")),
      context: applyHostContext,
    });
    bridge.ready.then(
      () => setHost(bridge),
      () => updateViewState({ problem: `The host does not answer: it cannot show ${label} here.` }),
    );
  }, []);

  const callTool = async (wanted: Fields): Promise<ToolResult> => parseToolResult(await host?.callTool(tool, wanted));

  async function refresh(wanted: Fields): Promise<ToolResult> {
    const answer = await callTool(wanted);
    if (!answer.isError) updateViewState({ result: answer });
    return answer;
  }

  function read(wanted: Fields): void {
    updateViewState({ result: undefined, problem: undefined });
    refresh(wanted).then(
      (answer) => answer.isError && updateViewState({ result: answer }),
      (error: unknown) => updateViewState({ problem: reasonOf(error) }),
    );
  }

  useEffect(() => {
    if (result !== undefined || problem !== undefined || args === undefined || !host?.can("serverTools")) return;
    const timer = setTimeout(() => read(args), RESULT_TIMEOUT_MS);
    return () => clearTimeout(timer);
  }, [result, problem, args, host]);

  const tryAgain = args !== undefined && host?.can("serverTools") ? () => read(args) : undefined;
  if (result?.isError)
    return <Problem text={result.text || "The call failed without a reason."} onTryAgain={tryAgain} />;
  if (result) return <Body result={result} args={args ?? {}} host={host} callTool={callTool} refresh={refresh} />;
  if (problem !== undefined) return <Problem text={problem} onTryAgain={tryAgain} />;
  return (
    <div class="skeleton" role="status">
      <span class="hidden">Waiting for {label} …</span>
      <span aria-hidden="true" />
      <span aria-hidden="true" />
      <span aria-hidden="true" />
    </div>
  );
}

function StandaloneView({ result, view: { Body } }: { readonly result: ToolResult; readonly view: View }) {
  return <Body result={result} args={{}} host={undefined} callTool={async () => result} refresh={async () => result} />;
}

/** Renders the view in the page. */
export function mount(view: View): void {
  const root = document.getElementById("app");
  const result = readEmbeddedResult();
  if (root) render(result ? <StandaloneView result={result} view={view} /> : <HostedView {...view} />, root);
}
