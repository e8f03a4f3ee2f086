// Composes a deployment: each caller gets a runtime with the credentials of their team, or with only geography without one.
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
import { notConfigured } from "../core/failure.ts";
import { ask, say } from "../core/text.ts";
import { createRedactor } from "../credentials/redaction.ts";
import { createGeography } from "../geography/geography.ts";
import type { Runtime } from "../mcp/runtime.ts";
import { CONFIRMATION_TTL_SECONDS } from "../mcp/tools/confirmation.ts";
import { StartedJob } from "../toolkit/jobs/job-task.ts";
import { createAudit, createCallerTrace } from "./audit/audit.ts";
import type { Auditor } from "./audit/rows.ts";
import { callerId } from "./caller.ts";
import { openDatabase } from "./database.ts";
import { createLinkedFiles, withLinkedFiles } from "./downloads/links.ts";
import type { DatabaseFigures } from "./durability.ts";
import { createEncryptedQuestions, createEncryptedTaskIds, createEncryption, tokenSubjectOf } from "./encryption.ts";
import { createRefusals } from "./frontend/refusals.ts";
import { createHealthCheck, readDegraded } from "./readiness.ts";
import type { DeploymentSettings } from "./settings.ts";
import { readTeamActions } from "./tenancy/actions.ts";
import { createActionObserver, createCallerActions } from "./tenancy/caller-actions.ts";
import { createCallers } from "./tenancy/callers.ts";
import { withConcurrencyLimit } from "./tenancy/concurrency-limit.ts";
import { createCooldowns } from "./tenancy/cooldowns.ts";
import { createFailingIdentity, createTeamIdentity, createWorkspaceCheck, noTeamFailure } from "./tenancy/identity.ts";
import { createLossGuard } from "./tenancy/lost-actions.ts";
import { createRuntimes, type RuntimeCaller } from "./tenancy/runtimes.ts";
import { createSecrets } from "./tenancy/secrets.ts";
import { createTeams, type Member, type Team } from "./tenancy/teams.ts";
import { createUpstreamSecret } from "./tenancy/upstream-secret.ts";
import type { TimeRange } from "./variables.ts";

/** Maximum connections to one API, and the part of them that one team may use at the same time. */
const CONNECTIONS = 64;
const TEAM_CONNECTIONS = 8;
/** Instances detect a change of a team within this time. */
const TEAMS_REFRESH_MS = 2_000;

/** Settings of a deployment. `startTelemetry` is absent if telemetry is off. */
export type Deployment = DeploymentSettings & { readonly startTelemetry?: StartTelemetry | undefined };

interface TeamParts extends ApiConnection {
  /** Undefined for a caller without a team. */
  readonly team: Team | undefined;
  revoke(): void;
}

export interface CallerRuntime extends Runtime {
  /** The name of the team; empty without a team. */
  readonly team: string;
}

export type ComposedTeams = ReturnType<typeof composeTeams>;

export function composeTeams(deployment: Deployment) {
  const { config, secretKeys, publicOrigin } = deployment;
  const redactor = createRedactor();
  for (const secret of deployment.secrets) redactor.add(secret);
  const transport = createTransport({ proxies: true, connections: CONNECTIONS });
  const { log, telemetry } = createLogging(config, redactor, deployment.startTelemetry);
  const { database, journal, waiting, check, readFigures, close } = openDatabase(deployment, { telemetry, onLoss });
  const process = createProcessContext({ config, redactor, transport, journal, log, telemetry });
  const { timing, actionContext } = process;
  const { now } = timing;

  const linkingTools = withLinkedFiles(process.tools);

  const teams = createTeams(database);
  const encryption = createEncryption(secretKeys);
  const secrets = createSecrets({ encryption, now });
  const cooldowns = createCooldowns(database, now);
  const recordRefusal = createRefusals({ log, telemetry, monotonicMs: () => performance.now() });
  const audit = createAudit(database, log);
  const callers = createCallers(database);
  const trace = createCallerTrace();
  const traceId = (): string | undefined => telemetry?.traceFields()["trace_id"] ?? trace.id();
  const upstreamSecret = createUpstreamSecret(database, encryption, secretKeys);
  let restoreGap = deployment.restoreGap;
  // The operator's range replaces those that were detected before the start.
  let latestLossMs = restoreGap === undefined ? 0 : now();
  function onLoss(lost: TimeRange): void {
    if (lost.to.getTime() <= latestLossMs) return;
    latestLossMs = lost.to.getTime();
    restoreGap = lost;
    log.error(lost, "the database was restored, and lacks the actions of this time range");
  }
  const lossGuard = createLossGuard(database, () => restoreGap, now);
  let unknown = 0;
  let figures: DatabaseFigures = { replicas: 0, lag: 0, connections: 0 };
  const databaseCheck = createHealthCheck({
    name: "database",
    log,
    monotonicMs: () => performance.now(),
    async run() {
      await check();
      await upstreamSecret.read();
      const counts = await (await journal.open()).countUnresolved();
      unknown = counts.unknown;
      figures = await readFigures();
      return { ...counts, ...(restoreGap && { restoreGap }) };
    },
  });

  /** Geography needs no credentials, so the whole deployment uses one base URL for it, even if its teams use several APIs. */
  async function geographyUrl(): Promise<string> {
    const baseUrl = config.baseUrl ?? (await teams.findFirstBaseUrl());
    if (baseUrl !== undefined) return baseUrl;
    throw notConfigured(
      say`The MIC API is not configured: MIC_BASE_URL is not set, and no team exists.`,
      say`${ask("Have")} the operator of this server set MIC_BASE_URL, or add a team (mic-mcp teams add).`,
    );
  }
  const noCredentials = notConfigured(say`Geography has no credentials.`, say`Call a tool of the jobs toolset.`);
  const geography = createGeography({
    service: createApiConnection(
      { identity: createFailingIdentity(noCredentials, geographyUrl), redactor, transport },
      process,
    ).api,
    perMinute: config.geographyRate,
    shared: { open: async () => database, baseUrl: geographyUrl },
  });

  function createCallerRuntime(
    parts: TeamParts,
    { id: caller, clientId: client, issuer, subject, groups }: RuntimeCaller,
  ): CallerRuntime {
    const { team, identity, api, redactor } = parts;
    const auditor: Auditor = { caller, team: team?.name ?? "", client, traceId };
    const labels = { ...(team && { team: team.name }), caller, client };
    if (team) void callers.record({ issuer, subject });
    const taskSubject = tokenSubjectOf(team?.name, caller);
    const callerProcess = {
      ...process,
      tools: linkingTools,
      log: createCallerLog(log, redactor, labels),
      telemetry: telemetry?.forIdentity(labels),
    };
    const runtime = createRuntime(callerProcess, parts, {
      actions: createCallerActions(actionContext, {
        serviceName: identity.serviceName,
        readSecret: identity.credentials,
        redact: redactor.redact,
        observer: createActionObserver(auditor, lossGuard.check),
        caller,
        readUpstreamSecret: upstreamSecret.read,
        workspaceId: team?.workspaceId,
      }),
      hasJournal: async () => team !== undefined,
      geography,
      files: createLinkedFiles({
        service: api,
        encryption,
        publicUrl: publicOrigin,
        caller,
        holder: { issuer, subject, groups: [...groups] },
        team: team?.name,
        client,
        now,
      }),
      knownFiles: [],
      taskIds: createEncryptedTaskIds(encryption, taskSubject, StartedJob),
      confirmationCodec: createEncryptedQuestions(encryption, taskSubject, CONFIRMATION_TTL_SECONDS),
      notes: [],
      // The notice is in the refusal of the first new action, and not repeated with each action.
      journalNotice: (about) => (about === "list" ? lossGuard.notice() : undefined),
      onFailedCall({ name: tool, isWrite }, { kind, status }) {
        // A refusal by the API has an HTTP status.
        if (isWrite && kind === "forbidden" && status === undefined)
          audit.write(auditor, { event: "refusal", outcome: kind, tool });
      },
    });
    return { ...runtime, team: auditor.team };
  }

  function openTeam(team: Team): TeamParts {
    const teamRedactor = createRedactor(redactor);
    const identity = createTeamIdentity({ team, find: teams.find, secrets, redactor: teamRedactor });
    const share = withConcurrencyLimit(transport, TEAM_CONNECTIONS);
    const limits = { checkRequest: createWorkspaceCheck(team.workspaceId), cooldown: cooldowns.forTeam(team.name) };
    const connection = createApiConnection(
      { identity, redactor: teamRedactor, transport: share, ...limits },
      { timing, telemetry: telemetry?.forIdentity({ team: team.name }) },
    );
    return { ...connection, team, revoke: identity.revoke };
  }

  const runtimes = createRuntimes<TeamParts, CallerRuntime>({
    teams,
    now,
    openTeam,
    openWithoutTeam(reason) {
      const identity = createFailingIdentity(noTeamFailure(reason, `${publicOrigin}/mcp`), geographyUrl);
      const connection = createApiConnection({ identity, redactor, transport }, { timing });
      return { ...connection, team: undefined, revoke: () => undefined };
    },
    createRuntime: createCallerRuntime,
  });

  let isRefreshing = false;
  const refreshTimer = setInterval(async () => {
    if (isRefreshing) return;
    isRefreshing = true;
    // The check of the database reports that it cannot be read.
    await runtimes.refresh().catch(() => undefined);
    isRefreshing = false;
  }, TEAMS_REFRESH_MS).unref();
  telemetry?.registerGauge("mic.watched.resources", () =>
    runtimes.getCachedTeams().reduce((sum, { watching }) => sum + watching.count(), 0),
  );
  telemetry?.registerGauge("mic.geography.available_requests", geography.availableRequests);
  telemetry?.registerGauge("mic.api.cooldown", () => cooldowns.longestMs() / 1_000);
  telemetry?.registerGauge("mic.database.waiting", waiting);
  telemetry?.registerGauge("mic.database.replicas", () => figures.replicas);
  telemetry?.registerGauge("mic.database.replication_lag", () => figures.lag);
  telemetry?.registerGauge("mic.database.connections", () => figures.connections);
  telemetry?.registerGauge("mic.actions.lost", () => (lossGuard.notice() === undefined ? 0 : 1));
  telemetry?.registerGauge("mic.database.degraded", () => readDegraded(databaseCheck));
  telemetry?.registerGauge("mic.actions.unknown", () => unknown);

  return {
    runtimeOf: runtimes.get,
    runtimeForLink: runtimes.getForLink,
    onRetired: runtimes.onRetired,
    /** For the operator: the unknown actions of a team with their users, and the runtime of such a user. Undefined without such a team. */
    async openForOperator(name: string) {
      const team = await teams.find(name);
      if (!team) return undefined;
      return {
        readUnknown: () => readTeamActions(database, callers, [team], "unknown"),
        runtimeOf({ issuer, subject }: Member): CallerRuntime {
          const caller = { id: callerId(issuer, subject), clientId: "mic-mcp", issuer, subject, groups: [] };
          return createCallerRuntime(openTeam(team), caller);
        },
      };
    },
    recordRefusal,
    transport,
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
      clearInterval(refreshTimer);
      await audit.flush();
      await geography.close();
      await transport.close();
      await close();
    },
  };
}
