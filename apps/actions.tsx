// Shows the result of show_actions: the actions of the journal. A button asks the agent to call resolve_actions for an unresolved one.
import { useState } from "preact/hooks";
import { type ActionShown, actionsOf, isResolved, sortActions } from "./actions/model.ts";
import type { Bridge } from "./bridge.ts";
import { askAgent, type Outcome } from "./calls.ts";
import { formatAge, formatTime } from "./host-context.ts";
import "./actions.css";
import { reasonOf } from "./values.ts";
import { mount, Problem, type ViewProps } from "./view.tsx";

const TONES: ReadonlyMap<string, string> = new Map([
  ["unknown", "bad"],
  ["in_progress", "work"],
  ["succeeded", "good"],
]);

function Resolve({
  action: { resolvingCall },
  host,
}: {
  readonly action: ActionShown;
  readonly host: Bridge | undefined;
}) {
  const [outcome, setOutcome] = useState<Outcome>();
  if (resolvingCall === undefined || !host?.can("message")) return null;
  const bridge = host;
  const call = resolvingCall;
  if (outcome?.kind === "asked")
    return (
      <p class="muted" role="status">
        The agent was asked.
      </p>
    );
  return (
    <>
      <button type="button" class="main" onClick={() => void askAgent(bridge, call).then(setOutcome)}>
        Ask the agent to resolve it
      </button>
      {outcome?.kind === "not asked" && <Problem text={`The agent could not be asked: ${outcome.text}`} />}
    </>
  );
}

function Action({ action, host }: { readonly action: ActionShown; readonly host: Bridge | undefined }) {
  const { tool, key, state, targetId, createdId, code, timesSent, updatedAt, text, note } = action;
  return (
    <li class={isResolved(action) ? "action" : "action unresolved"}>
      <p class="line">
        <b class={TONES.get(state) ?? "muted"}>{state.replace("_", " ")}</b>
        {text !== "" && <strong class="text">{text}</strong>}
        <code class={text === "" ? "" : "muted"}>{tool}</code>
        {code !== "" && <code class="muted">{code}</code>}
        <span class="muted when" title={formatTime(updatedAt)}>
          {formatAge(updatedAt)}
        </span>
      </p>
      <dl>
        {targetId !== "" && (
          <>
            <dt>target</dt>
            <dd>{targetId}</dd>
          </>
        )}
        {createdId !== "" && (
          <>
            <dt>created</dt>
            <dd>{createdId}</dd>
          </>
        )}
        <dt>key</dt>
        <dd>{key}</dd>
        {note !== "" && (
          <>
            <dt>note</dt>
            <dd>{note}</dd>
          </>
        )}
        {timesSent > 1 && (
          <>
            <dt>sent</dt>
            <dd>{timesSent} times, under the same key</dd>
          </>
        )}
      </dl>
      <Resolve action={action} host={host} />
    </li>
  );
}

function ActionsView({ result, args, host, refresh }: ViewProps) {
  const [problem, setProblem] = useState<string>();
  const actions = actionsOf(result);
  if (actions === undefined)
    return <Problem text="This result does not contain actions: the host sent something else." />;
  const unresolved = actions.filter((action) => !isResolved(action)).length;

  async function update(): Promise<void> {
    const answer = await refresh(args).catch((error: unknown) => ({ isError: true, text: reasonOf(error) }));
    setProblem(answer.isError ? answer.text : undefined);
  }

  return (
    <>
      <header>
        <h1>Actions</h1>
        <span class={unresolved > 0 ? "bad" : "muted"} role="status">
          {actions.length === 0
            ? "none yet"
            : unresolved === 0
              ? `${actions.length}, all resolved`
              : `${unresolved} of ${actions.length} unresolved`}
        </span>
      </header>
      {actions.length === 0 && <p class="muted">This journal does not contain actions yet.</p>}
      <ol class="actions">
        {sortActions(actions).map((action) => (
          <Action key={`${action.tool} ${action.key}`} action={action} host={host} />
        ))}
      </ol>
      {problem !== undefined && <Problem text={problem} onTryAgain={() => void update()} />}
      {host?.can("serverTools") && (
        <footer>
          <button type="button" onClick={() => void update()}>
            Update now
          </button>
        </footer>
      )}
    </>
  );
}

mount({ tool: "show_actions", label: "the actions", Body: ActionsView });
