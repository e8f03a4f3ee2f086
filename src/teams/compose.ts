// Composes a deployment from its settings. Each caller gets a runtime with the credentials of their team, or with only geography if they
// have no team.
import { countUnresolved } from "../actions/listing.ts";
import { createServiceActions } from "../actions/service-actions.ts";
import { createApiClient } from "../api-client/client.ts";
import { withConcurrencyLimit } from "../api-client/concurrency-limit.ts";
import { createTransport } from "../api-client/transport.ts";
import {
  type ApiConnection,
  createApiConnection,
  createLogging,
  createProcessContext,
  createRuntime,
} from "../cli/components.ts";
import { createCallerLog } from "../cli/log.ts";
import type { StartTelemetry } from "../cli/telemetry.ts";
import { errorMessage, notConfigured } from "../core/failure.ts";
import type { Auditor } from "../core/hooks.ts";
import { createRedactor } from "../credentials/redaction.ts";
import { createGeography } from "../geography/geography.ts";
import type { Runtime } from "../mcp/runtime.ts";
import { CONFIRMATION_TTL_SECONDS } from "../mcp/tools/confirmation.ts";
import { StartedJob } from "../toolkit/jobs/job-task.ts";
import { createResourceWatcher } from "../toolkit/resources/resource-watcher.ts";
import { createAudit, createCallerTrace, createRefusalRecorder } from "./audit.ts";
import { openDatabase } from "./database.ts";
import { createLinkedFiles } from "./downloads/links.ts";
import { createEncryptedQuestions, createEncryptedTaskIds, createEncryption, tokenSubjectOf } from "./encryption.ts";
import { listenForNotices } from "./notices.ts";
import { createHealthCheck } from "./readiness.ts";
import type { DeploymentSettings } from "./settings.ts";
import { createCooldowns } from "./tenancy/cooldowns.ts";
import { createRestoreNotice, createUpstreamKeyMapper } from "./tenancy/hooks.ts";
import {
  createTeamIdentity,
  createWorkspaceCheck,
  restrictActionsToWorkspace,
  type TeamIdentity,
} from "./tenancy/identity.ts";
import {
  createFailingActions,
  createFailingIdentity,
  createFailingTokenSource,
  noTeamFailure,
} from "./tenancy/no-team.ts";
import { createRuntimes, type RuntimeCaller, type RuntimeFactory } from "./tenancy/runtimes.ts";
import { createSecrets } from "./tenancy/secrets.ts";
import { createTeams, TEAMS_CHANNEL, type Team } from "./tenancy/teams.ts";

/** Maximum connections to one API, and the part of them that one team may use at the same time. */
const CONNECTIONS = 64;
const TEAM_CONNECTIONS = 8;
/** The derivation purpose of the secret for upstream idempotency keys. */
const UPSTREAM_KEYS = "wire";

/** Settings of a deployment. `startTelemetry` is absent if telemetry is off. */
export type Deployment = DeploymentSettings & { readonly startTelemetry?: StartTelemetry | undefined };

interface TeamParts extends ApiConnection {
  readonly team: Team;
  readonly identity: TeamIdentity;
}

export type ComposedTeams = ReturnType<typeof composeTeams>;

export function composeTeams(deployment: Deployment) {
  const { config, secretKeys, publicOrigin, inlineBytes, downloadSeconds } = deployment;
  const redactor = createRedactor();
  for (const secret of deployment.secrets) redactor.add(secret);
  const transport = createTransport({ proxies: true, connections: CONNECTIONS });
  const { log, telemetry } = createLogging(config, redactor, deployment.startTelemetry);
  const { database, journal, waiting, check, close } = openDatabase(deployment, telemetry);
  const process = createProcessContext({ config, redactor, transport, journal, log, telemetry });
  const { timing, actions } = process;
  const { now } = timing;

  const teams = createTeams(database);
  const encryption = createEncryption(secretKeys);
  const secrets = createSecrets({ encryption, now });
  const cooldowns = createCooldowns({ database, now });
  const audit = createAudit(journal, log);
  const trace = createCallerTrace();
  const traceId = (): string | undefined => telemetry?.traceFields()["trace_id"] ?? trace.id();
  const upstreamSecret = secretKeys.derive(secretKeys.first, UPSTREAM_KEYS) ?? new Uint8Array();
  let restoredAt = deployment.restoredAt;
  const journalNotice = createRestoreNotice(() => restoredAt, now);
  let unknown = 0;
  const databaseCheck = createHealthCheck({
    name: "database",
    log,
    monotonicMs: () => performance.now(),
    async run() {
      const lost = await check();
      if (lost && restoredAt === undefined)
        log.error(lost, "the database was restored, and lacks the actions of this time range");
      restoredAt ??= lost;
      const counts = await countUnresolved(await journal.open());
      unknown = counts.unknown;
      return { ...counts, ...(restoredAt && { restoredAt }) };
    },
  });

  /** Geography needs no credentials, so the whole deployment uses one base URL for it, even if its teams use several APIs. */
  async function geographyUrl(): Promise<string> {
    const baseUrl = config.baseUrl ?? (await teams.findFirstBaseUrl());
    if (baseUrl !== undefined) return baseUrl;
    throw notConfigured(
      "The MIC API is not configured: MIC_BASE_URL is not set, and no team exists.",
      "Ask the user to have the operator of this server set MIC_BASE_URL, or add a team (mic-mcp teams add).",
    );
  }
  const geographyTokens = createFailingTokenSource(
    notConfigured("Geography has no credentials.", "Call a tool of the jobs toolset."),
  );
  const geography = createGeography({
    service: createApiClient({ baseUrl: geographyUrl, tokens: geographyTokens, transport, timing, telemetry }),
    perMinute: config.geographyRate,
    shared: { open: async () => database, baseUrl: geographyUrl, budget: deployment.geographyBudget },
  });

  /** The parts of a runtime that depend on the caller and not on the team's credentials. */
  function callerParts(
    { id: caller, clientId: client, issuer, subject, groups }: RuntimeCaller,
    team: string | undefined,
    { service, redactor }: Pick<ApiConnection, "service" | "redactor">,
  ) {
    const auditor: Auditor = { caller, team: team ?? "", client, traceId };
    const labels = { ...(team !== undefined && { team }), caller, client };
    const taskSubject = tokenSubjectOf(team, caller);
    return {
      hooks: { caller, auditor, onRefusal: createRefusalRecorder(audit, auditor) },
      process: {
        ...process,
        log: createCallerLog(log, redactor, labels),
        telemetry: telemetry?.forIdentity(labels),
      },
      common: {
        geography,
        files: createLinkedFiles({
          service,
          inlineBytes,
          encryption,
          publicUrl: publicOrigin,
          seconds: downloadSeconds,
          caller,
          holder: { issuer, subject, groups: [...groups] },
          team,
          client,
          now,
        }),
        knownFiles: [],
        taskIds: createEncryptedTaskIds(encryption, taskSubject, StartedJob),
        confirmationCodec: createEncryptedQuestions(encryption, taskSubject, CONFIRMATION_TTL_SECONDS),
        notes: [],
      },
    };
  }

  const factory: RuntimeFactory<TeamParts, Runtime> = {
    openTeam(team) {
      const teamRedactor = createRedactor(redactor);
      const identity = createTeamIdentity({ team, find: teams.find, secrets, redactor: teamRedactor });
      const share = withConcurrencyLimit(transport, TEAM_CONNECTIONS);
      const hooks = { checkRequest: createWorkspaceCheck(team.workspaceId), cooldown: cooldowns.forTeam(team.name) };
      const client = createApiConnection(
        { identity, redactor: teamRedactor, transport: share, hooks },
        { timing, telemetry: telemetry?.forIdentity({ team: team.name }) },
      );
      return { ...client, team, identity };
    },

    revokeTeam: ({ identity }) => identity.revoke(),

    createTeamRuntime(parts, caller) {
      const { team, identity } = parts;
      const own = callerParts(caller, team.name, parts);
      const hooks = { ...own.hooks, upstreamKey: createUpstreamKeyMapper(upstreamSecret, caller.id), journalNotice };
      const callerActions = createServiceActions({
        actions,
        journal: journal.open,
        serviceName: identity.serviceName,
        redact: parts.redactor.redact,
        hooks,
      });
      return createRuntime(own.process, parts, {
        ...own.common,
        actions: restrictActionsToWorkspace(callerActions, team.workspaceId),
        hasJournal: async () => true,
        hooks,
      });
    },

    createRuntimeWithoutTeam(caller, why) {
      const failure = noTeamFailure(why, `${publicOrigin}/mcp`);
      const service = createApiClient({
        baseUrl: geographyUrl,
        tokens: createFailingTokenSource(failure),
        transport,
        timing,
      });
      const client = {
        identity: createFailingIdentity(failure, geographyUrl),
        service,
        redactor,
        watching: createResourceWatcher({ timing }),
      };
      const own = callerParts(caller, undefined, client);
      return createRuntime(own.process, client, {
        ...own.common,
        actions: createFailingActions(failure),
        hasJournal: async () => false,
        hooks: own.hooks,
      });
    },
  };

  const runtimes = createRuntimes({ teams, now, maxTeams: deployment.maxCachedTeams, factory });

  function onTeamChanged(name: string): void {
    runtimes
      .invalidateTeam(name)
      .catch((error: unknown) =>
        log.warn({ team: name, reason: errorMessage(error) }, "reading a changed team failed"),
      );
  }
  const notices = listenForNotices({
    urls: deployment.database.urls,
    channel: TEAMS_CHANNEL,
    onNotice: onTeamChanged,
    // A missed notice may have been about any team.
    onMissed: () => {
      for (const { team } of runtimes.getCachedTeams()) onTeamChanged(team.name);
    },
    onError: (error) => log.warn({ reason: errorMessage(error) }, "listening for notices from other instances failed"),
  });
  telemetry?.registerGauge("mic.watched.resources", () =>
    runtimes.getCachedTeams().reduce((sum, { watching }) => sum + watching.count(), 0),
  );
  telemetry?.registerGauge("mic.geography.available_requests", geography.availableRequests);
  telemetry?.registerGauge("mic.api.cooldown", () => cooldowns.longestMs() / 1_000);
  telemetry?.registerGauge("mic.database.waiting", waiting);
  telemetry?.registerGauge("mic.database.degraded", () => {
    // A scrape is a probe, too.
    void databaseCheck();
    return (databaseCheck.latest()?.status ?? "ok") === "ok" ? 0 : 1;
  });
  telemetry?.registerGauge("mic.actions.unknown", () => unknown);

  return {
    runtimeOf: runtimes.get,
    runtimeForLink: runtimes.getForLink,
    onRetired: runtimes.onRetired,
    transport,
    notices,
    encryption,
    /** Checks whether actions can be recorded, and counts the unresolved ones. */
    databaseCheck,
    log,
    redactor,
    telemetry,
    audit,
    trace,
    /** The trace id of the current request: from telemetry, or else from the caller's `traceparent`. */
    traceId,
    /** Removes the secrets of the deployment and all cached teams from a text that belongs to no team, such as a crash report. */
    redactAll: (text: string): string =>
      runtimes.getCachedTeams().reduce((clean, team) => team.redactor.redact(clean), redactor.redact(text)),
    async close(): Promise<void> {
      await audit.flush();
      await notices.close();
      await geography.close();
      await transport.close();
      await close();
    },
  };
}
