// The identity of a caller without a team: geography works, and calls that need credentials return an error with the next step.
import { type Failure, forbidden } from "../../core/failure.ts";
import { ask, join, quoted, raw, say, type Text } from "../../core/text.ts";
import type { Identity } from "../../credentials/identity.ts";
import type { NoTeamReason } from "./runtimes.ts";
import type { Member } from "./teams.ts";

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
