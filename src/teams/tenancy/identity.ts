// Identifies a team as a client of the API. The secret is read for each token, so a rotated secret is used from the next token on. A team
// has one workspace: a request that names another one is not sent. Without a team, geography works, and other calls return the next step.
import type { EncodedRequest } from "../../api-client/encode.ts";
import { isJsonObject } from "../../contract/json.ts";
import { errorMessage, Failure, forbidden } from "../../core/failure.ts";
import { ask, forReader, join, quoted, raw, say, type Text } from "../../core/text.ts";
import { type Identity, refusePlainHttp } from "../../credentials/identity.ts";
import type { Redactor } from "../../credentials/redaction.ts";
import type { NoTeamReason } from "./runtimes.ts";
import type { Secrets } from "./secrets.ts";
import type { Member, Team, Teams } from "./teams.ts";

interface TeamIdentityOptions {
  readonly team: Team;
  readonly find: Teams["find"];
  readonly secrets: Pick<Secrets, "read">;
  readonly redactor: Redactor;
}

const removed = (name: string): Failure =>
  forbidden(
    say`Team ${quoted(name)} was removed or replaced.`,
    say`${ask("Ask")} the operator of this server for their team and connect again.`,
  );

const unreadable = (name: string, error: unknown): Failure =>
  new Failure(
    {
      kind: "upstream_unavailable",
      message: say`The client credentials of team ${quoted(name)} could not be read: ${raw(errorMessage(error))}.`,
      retryable: true,
      sideEffect: "none",
      next: say`Try again later.`,
    },
    { cause: error },
  );

export function createTeamIdentity({ team, find, secrets, redactor }: TeamIdentityOptions) {
  const { name, baseUrl, clientId, workspaceId } = team;
  let isRevoked = false;

  return {
    baseUrl: () => baseUrl,
    workspaceId: async () => workspaceId,
    // This does not depend on the secret, so a team keeps its actions while its secret cannot be read.
    serviceName: async () => JSON.stringify([baseUrl, clientId]),
    async credentials() {
      if (isRevoked) throw removed(name);
      refusePlainHttp(baseUrl);
      const current = await find(name).catch((error: unknown) => Promise.reject(unreadable(name, error)));
      const isSame =
        current?.baseUrl === baseUrl &&
        current.clientId === clientId &&
        current.workspaceId === workspaceId &&
        !isRevoked;
      if (current === undefined || !isSame) throw removed(name);
      const clientSecret = await secrets.read(current);
      redactor.add(clientSecret);
      return { clientId, clientSecret };
    },
    isLoginVerified: () => !isRevoked,
    invalidateCachedLogin: () => undefined,
    /** Call this when the team was removed: its credentials and cached tokens are refused from now on. */
    revoke(): void {
      isRevoked = true;
    },
  } satisfies Identity & { revoke(): void };
}

export const WORKSPACE_PARAMETER = "workspaceId";

/** Throws Failure `forbidden` for another workspace. */
export function refuseOtherWorkspace(given: unknown, ownWorkspaceId: string): void {
  if (given === undefined || given === null || given === ownWorkspaceId) return;
  throw forbidden(
    say`Your team can use only the workspace ${quoted(ownWorkspaceId)}. No request was sent for ${quoted(String(given))}.`,
    say`Omit ${WORKSPACE_PARAMETER}, or ${forReader("ask the user to ", "")}connect as a member of the team that has that workspace.`,
  );
}

/** Returns a check that throws Failure `forbidden` for a request whose query or body names another workspace. */
export const createWorkspaceCheck =
  (ownWorkspaceId: string) =>
  ({ path, body }: Pick<EncodedRequest, "path" | "body">): void => {
    const [, query] = path.split("?");
    if (query !== undefined)
      for (const given of new URLSearchParams(query).getAll(WORKSPACE_PARAMETER))
        refuseOtherWorkspace(given, ownWorkspaceId);
    const sent: unknown = body === "" ? undefined : JSON.parse(body);
    if (isJsonObject(sent)) refuseOtherWorkspace(sent[WORKSPACE_PARAMETER], ownWorkspaceId);
  };

/** Maximum number of paths in the error. */
const MAX_PATHS = 20;

function joinTeamStep({ issuer, subject }: Partial<Member>): Text {
  const asSubject =
    issuer !== undefined && subject !== undefined && say`, as subject ${quoted(subject)} with issuer ${issuer}`;
  return say`${ask("Have")} the operator of this server add them to a team${asSubject}. Geography works without a team.`;
}

/** Returns the Failure `forbidden` of every call that needs a team. `publicUrl`: the URL of /mcp. */
export function noTeamFailure(noTeam: NoTeamReason, publicUrl: string): Failure {
  switch (noTeam.why) {
    case "in none":
      return forbidden(
        say`You are not a member of any team, and this tool needs a team's credentials.`,
        joinTeamStep(noTeam),
      );
    case "not in it":
      return forbidden(
        say`Team ${quoted(noTeam.name)} does not exist, or you are not a member of it.`,
        joinTeamStep(noTeam),
      );
    case "in several": {
      const paths = noTeam.names.slice(0, MAX_PATHS).map((name) => raw(`${publicUrl}/${name}`));
      return forbidden(
        say`You are a member of ${noTeam.names.length} teams, and this URL does not select one.`,
        say`${ask("Connect")} to the URL of one team instead: ${join(paths, ", ")}.`,
      );
    }
  }
}

/** Creates an identity without credentials. `baseUrl`: for requests without a token. */
export function createFailingIdentity(failure: Failure, baseUrl: () => Promise<string>): Identity {
  const refuse = async (): Promise<never> => {
    throw failure;
  };
  return {
    baseUrl,
    credentials: refuse,
    serviceName: refuse,
    // This is called before the arguments are checked, so the error reports the missing team instead of an invalid argument.
    workspaceId: refuse,
    isLoginVerified: () => true,
    invalidateCachedLogin: () => undefined,
  };
}
