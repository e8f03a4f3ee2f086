// What each guest of a deployment is served: in a team with the team's credentials, outside all of them with geography alone.
import type { Auditor } from "../../actions/audit.ts";
import { actionsOfService } from "../../actions/of-service.ts";
import { wireKeysOf } from "../../actions/wire-keys.ts";
import { createRedactor, type Redactor } from "../../auth/redaction.ts";
import type { Seals } from "../../auth/seals.ts";
import { noTokenStore } from "../../auth/token-store.ts";
import type { Geography } from "../../geography/geography.ts";
import type { Runtime } from "../../mcp/runtime.ts";
import { ANSWER_SECONDS } from "../../mcp/tools/confirmation.ts";
import { createService } from "../../service/call.ts";
import { shareOf } from "../../service/share.ts";
import { type Audit, refusalsInto } from "../../teams/audit.ts";
import { createTeamIdentity, type TeamIdentity } from "../../teams/identity.ts";
import { actionsOutside, identityOutside, outsideFailure, tokensOutside } from "../../teams/outside.ts";
import type { Guest, Making } from "../../teams/runtimes.ts";
import { nameIn, questionsFor, taskIdsFor } from "../../teams/sealed.ts";
import type { Secrets } from "../../teams/secrets.ts";
import type { ServiceRests } from "../../teams/service-rest.ts";
import type { TeamsSettings } from "../../teams/settings.ts";
import type { Team, Teams } from "../../teams/teams.ts";
import { actionsWithin, admitOnly } from "../../teams/workspace.ts";
import { StartedJob } from "../../toolkit/jobs/job-task.ts";
import { createLinkedFiles } from "../../toolkit/links/linked-files.ts";
import { createWatching } from "../../toolkit/resources/watching.ts";
import { logOf } from "../log.ts";
import { runtimeOf } from "./caller-parts.ts";
import { type CredentialParts, credentialParts } from "./credential-parts.ts";
import type { ProcessParts } from "./process-parts.ts";

/** What one team may have at once of the connections to a service. */
const OF_ONE_TEAM = 8;

/** The parts of one team that is at hand. */
export interface TeamParts extends CredentialParts {
  readonly team: Team;
  readonly identity: TeamIdentity;
}

interface GuestOptions extends Pick<TeamsSettings, "publicOrigin" | "inlineBytes" | "downloadSeconds"> {
  readonly parts: ProcessParts;
  /** Of the deployment's own secrets. */
  readonly redactor: Redactor;
  readonly seals: Seals;
  readonly secrets: Secrets;
  readonly find: Teams["find"];
  readonly rests: ServiceRests;
  readonly geography: Geography;
  /** The base URL of whoever answers outside all teams. */
  readonly geographyUrl: () => Promise<string>;
  readonly audit: Audit;
  readonly traceId: () => string | undefined;
  /** What keys on the wire are derived from. */
  readonly wireSecret: Uint8Array;
  readonly forgotten: Runtime["forgotten"];
}

export function makingGuests(options: GuestOptions): Omit<Making<TeamParts, Runtime>, "retired"> {
  const { parts, redactor, seals, audit, geography, geographyUrl, publicOrigin } = options;
  const { log, telemetry, timing, transport, actions, journal } = parts;

  const auditorOf = ({ id: caller, clientId: client }: Guest, team = ""): Auditor => ({
    caller,
    team,
    client,
    traceId: options.traceId,
  });
  const filesFor = (guest: Guest, team: string | undefined, service: TeamParts["service"]) => {
    const { id: caller, clientId: client, issuer, subject, groups } = guest;
    return createLinkedFiles({
      service,
      inlineBytes: options.inlineBytes,
      seals,
      publicUrl: publicOrigin,
      seconds: options.downloadSeconds,
      caller,
      holder: { issuer, subject, groups: [...groups] },
      team,
      client,
      now: timing.now,
    });
  };
  const sealedFor = (who: string) => ({
    taskIds: taskIdsFor(seals, who, StartedJob),
    questions: questionsFor(seals, who, ANSWER_SECONDS),
  });

  return {
    openTeam(team) {
      const own = createRedactor(redactor);
      const { find, secrets } = options;
      const identity = createTeamIdentity({ team, find, secrets, redactor: own });
      const share = shareOf(transport, OF_ONE_TEAM);
      const admit = admitOnly(team.workspaceId);
      const cooldown = options.rests.of(team.name);
      const given = { identity, redactor: own, store: noTokenStore, transport: share, admit, cooldown };
      const made = credentialParts(given, { ...parts, telemetry: telemetry?.of({ team: team.name }) });
      return { ...made, team, identity };
    },

    endTeam: ({ identity }) => identity.end(),

    inside(of, guest) {
      const { id: caller, clientId: client } = guest;
      const { team, identity, service } = of;
      const auditor = auditorOf(guest, team.name);
      const mine = actionsOfService({
        actions,
        journal: journal.open,
        serviceName: identity.serviceName,
        caller,
        wireKey: wireKeysOf(options.wireSecret, caller),
        redact: of.redactor.redact,
        auditor,
      });
      const who = { team: team.name, caller };
      const mineAlone = { log: logOf(log, of.redactor, { ...who, client }), telemetry: telemetry?.of(who) };
      return runtimeOf({ ...parts, ...mineAlone }, of, {
        actions: actionsWithin(mine, team.workspaceId),
        hasJournal: async () => true,
        geography,
        files: filesFor(guest, team.name, service),
        known: [],
        ...sealedFor(nameIn(team.name, caller)),
        notes: [],
        forgotten: options.forgotten,
        refused: refusalsInto(audit, auditor),
      });
    },

    outside(guest, why) {
      const { id: caller, clientId: client } = guest;
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
        hasJournal: async () => false,
        geography,
        files: filesFor(guest, undefined, service),
        known: [],
        ...sealedFor(nameIn(undefined, caller)),
        notes: [],
        refused: refusalsInto(audit, auditorOf(guest)),
      });
    },
  };
}
