// The composition root of a deployment for teams: from its settings to what each caller is served.

import { actionsOfService } from "../../actions/of-service.ts";
import { overviewOf } from "../../actions/overview.ts";
import { wireKeysOf } from "../../actions/wire-keys.ts";
import { createRedactor, type Redactor } from "../../auth/redaction.ts";
import { createSeals, type Seals } from "../../auth/seals.ts";
import { noTokenStore } from "../../auth/token-store.ts";
import type { Caller } from "../../caller.ts";
import { notConfigured, reasonOf } from "../../failure.ts";
import { createGeography } from "../../geography/geography.ts";
import type { HttpService } from "../../mcp/http/port.ts";
import { createSessionBus } from "../../mcp/http/sealed/bus.ts";
import { createSealedSessions } from "../../mcp/http/sealed/sessions.ts";
import type { Sessions } from "../../mcp/http/sessions.ts";
import type { Log, Runtime } from "../../mcp/runtime.ts";
import { ANSWER_SECONDS } from "../../mcp/tools/confirmation.ts";
import type { Timing } from "../../service/attempts.ts";
import { createService } from "../../service/call.ts";
import { shareOf } from "../../service/share.ts";
import { createTransport, type Transport } from "../../service/transport.ts";
import { createTeamIdentity, type TeamIdentity } from "../../teams/identity.ts";
import { createMembership } from "../../teams/membership.ts";
import { actionsOutside, identityOutside, outsideFailure, tokensOutside } from "../../teams/outside.ts";
import { forgottenSpan } from "../../teams/restored.ts";
import { createRuntimes, type Guest, type Outside } from "../../teams/runtimes.ts";
import { nameIn, questionsFor, taskIdsFor } from "../../teams/sealed.ts";
import { createSecrets } from "../../teams/secrets.ts";
import { createServiceRests } from "../../teams/service-rest.ts";
import { createSessionRows } from "../../teams/session-rows.ts";
import type { TeamsSettings } from "../../teams/settings.ts";
import { CHANNEL, createTeams, type Team } from "../../teams/teams.ts";
import { actionsWithin, admitOnly } from "../../teams/workspace.ts";
import type { Telemetry } from "../../telemetry/port.ts";
import { StartedJob } from "../../toolkit/jobs/job-task.ts";
import { createLinkedFiles } from "../../toolkit/links/linked-files.ts";
import { createWatching } from "../../toolkit/resources/watching.ts";
import { createLog, logOf } from "../log.ts";
import { geographyOn } from "../shared-geography.ts";
import { observedLog, type StartTelemetry } from "../telemetry.ts";
import { runtimeOf } from "./caller-parts.ts";
import { type CredentialParts, credentialParts } from "./credential-parts.ts";
import type { Engine } from "./engine.ts";
import { processParts } from "./process-parts.ts";

/** Of one service, and of those what one team may have at once. */
const CONNECTIONS = 64;
const OF_ONE_TEAM = 8;

export interface Deployment
  extends Pick<
    TeamsSettings,
    | "config"
    | "database"
    | "secretKeys"
    | "secrets"
    | "publicOrigin"
    | "teamsAtHand"
    | "geographyBudget"
    | "inlineBytes"
    | "downloadSeconds"
  > {
  /** What a restored backup has forgotten. */
  readonly restoredAt?: TeamsSettings["restoredAt"];
  /** Absent: nobody asked for telemetry. */
  readonly telemetry?: StartTelemetry | undefined;
}

/** The parts of one team that is at hand. */
interface TeamParts extends CredentialParts {
  readonly team: Team;
  readonly identity: TeamIdentity;
}

export interface ComposedTeams {
  /** What this caller is served at /mcp, or at /mcp/{team}: the same object while nothing has changed. Undefined: no such path. */
  runtimeOf(caller: Caller, team: string | undefined): Promise<Runtime | undefined>;
  /** The same for a link that was made for a caller, by his id. Undefined: the team is no more. */
  promisedTo(caller: string, team: string | undefined): Promise<Runtime | undefined>;
  /** Hears of each runtime that is given out no more, since its team has changed. */
  onRetired(hear: (runtime: Runtime) => void): void;
  /** Where calls to the service go out, and to whoever else is asked over HTTP. */
  readonly transport: Transport;
  readonly timing: Timing;
  readonly seals: Seals;
  /** The sessions of the older revisions of a caller, in a team or in none. */
  sessionsOf(service: HttpService, caller: Pick<Caller, "id">, team: string | undefined): Sessions;
  /** What /readyz says of the database. Rejects, saying why, where actions cannot be taken. */
  readiness(): Promise<object>;
  readonly log: Log;
  readonly redactor: Redactor;
  /** For the door, and to be closed behind the last answer. */
  readonly telemetry: Telemetry | undefined;
  /** The same text without the secrets of any team at hand: for what comes from nowhere in particular, such as a crash. */
  redactAll(text: string): string;
  close(): Promise<void>;
}

const WIRE = "wire";

/** Of geography: nothing of it asks for a token. */
const noCredentials = notConfigured("Geography has no credentials.", "Call a tool of the jobs.");

export function composeTeams(
  deployment: Deployment,
  { database, journal, notices, durability, waiting }: Engine,
): ComposedTeams {
  const { config, secretKeys, secrets: hidden, publicOrigin, inlineBytes, downloadSeconds } = deployment;
  const redactor = createRedactor();
  for (const secret of hidden) redactor.add(secret);
  const ownLog = createLog(config.logLevel, redactor);
  const telemetry = deployment.telemetry?.({ log: ownLog, redactor });
  const log = telemetry ? observedLog(ownLog, config.logLevel, telemetry) : ownLog;
  const transport = createTransport({ proxies: true, connections: CONNECTIONS });
  const parts = processParts({ config, log, transport, journal, redactor, telemetry });
  const { timing, actions } = parts;
  const { now } = timing;
  const { restoredAt: span } = deployment;
  const forgotten = span && forgottenSpan({ span, hours: config.actionResendHours, now });

  const teams = createTeams(database);
  const seals = createSeals(secretKeys);
  const secrets = createSecrets({ seals, now });
  const bus = createSessionBus(notices, log);
  const rests = createServiceRests({ database, now, notices });
  const wireSecret = secretKeys.derive(secretKeys.first, WIRE) ?? new Uint8Array();

  /** Geography takes no credentials: it is the deployment's, wherever the teams' services are. */
  async function geographyUrl(): Promise<string> {
    const baseUrl = config.baseUrl ?? (await teams.firstBaseUrl());
    if (baseUrl !== undefined) return baseUrl;
    throw notConfigured(
      "No service is configured: there is no MIC_BASE_URL, and no team.",
      "Set MIC_BASE_URL, or add a team (mic-mcp teams add).",
    );
  }
  const geography = createGeography({
    service: createService({
      baseUrl: geographyUrl,
      tokens: tokensOutside(noCredentials),
      transport,
      timing,
      telemetry,
    }),
    perMinute: config.geographyRate,
    ...geographyOn(database, { baseUrl: geographyUrl, budget: deployment.geographyBudget, now }),
  });

  const filesFor = (caller: string, team: string | undefined, service: TeamParts["service"]) =>
    createLinkedFiles({
      service,
      inlineBytes,
      seals,
      publicUrl: publicOrigin,
      seconds: downloadSeconds,
      caller,
      team,
      now,
    });
  const sealedFor = (who: string) => ({
    taskIds: taskIdsFor(seals, who, StartedJob),
    questions: questionsFor(seals, who, ANSWER_SECONDS),
  });

  function openTeam(team: Team): TeamParts {
    const own = createRedactor(redactor);
    const identity = createTeamIdentity({ team, find: teams.find, secrets, redactor: own });
    const share = { ...shareOf(transport, OF_ONE_TEAM), close: async () => undefined };
    const admit = admitOnly(team.workspaceId);
    const rest = rests.of(team.name);
    const given = { identity, redactor: own, store: noTokenStore, transport: share, admit, rest };
    const made = credentialParts(given, { ...parts, telemetry: telemetry?.of({ team: team.name }) });
    return { ...made, team, identity };
  }

  function inside(of: TeamParts, { id: caller, clientId: client }: Guest): Runtime {
    const { team, identity, service } = of;
    const { serviceName } = identity;
    const mine = actionsOfService({
      actions,
      journal: journal.open,
      serviceName,
      caller,
      wireKey: wireKeysOf(wireSecret, caller),
      redact: of.redactor.redact,
      auditor: { caller, team: team.name, client },
    });
    const who = { team: team.name, caller };
    const mineAlone = { log: logOf(log, of.redactor, { ...who, client }), telemetry: telemetry?.of(who) };
    return runtimeOf({ ...parts, ...mineAlone }, of, {
      actions: actionsWithin(mine, team.workspaceId),
      geography,
      files: filesFor(caller, team.name, service),
      known: [],
      ...sealedFor(nameIn(team.name, caller)),
      notes: [],
      forgotten,
    });
  }

  function outside({ id: caller, clientId: client }: Guest, why: Outside): Runtime {
    const failure = outsideFailure(why, `${publicOrigin}/mcp`);
    const service = createService({ baseUrl: geographyUrl, tokens: tokensOutside(failure), transport, timing });
    const nobody = {
      identity: identityOutside(failure, geographyUrl),
      service,
      redactor,
      watching: createWatching({ timing }),
    };
    const mineAlone = { log: logOf(log, redactor, { caller, client }), telemetry: telemetry?.of({ caller }) };
    return runtimeOf({ ...parts, ...mineAlone }, nobody, {
      actions: actionsOutside(failure),
      geography,
      files: filesFor(caller, undefined, service),
      known: [],
      ...sealedFor(nameIn(undefined, caller)),
      notes: [],
    });
  }

  const retirements = new Set<(runtime: Runtime) => void>();
  const runtimes = createRuntimes<TeamParts, Runtime>({
    membership: createMembership({ teams, now }),
    find: teams.find,
    maxTeams: deployment.teamsAtHand,
    making: {
      openTeam,
      endTeam: ({ identity }) => identity.end(),
      inside,
      outside,
      retired(runtime) {
        for (const hear of retirements) hear(runtime);
      },
    },
  });

  function changed(name: string): void {
    runtimes
      .changed(name)
      .catch((error: unknown) => log.warn({ team: name, reason: reasonOf(error) }, "a changed team cannot be read"));
  }
  // What could not be heard may have been about any of them.
  notices.on(CHANNEL, changed, () => {
    for (const { team } of runtimes.atHand()) changed(team.name);
  });
  telemetry?.gauge("mic.watched.resources", () => runtimes.atHand().reduce((sum, at) => sum + at.watching.count(), 0));
  telemetry?.gauge("mic.geography.permits", geography.permits);
  telemetry?.gauge("mic.service.rest", () => rests.longestMs() / 1_000);
  telemetry?.gauge("mic.database.waiting", waiting);

  return {
    runtimeOf: runtimes.of,
    promisedTo: runtimes.promised,
    onRetired: (hear) => void retirements.add(hear),
    transport,
    timing,
    seals,
    sessionsOf: (service, { id }, team) => {
      const whose = nameIn(team, id);
      return createSealedSessions({ service, caller: whose, seals, bus, rows: createSessionRows(database, whose) });
    },
    readiness: async () => {
      const found = await durability();
      if (!found.isDurable) throw notConfigured(`${found.trouble}.`, found.next);
      return { journal: { engine: "PostgreSQL", ...(await overviewOf(await journal.open())) } };
    },
    log,
    redactor,
    telemetry,
    redactAll: (text) => runtimes.atHand().reduce((clean, at) => at.redactor.redact(clean), redactor.redact(text)),
    async close() {
      await geography.close();
      await transport.close();
    },
  };
}
