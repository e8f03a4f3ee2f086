// Asks the person before a call throws something away, as an agent's client would: on a terminal; without one, --yes says it.
import type { Arguments } from "../../actions/fingerprint.ts";
import { Failure } from "../../failure.ts";
import type { Runtime } from "../../mcp/runtime.ts";
import type { Tool } from "../../toolkit/define-tool.ts";
import type { ToolCall } from "../../toolkit/tool-call.ts";
import { isInteractive, openPrompter } from "../prompt.ts";

export interface Consent {
  readonly proposedKey?: string | undefined;
  /** The version of the job that the question spoke of. */
  readonly shownVersion?: number | undefined;
}

const notAgreed = (message: string, next: string): Failure =>
  new Failure({ kind: "cancelled", message, retryable: false, sideEffect: "none", next });

async function ask(question: string): Promise<boolean> {
  const prompter = openPrompter();
  try {
    return /^y(es)?$/i.test(await prompter.ask(`${question}\nType yes to go on: `));
  } catch {
    return false;
  } finally {
    prompter.close();
  }
}

/** `isAgreed`: --yes was given. An action that the journal holds was agreed to when it was made. Throws Failure. */
export async function seekConsent(
  tool: Tool,
  args: Arguments,
  isAgreed: boolean,
  call: ToolCall,
  { config, ports }: Runtime,
): Promise<Consent> {
  const question = isAgreed || config.confirm === "never" ? undefined : tool.question(args);
  if (!question) return {};
  if (question.actions) {
    const known = await Promise.all(question.actions.map((action) => ports.actions.findKnown(action)));
    if (known.every(Boolean)) return {};
  }
  const prepared = await question.prepare(call);
  if (!prepared) return {};
  if (!isInteractive())
    throw notAgreed(
      `${tool.name} throws something away, and there is no terminal to ask on; nothing was sent.`,
      "Give --yes.",
    );
  if (!(await ask(prepared.text))) throw notAgreed("You did not agree; nothing was sent.", "Type yes, or give --yes.");
  return { proposedKey: question.idempotencyKey, shownVersion: prepared.resourceVersion };
}
