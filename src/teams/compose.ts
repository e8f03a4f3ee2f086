// The composition root of a deployment for teams: from its settings to what each caller is served.

import { overviewOf } from "../actions/listing.ts";
import { createRedactor, type Redactor } from "../auth/redaction.ts";
import type { Caller } from "../caller.ts";
import { createLog } from "../cli/log.ts";
import { processParts } from "../cli/process-parts.ts";
import { geographyOn } from "../cli/shared-geography.ts";
import { observedLog, type StartTelemetry } from "../cli/telemetry.ts";
import { notConfigured, reasonOf } from "../failure.ts";
import { createGeography } from "../geography/geography.ts";
import type { Log, Runtime } from "../mcp/runtime.ts";
import type { Timing } from "../service/attempts.ts";
import { createService } from "../service/call.ts";
import { createTransport, type Transport } from "../service/transport.ts";
import type { Telemetry } from "../telemetry/port.ts";
import { type Audit, createAudit } from "./audit.ts";
import type { Engine } from "./engine.ts";
import { type CallersTrace, createCallersTrace } from "./frontend/callers-trace.ts";
import { makingGuests, type TeamParts } from "./guests.ts";
import { createSeals, type Seals } from "./keys/encryption.ts";
import { createSecrets } from "./keys/team-secrets.ts";
import { forgottenSpan } from "./restored.ts";
import type { TeamsSettings } from "./settings.ts";
import { createServiceRests } from "./tenancy/cooldowns.ts";
import { type Candidate, createMembership } from "./tenancy/membership.ts";
import { tokensOutside } from "./tenancy/no-team.ts";
import { createRuntimes } from "./tenancy/runtimes.ts";
import { CHANNEL, createTeams } from "./tenancy/teams.ts";

/** To one service. */
const CONNECTIONS = 64;

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

export interface ComposedTeams {
  /** What this caller is served at /mcp, or at /mcp/{team}: the same object while nothing has changed. Undefined: no such path. */
  runtimeOf(caller: Caller, team: string | undefined): Promise<Runtime | undefined>;
  /** The same for a link that was made for a caller. Undefined: they are not a member of the team now, or there is no such team. */
  linkedTo(caller: Candidate, team: string | undefined): Promise<Runtime | undefined>;
  /** Hears of each runtime that is given out no more, since its team has changed. */
  onRetired(hear: (runtime: Runtime) => void): void;
  /** Where calls to the service go out, and to whoever else is asked over HTTP. */
  readonly transport: Transport;
  readonly timing: Timing;
  readonly seals: Seals;
  /** What /readyz says of the database. Rejects, saying why, where actions cannot be taken. */
  readiness(): Promise<object>;
  readonly log: Log;
  readonly redactor: Redactor;
  /** For the door, and to be closed behind the last answer. */
  readonly telemetry: Telemetry | undefined;
  readonly audit: Audit;
  /** For the door: the trace that a request says it belongs to. */
  readonly trace: CallersTrace;
  /** Of what is done now: telemetry's where there is any, else the caller's own. */
  traceId(): string | undefined;
  /** The same text without the secrets of any team at hand: for what comes from nowhere in particular, such as a crash. */
  redactAll(text: string): string;
  close(): Promise<void>;
}

/** What keys on the wire are derived for. */
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
  const { timing } = parts;
  const { now } = timing;
  const { restoredAt: span } = deployment;

  const teams = createTeams(database);
  const seals = createSeals(secretKeys);
  const rests = createServiceRests({ database, now, notices });

  /** Geography takes no credentials: it is the deployment's, wherever the teams' services are. */
  async function geographyUrl(): Promise<string> {
    const baseUrl = config.baseUrl ?? (await teams.firstBaseUrl());
    if (baseUrl !== undefined) return baseUrl;
    throw notConfigured(
      "No service is configured: there is no MIC_BASE_URL, and no team.",
      "Ask the user to have the operator of this server set MIC_BASE_URL, or add a team (mic-mcp teams add).",
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

  const audit = createAudit(journal, log);
  const trace = createCallersTrace();
  const traceId = (): string | undefined => telemetry?.marks()["trace_id"] ?? trace.id();
  const guests = makingGuests({
    parts,
    redactor,
    seals,
    secrets: createSecrets({ seals, now }),
    find: teams.find,
    rests,
    geography,
    geographyUrl,
    audit,
    traceId,
    wireSecret: secretKeys.derive(secretKeys.first, WIRE) ?? new Uint8Array(),
    forgotten: span && forgottenSpan({ span, now }),
    publicOrigin,
    inlineBytes,
    downloadSeconds,
  });
  const retirements = new Set<(runtime: Runtime) => void>();
  const runtimes = createRuntimes<TeamParts, Runtime>({
    membership: createMembership({ teams, now }),
    find: teams.find,
    maxTeams: deployment.teamsAtHand,
    making: {
      ...guests,
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
    linkedTo: runtimes.linkedTo,
    onRetired: (hear) => void retirements.add(hear),
    transport,
    timing,
    seals,
    readiness: async () => {
      const found = await durability();
      if (!found.isDurable) throw notConfigured(`${found.trouble}.`, found.next);
      return { journal: { engine: "PostgreSQL", ...(await overviewOf(await journal.open())) } };
    },
    log,
    redactor,
    telemetry,
    audit,
    trace,
    traceId,
    redactAll: (text) => runtimes.atHand().reduce((clean, at) => at.redactor.redact(clean), redactor.redact(text)),
    async close() {
      await audit.written();
      await geography.close();
      await transport.close();
    },
  };
}
