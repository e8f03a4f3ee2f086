// Makes the call of a pressed button once and informs the agent about it. Otherwise the agent's next call could be a second action.
import type { Bridge } from "./bridge.ts";
import { type Fields, parseToolResult, reasonOf, type ToolResult } from "./values.ts";

export interface Call {
  readonly tool: string;
  readonly arguments: Fields;
}

/** direct: the view calls the tool and informs the agent; agent: the view asks the agent to call it; none: no call is possible. */
export type CallMode = "direct" | "agent" | "none";

export function callModeOf(host: Bridge | undefined): CallMode {
  if (host?.can("serverTools") && host.can("updateModelContext")) return "direct";
  return host?.can("message") ? "agent" : "none";
}

/** Creates a key in a different form from the server's keys, which the server rejects as mistyped if the journal lacks them. */
export function createIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `view-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

const MAX_SENTENCE_CHARS = 1_500;
/** The earlier sentences are kept, because each update of the agent's context replaces the previous one. */
const reportedSentences: string[] = [];

async function informAgent(host: Bridge, sentence: string): Promise<boolean> {
  reportedSentences.push(sentence.slice(0, MAX_SENTENCE_CHARS));
  return await host.updateModelContext(reportedSentences.slice(-5).join("\n")).then(
    () => true,
    () => false,
  );
}

export const formatCall = ({ tool, arguments: args }: Call): string => `${tool} ${JSON.stringify(args)}`;

export type Outcome =
  | { readonly kind: "done"; readonly result: ToolResult; readonly agentKnows: boolean }
  | { readonly kind: "failed"; readonly text: string; readonly agentKnows: boolean }
  /** The view has no answer. The same call with the same key returns the outcome. */
  | { readonly kind: "unknown"; readonly text: string; readonly agentKnows: boolean }
  | { readonly kind: "asked" }
  | { readonly kind: "not asked"; readonly text: string };

async function callDirectly(host: Bridge, call: Call): Promise<Outcome> {
  let result: ToolResult;
  try {
    result = parseToolResult(await host.callTool(call.tool, call.arguments));
  } catch (error) {
    const sentence = `The user pressed a button in the view: ${formatCall(call)}. Its outcome is unknown; the same call with the same idempotencyKey resolves it and never runs it twice.`;
    return { kind: "unknown", text: reasonOf(error), agentKnows: await informAgent(host, sentence) };
  }
  if (result.isError || result.structured["declined"] === true) {
    const sentence = `The user pressed a button in the view: ${formatCall(call)} was not done. ${result.text}`;
    return { kind: "failed", text: result.text, agentKnows: await informAgent(host, sentence) };
  }
  const sentence = `The user pressed a button in the view: ${formatCall(call)} was done; do not repeat it. ${result.summary}`;
  return { kind: "done", result, agentKnows: await informAgent(host, sentence) };
}

/** Asks the agent to make a call. */
export const askAgent = (host: Bridge, call: Call): Promise<Outcome> =>
  host.sendMessage(`Please call ${formatCall(call)}.`).then(
    () => ({ kind: "asked" }),
    (error: unknown) => ({ kind: "not asked", text: reasonOf(error) }),
  );

export const performCall = (host: Bridge, call: Call): Promise<Outcome> =>
  callModeOf(host) === "direct" ? callDirectly(host, call) : askAgent(host, call);
