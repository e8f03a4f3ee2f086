// Finds out which scopes of the contract a client is granted, and which tools it can use with them (`mic-mcp doctor --scopes`).
import type { Endpoint } from "../contract/endpoints/endpoint.ts";
import { SCOPES } from "../contract/endpoints/index.ts";
import {
  cancelMicJob,
  createMicJob,
  createMicPublicInput,
  getMicJob,
  getMicPublicInput,
  getMicPublicOperation,
  getMicPublicUsage,
  retryMicJob,
} from "../contract/endpoints/job-processing.ts";
import { Failure } from "../core/failure.ts";
import type { ToolName } from "../core/tool-names.ts";
import type { Identity } from "../credentials/identity.ts";
import type { Tokens } from "../credentials/tokens.ts";
import type { Tool } from "../toolkit/define-tool.ts";
import { type Check, checkFromError, createCallContext, passedCheck } from "./checks.ts";

const RUN = [createMicPublicInput, getMicPublicInput, createMicJob, getMicJob];

/** The operations of tools that use several, or that have no `endpoint`. A tool without operations needs no scope. */
const OPERATIONS: Readonly<Partial<Record<ToolName, readonly Endpoint[]>>> = {
  run_job: RUN,
  run_jobs: RUN,
  // Without the job's version as an argument, the call reads the job first.
  cancel_job: [getMicJob, cancelMicJob],
  cancel_jobs: [getMicJob, cancelMicJob, getMicPublicOperation],
  retry_jobs: [getMicJob, retryMicJob],
  wait_for_jobs: [getMicJob],
  show_job: [getMicJob],
  show_usage: [getMicPublicUsage],
};

const scopesOf = ({ name, endpoint }: Tool): readonly string[] =>
  (OPERATIONS[name] ?? (endpoint === undefined ? [] : [endpoint])).flatMap(({ scopesToRequest }) => scopesToRequest);

/** Requests a token for each scope, one after the other. Throws Failure if none is granted, or for any other error. */
async function findMissingScopes(tokens: Tokens): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const scope of SCOPES)
    try {
      await tokens.get([scope], createCallContext());
    } catch (error) {
      if (!(error instanceof Failure) || error.facts.kind !== "forbidden") throw error;
      if (missing.push(scope) === SCOPES.length) throw error;
    }
  return missing;
}

/** If the client lacks scopes, the fix is the setting that offers only the tools that the client can use. */
export async function checkScopes(identity: Identity, tokens: Tokens, offered: readonly Tool[]): Promise<Check> {
  try {
    const { clientId } = await identity.credentials();
    const missing = await findMissingScopes(tokens);
    const usable = offered.filter((tool) => !scopesOf(tool).some((scope) => missing.includes(scope)));
    const names = (tools: readonly Tool[]): string => tools.map(({ name }) => name).join(",");
    const scopes = missing.length === 0 ? `has all ${SCOPES.length}` : `lacks ${missing.join(", ")}`;
    if (usable.length === offered.length)
      return passedCheck("scopes", `${clientId} ${scopes}, and can use each offered tool`);
    const others = names(offered.filter((tool) => !usable.includes(tool))).replaceAll(",", ", ");
    const detail = `${clientId} ${scopes}, and cannot use ${others}. To offer only the other tools, set this variable.`;
    return { ...passedCheck("scopes", detail), fix: `MIC_TOOLS=${names(usable)}` };
  } catch (error) {
    return checkFromError("scopes", error);
  }
}
