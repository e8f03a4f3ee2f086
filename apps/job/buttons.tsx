// Shows the buttons for retry and cancel. The first press replaces them with a question; the second sends the call, with the key that
// was created with the question.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Bridge } from "../bridge.ts";
import { type Call, callModeOf, createIdempotencyKey, formatCall, type Outcome, performCall } from "../calls.ts";
import { type Fields, fieldsOf, type ToolResult, textOf } from "../values.ts";
import { Problem } from "../view.tsx";
import { hasEnded, type JobShown } from "./model.ts";

interface Choice extends Call {
  readonly label: string;
  readonly question: string;
  readonly yes: string;
  readonly look: "main" | "destructive";
}

/** Returns the retry that the tool's result advises; the view decides nothing. */
function toRetryChoice({ nextStep }: ToolResult): Choice | undefined {
  if (nextStep?.tool !== "retry_job") return undefined;
  const isRestart = nextStep.arguments["retryMode"] === "RESTART";
  return {
    ...nextStep,
    label: isRestart ? "Restart the job" : "Retry the job",
    question: isRestart
      ? "Run it again from the start? Finished stages are discarded."
      : "Run it again? Finished stages are kept.",
    yes: isRestart ? "Yes, restart" : "Yes, retry",
    look: isRestart ? "destructive" : "main",
  };
}

/** Returns why an ended job has no button; undefined if it needs none, or if the failure states that a retry would fail again. */
function reasonForNoRetry({ nextStep }: ToolResult, job: JobShown, canCall: boolean): string | undefined {
  if (job.state !== "FAILED" && job.state !== "CANCELLED") return undefined;
  const retry = nextStep?.arguments["jobId"];
  if (nextStep?.tool === "resolve_actions")
    return "The outcome of an earlier action on this job is unknown. Ask the agent to resolve it first.";
  if (nextStep?.tool === "get_job" && typeof retry === "string" && retry !== job.id)
    return `It was retried as ${retry}.`;
  if (nextStep?.tool === "retry_job" && !canCall)
    return "This client lets no view make calls. Ask the agent to retry the job.";
  return undefined;
}

const toCancelChoice = (job: JobShown): Choice | undefined =>
  hasEnded(job)
    ? undefined
    : {
        tool: "cancel_job",
        arguments: { jobId: job.id, reason: "Cancelled by the user, in the view of the job" },
        label: "Cancel the job",
        question: "Cancel it? Its finished work is discarded.",
        yes: "Yes, cancel",
        look: "destructive",
      };

const withIdempotencyKey = (args: Fields): Fields =>
  typeof args["idempotencyKey"] === "string" ? args : { ...args, idempotencyKey: createIdempotencyKey() };

function OutcomeText({ outcome, call }: { readonly outcome: Outcome; readonly call: Call }) {
  switch (outcome.kind) {
    case "done":
      return outcome.agentKnows ? null : (
        <p class="notice wait">
          It was done, but the agent could not be informed: ask it not to repeat {formatCall(call)}.
        </p>
      );
    case "failed":
      return <Problem text={outcome.text} />;
    case "unknown":
      return <Problem text={`${outcome.text} It is not known whether it was done. Try again: it never runs twice.`} />;
    case "asked":
      return (
        <p class="notice" role="status">
          The agent was asked to do it.
        </p>
      );
    case "not asked":
      return <Problem text={`The agent could not be asked: ${outcome.text}`} />;
  }
}

interface Props {
  readonly job: JobShown;
  readonly result: ToolResult;
  readonly host: Bridge | undefined;
  /** Follows the job that a retry created, or reads the same job again. */
  onDone(newJobId: string | undefined): void;
}

export function Buttons({ job, result, host, onDone }: Props) {
  const [pendingChoice, setPendingChoice] = useState<Choice>();
  const [isSending, setSending] = useState(false);
  const [last, setLast] = useState<{ readonly outcome: Outcome; readonly call: Call }>();
  const yes = useRef<HTMLButtonElement>(null);
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => yes.current?.focus(), [pendingChoice]);
  const canCall = callModeOf(host) !== "none";
  const reason = host && reasonForNoRetry(result, job, canCall);
  if (host === undefined || !canCall) return reason === undefined ? null : <p class="notice wait">{reason}</p>;
  const bridge = host;
  const choices = [toRetryChoice(result), toCancelChoice(job)].filter((choice) => choice !== undefined);

  function askConfirmation(choice: Choice): void {
    setLast(undefined);
    setPendingChoice({ ...choice, arguments: withIdempotencyKey(choice.arguments) });
  }

  function closeQuestion(): void {
    setPendingChoice(undefined);
    setTimeout(() => first.current?.focus());
  }

  async function sendCall({ tool, arguments: args }: Choice): Promise<void> {
    if (isSending) return;
    setSending(true);
    const call = { tool, arguments: args };
    const outcome = await performCall(bridge, call);
    setSending(false);
    setLast({ outcome, call });
    if (outcome.kind === "unknown") return;
    closeQuestion();
    if (outcome.kind !== "done") return;
    const newJobId = textOf(fieldsOf(outcome.result.structured["data"])["id"]);
    onDone(tool === "retry_job" && newJobId !== "" ? newJobId : undefined);
  }

  return (
    <section class="buttons" aria-label="Actions">
      {reason !== undefined && <p class="notice wait">{reason}</p>}
      {pendingChoice ? (
        <p class="question">
          <span id="question">{pendingChoice.question}</span>
          <button
            ref={yes}
            type="button"
            class={pendingChoice.look}
            aria-describedby="question"
            aria-disabled={isSending}
            onClick={() => void sendCall(pendingChoice)}
          >
            {isSending ? "Sending …" : last?.outcome.kind === "unknown" ? "Try again" : pendingChoice.yes}
          </button>
          {!isSending && (
            <button type="button" onClick={closeQuestion}>
              No
            </button>
          )}
        </p>
      ) : (
        choices.map((choice, at) => (
          <button
            key={choice.tool}
            ref={at === 0 ? first : null}
            type="button"
            class={choice.look}
            onClick={() => askConfirmation(choice)}
          >
            {choice.label}
          </button>
        ))
      )}
      {last && <OutcomeText {...last} />}
    </section>
  );
}
