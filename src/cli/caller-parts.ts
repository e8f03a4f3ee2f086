// What is made for one caller: tools whose ports are bound to him, so that no tool learns who calls, and none can forget to ask.
import { tools } from "../../tools/index.ts";
import type { ListedAction } from "../actions/listing.ts";
import { observedActions } from "../actions/observed.ts";
import type { ServiceActions } from "../actions/of-service.ts";
import type { Geography } from "../geography/geography.ts";
import type { Runtime } from "../mcp/runtime.ts";
import { createOffers } from "../toolkit/jobs/offers.ts";
import { createRetries } from "../toolkit/jobs/retries.ts";
import type { Files, Ports } from "../toolkit/ports.ts";
import type { Candidate } from "../toolkit/resources/candidate.ts";
import { createCandidates } from "../toolkit/resources/completion.ts";
import { resources } from "../toolkit/resources/index.ts";
import { readViewFile } from "../view-files.ts";
import type { CredentialParts } from "./credential-parts.ts";
import type { ProcessParts } from "./process-parts.ts";
import { version } from "./version.ts";

export interface CallerParts
  extends Pick<Runtime, "taskIds" | "questions" | "notes" | "forgotten" | "refused" | "requireConfigured"> {
  readonly actions: ServiceActions;
  /** Whether there is a journal already; looking makes none. */
  readonly hasJournal: () => Promise<boolean>;
  readonly geography: Geography;
  readonly files: Files;
  /** Files that may be registered, as far as they are known. */
  readonly known: readonly Candidate[];
}

const isToBeResolved = ({ state, nextStep }: ListedAction): boolean => state === "unknown" && nextStep !== undefined;

export function runtimeOf(
  { config, log, timing, skills, telemetry }: Pick<ProcessParts, "config" | "log" | "timing" | "skills" | "telemetry">,
  { identity, service, watching, redactor }: Omit<CredentialParts, "tokens">,
  {
    actions: ownActions,
    hasJournal,
    geography,
    files,
    known,
    taskIds,
    questions,
    notes,
    forgotten,
    refused,
    requireConfigured,
  }: CallerParts,
): Runtime {
  const actions = telemetry ? observedActions(ownActions, telemetry) : ownActions;
  const ports: Ports = {
    service,
    actions,
    geography,
    files,
    offers: createOffers(),
    retries: createRetries(),
  };
  return {
    version,
    config,
    workspaceId: identity.workspaceId,
    requireConfigured,
    tools: tools.map((tool) => tool.create(ports)),
    ports,
    resources,
    candidates: createCandidates({ actions, now: timing.now, files: known }),
    watching,
    taskIds,
    questions,
    skills,
    readView: readViewFile,
    redactor,
    log,
    telemetry,
    countUnresolved: async () =>
      (await hasJournal()) ? (await actions.unresolved()).filter(isToBeResolved).length : 0,
    notes,
    forgotten,
    refused,
  };
}
