// Who a team is to the service. Its secret is read anew for each token, so one that was rotated is used from the next token on.
import { type Identity, refusePlainHttp } from "../../auth/identity.ts";
import type { Redactor } from "../../auth/redaction.ts";
import { Failure, reasonOf } from "../../failure.ts";
import { quote } from "../../outside.ts";
import type { Secrets } from "../keys/team-secrets.ts";
import type { Team, Teams } from "./teams.ts";

export interface TeamIdentity extends Identity {
  /** The team is no more: its credentials and the tokens that are held are refused from now on. */
  end(): void;
}

interface Parts {
  readonly team: Team;
  readonly find: Teams["find"];
  readonly secrets: Pick<Secrets, "of">;
  readonly redactor: Redactor;
}

const gone = (name: string): Failure =>
  new Failure({
    kind: "forbidden",
    message: `There is no team ${quote(name)} any more, or it is another one now.`,
    retryable: false,
    sideEffect: "none",
    next: "Ask the user to ask the operator of this server for their team and connect again.",
  });

const unread = (name: string, error: unknown): Failure =>
  new Failure(
    {
      kind: "upstream_unavailable",
      message: `The client credentials of the team ${quote(name)} cannot be read now: ${reasonOf(error)}.`,
      retryable: true,
      sideEffect: "none",
      next: "Try again in a little while.",
    },
    { cause: error },
  );

export function createTeamIdentity({ team, find, secrets, redactor }: Parts): TeamIdentity {
  const { name, baseUrl, clientId, workspaceId } = team;
  let isOver = false;

  const isSame = (now: Team): boolean =>
    now.baseUrl === baseUrl && now.clientId === clientId && now.workspaceId === workspaceId;

  return {
    baseUrl: async () => baseUrl,
    workspaceId: async () => workspaceId,
    // Known without the secret: whose actions these are never hangs on what can be opened now.
    serviceName: async () => JSON.stringify([baseUrl, clientId]),
    async credentials() {
      refusePlainHttp(baseUrl);
      const now = await find(name).catch((error: unknown) => Promise.reject(unread(name, error)));
      if (isOver || now === undefined || !isSame(now)) throw gone(name);
      const clientSecret = await secrets.of(now);
      redactor.add(clientSecret);
      return { clientId, clientSecret };
    },
    stillLoggedIn: () => (isOver ? Promise.reject(gone(name)) : undefined),
    recheckLogin: () => undefined,
    end() {
      isOver = true;
    },
  };
}
