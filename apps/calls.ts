// Does what the person pressed, once, and sees to it that the agent hears of it: its next call would be a second action else.
import type { Bridge } from "./bridge.ts";
import { type Fields, parseToolResult, reasonOf, type ToolResult } from "./values.ts";

export interface Call {
  readonly tool: string;
  readonly arguments: Fields;
}

/** direct: the view calls the tool and tells the agent; agent: the agent is asked to call it; none: nothing can be done. */
export type CallMode = "direct" | "agent" | "none";

export function callModeOf(host: Bridge | undefined): CallMode {
  if (host?.can("serverTools") && host.can("updateModelContext")) return "direct";
  return host?.can("message") ? "agent" : "none";
}

/** Not of the server's own form: one of those that the journal does not hold counts as mistyped. */
export function createIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `view-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

const MAX_SENTENCE_CHARS = 1_500;
/** Each update of the agent's context takes the place of the one before it. */
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
  /** Nobody here knows: the same call, under the same key, finds it out. */
  | { readonly kind: "unknown"; readonly text: string; readonly agentKnows: boolean }
  | { readonly kind: "asked" }
  | { readonly kind: "not asked"; readonly text: string };

async function callDirectly(host: Bridge, call: Call): Promise<Outcome> {
  let result: ToolResult;
  try {
    result = parseToolResult(await host.callTool(call.tool, call.arguments));
  } catch (error) {
    const sentence = `The person pressed a button in the view: ${formatCall(call)}. Its outcome is unknown; the same call with the same idempotencyKey finds it out and cannot do it twice.`;
    return { kind: "unknown", text: reasonOf(error), agentKnows: await informAgent(host, sentence) };
  }
  if (result.isError) {
    const sentence = `The person pressed a button in the view: ${formatCall(call)} failed. ${result.text}`;
    return { kind: "failed", text: result.text, agentKnows: await informAgent(host, sentence) };
  }
  const sentence = `The person pressed a button in the view: ${formatCall(call)} was done; do not repeat it. ${result.summary}`;
  return { kind: "done", result, agentKnows: await informAgent(host, sentence) };
}

/** Asks the agent for a call. */
export const askAgent = (host: Bridge, call: Call): Promise<Outcome> =>
  host.sendMessage(`Please call ${formatCall(call)}.`).then(
    () => ({ kind: "asked" }),
    (error: unknown) => ({ kind: "not asked", text: reasonOf(error) }),
  );

export const performCall = (host: Bridge, call: Call): Promise<Outcome> =>
  callModeOf(host) === "direct" ? callDirectly(host, call) : askAgent(host, call);
