// Creates what a server for one user and a deployment share: for the process, for one set of client credentials, for one caller.
import { tools as allTools } from "../../tools/index.ts";
import { withActionTelemetry } from "../actions/action-telemetry.ts";
import { createActionContext } from "../actions/actions.ts";
import type { JournalHandle } from "../actions/journal-handle.ts";
import { systemTiming } from "../api-client/attempts.ts";
import { type ApiClientOptions, createApiClient } from "../api-client/client.ts";
import { withTokenTelemetry } from "../api-client/request-telemetry.ts";
import type { Transport } from "../api-client/transport.ts";
import type { Config } from "../core/config.ts";
import { isOwnerDead } from "../core/owner.ts";
import { readSkillFiles, readViewFile } from "../core/package-files.ts";
import type { Identity } from "../credentials/identity.ts";
import type { Redactor } from "../credentials/redaction.ts";
import type { TokenStore } from "../credentials/token-store.ts";
import { createTokens } from "../credentials/tokens.ts";
import type { Runtime } from "../mcp/runtime.ts";
import { createSkills } from "../mcp/skills.ts";
import { checkToolNames, offeredTools } from "../mcp/tools/offered-tools.ts";
import type { Telemetry } from "../telemetry/port.ts";
import { createRecipeOfferCache, createRetryCache } from "../toolkit/caches.ts";
import type { CompletionValue, Tool } from "../toolkit/define-tool.ts";
import { createCompletionProvider } from "../toolkit/resources/completion.ts";
import { resources } from "../toolkit/resources/index.ts";
import { createResourceWatcher } from "../toolkit/resources/resource-watcher.ts";
import type { Ports } from "../toolkit/tool-context.ts";
import { createLog } from "./log.ts";
import { observeLog, type StartTelemetry } from "./telemetry.ts";
import { version } from "./version.ts";

/** Creates the log and the telemetry of a process. `start` is undefined if telemetry is off. */
export function createLogging({ logLevel }: Config, redactor: Redactor, start: StartTelemetry | undefined) {
  const log = createLog(logLevel, redactor);
  const telemetry = start?.({ log, redactor });
  return { log: telemetry ? observeLog(log, telemetry) : log, telemetry };
}

interface ProcessContextOptions extends ReturnType<typeof createLogging> {
  readonly config: Config;
  readonly redactor: Redactor;
  readonly transport: Transport;
  readonly journal: JournalHandle;
}

export function createProcessContext({ redactor, ...options }: ProcessContextOptions) {
  const { config, journal, log } = options;
  checkToolNames(config);
  const offered = new Set<string>(offeredTools(allTools, config).map(({ name }) => name));
  return {
    ...options,
    tools: allTools,
    timing: systemTiming,
    actionContext: createActionContext({
      journal: journal.open,
      timing: systemTiming,
      monotonicMs: () => performance.now(),
      isOwnerDead,
      redact: redactor.redact,
      onJournalError: (reason) => log.error({ reason }, "writing the action journal failed"),
    }),
    skills: createSkills(readSkillFiles, (tool) => offered.has(tool)),
  };
}
export type ProcessContext = ReturnType<typeof createProcessContext>;

interface ApiConnectionOptions extends Pick<ApiClientOptions, "checkRequest" | "cooldown"> {
  readonly identity: Identity;
  readonly redactor: Redactor;
  readonly store?: TokenStore;
  readonly transport: Transport;
}

export function createApiConnection(
  { identity, redactor, store, transport, ...limits }: ApiConnectionOptions,
  { timing, telemetry }: { readonly timing: ProcessContext["timing"]; readonly telemetry?: Telemetry | undefined },
) {
  const tokenTransport = telemetry ? withTokenTelemetry(telemetry, transport) : transport;
  const tokens = createTokens({ identity, store, transport: tokenTransport, timing, redactor });
  const api = createApiClient({ baseUrl: identity.baseUrl, tokens, transport, timing, telemetry, ...limits });
  return {
    identity,
    redactor,
    tokens,
    api,
    watching: createResourceWatcher({ timing, requestedMs: api.pause.requestedMs }),
  };
}
export type ApiConnection = ReturnType<typeof createApiConnection>;

interface RuntimeOptions
  extends Pick<
      Runtime,
      "taskIds" | "confirmationCodec" | "notes" | "journalNotice" | "onFailedCall" | "requireConfigured"
    >,
    Pick<Ports, "actions" | "geography" | "files"> {
  /** Resolves with whether a journal exists, without creating one. */
  readonly hasJournal: () => Promise<boolean>;
  /** The files that can be registered as inputs, as far as they are known. */
  readonly knownFiles: readonly CompletionValue[];
}

/** Creates the runtime of one caller. Each call gets the caller's ports, so a tool cannot mix up callers. */
export function createRuntime(
  { config, log, timing, skills, telemetry, tools }: Omit<ProcessContext, "transport" | "journal" | "actionContext">,
  { identity, api, watching, redactor }: Omit<ApiConnection, "tokens">,
  { actions: ownActions, geography, files, hasJournal, knownFiles, ...runtimeOptions }: RuntimeOptions,
): Runtime {
  const actions = telemetry ? withActionTelemetry(ownActions, telemetry) : ownActions;
  const ports: Ports = {
    api,
    actions,
    geography,
    files,
    offers: createRecipeOfferCache(),
    retries: createRetryCache(),
  };
  const offered = new Map<string, Tool>(offeredTools(tools, config).map((tool) => [tool.name, tool]));
  return {
    ...runtimeOptions,
    version,
    config,
    workspaceId: identity.workspaceId,
    tools,
    offered,
    ports,
    resources: resources.filter(({ tool }) => offered.has(tool)),
    completions: createCompletionProvider({ actions, now: timing.now, files: knownFiles }),
    resourceWatcher: watching,
    skills,
    readView: readViewFile,
    redactor,
    log,
    telemetry,
    async countUnresolved() {
      if (!(await hasJournal())) return { unknown: 0, ofOtherClients: 0 };
      const found = await actions.listUnresolved();
      const unknown = found.filter(({ state }) => state === "unknown").length;
      return { unknown, ofOtherClients: await actions.countOfOtherClients() };
    },
  };
}
