// Implements `mic-mcp teams resolve`: resolves the unknown actions of a team for their users, as resolve_actions does.
import { CALL_LIMIT_MS } from "../../api-client/attempts.ts";
import { UsageError } from "../../core/config.ts";
import { Failure, toReport } from "../../core/failure.ts";
import { quote } from "../../core/untrusted-text.ts";
import { agentReaderOf, runTool } from "../../mcp/tools/call.ts";
import { renderResult } from "../../toolkit/results.ts";
import { type CallerRuntime, composeTeams } from "../compose.ts";
import { readTeamsSettings } from "../settings.ts";

async function resolveAction(idempotencyKey: string, runtime: CallerRuntime): Promise<string> {
  const tool = runtime.tools.find(({ name }) => name === "resolve_actions");
  if (!tool) throw new UsageError("mic-mcp teams resolve cannot change anything with MIC_READ_ONLY=1.");
  const deadlineAt = runtime.ports.api.timing.clockMs() + CALL_LIMIT_MS;
  const limits = { signal: new AbortController().signal, deadlineAt };
  const reader = agentReaderOf(runtime);
  try {
    const outcome = await runTool(tool, { idempotencyKey }, runtime, { limits });
    return "result" in outcome ? renderResult(outcome.result, reader, outcome.notice).text : "It needs a confirmation.";
  } catch (error) {
    if (error instanceof Failure) return toReport(error.facts, reader).message;
    throw error;
  }
}

/** `key`: undefined for all unknown actions of the team, at most 50. Resolves with 1 if some are still unknown. Throws UsageError. */
export async function resolveTeamActions(
  environment: NodeJS.ProcessEnv,
  name: string,
  key: string | undefined,
): Promise<number> {
  const composed = composeTeams(readTeamsSettings(environment));
  const print = (text: string): void => void process.stdout.write(`${composed.redactAll(text)}\n`);
  try {
    const team = await composed.openForOperator(name);
    if (!team) throw new UsageError(`Team ${quote(name)} does not exist.`);
    const { readUnknown, runtimeOf } = team;
    const actions = (await readUnknown()).filter(({ idempotencyKey }) => key === undefined || idempotencyKey === key);
    if (actions.length === 0) print("No such action is unknown.");
    for (const { idempotencyKey, tool, issuer, subject } of actions) {
      const isKnown = issuer !== undefined && subject !== undefined;
      const text = isKnown
        ? await resolveAction(idempotencyKey, runtimeOf({ issuer, subject }))
        : "Its user is not known, so only the user can resolve it.";
      print(`${tool}${isKnown ? ` of ${quote(subject)}` : ""}, key ${idempotencyKey}:\n${text}`);
    }
    const left = new Set((await readUnknown()).map(({ idempotencyKey }) => idempotencyKey));
    return actions.some(({ idempotencyKey }) => left.has(idempotencyKey)) ? 1 : 0;
  } finally {
    await composed.close();
  }
}
