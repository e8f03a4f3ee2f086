// What a caller without a team gets at a path: geography works, and whatever takes a team's credentials says whom to ask.
import type { ServiceActions } from "../../actions/of-service.ts";
import type { Identity } from "../../auth/identity.ts";
import { Failure } from "../../failure.ts";
import { quote, word } from "../../outside.ts";
import type { TokenSource } from "../../service/call.ts";
import type { Outside } from "./runtimes.ts";
import type { Member } from "./teams.ts";

/** Beyond that the rest is left out: each is a path that he can try. */
const MAX_NAMED = 20;

const forbidden = (message: string, next: string): Failure =>
  new Failure({ kind: "forbidden", message, retryable: false, sideEffect: "none", next });

function whomToAsk({ issuer, subject }: Partial<Member>): string {
  const asWhom =
    issuer === undefined || subject === undefined ? "" : `, as the subject ${quote(subject)} of ${word(issuer)}`;
  return `Ask the user to have the operator of this server add them to a team${asWhom}. Geography works without one.`;
}

/** `publicUrl`: of /mcp itself. */
export function outsideFailure(outside: Outside, publicUrl: string): Failure {
  switch (outside.why) {
    case "in none":
      return forbidden("You are in no team here, and this takes a team's credentials.", whomToAsk(outside));
    case "not in it":
      return forbidden(`You are in no team ${quote(outside.name)} here, if there is one.`, whomToAsk(outside));
    case "in several": {
      const paths = outside.names.slice(0, MAX_NAMED).map((name) => `${publicUrl}/${name}`);
      return forbidden(
        `You are in several teams (${outside.names.length}), and this address does not say which one is meant.`,
        `Ask the user to connect to the address of one team instead: ${paths.join(", ")}.`,
      );
    }
  }
}

/** Nobody to the service. `baseUrl`: what needs no token is asked there. */
export function identityOutside(failure: Failure, baseUrl: () => Promise<string>): Identity {
  const refuse = async (): Promise<never> => {
    throw failure;
  };
  return {
    baseUrl,
    credentials: refuse,
    serviceName: refuse,
    // Asked for before arguments are judged: what is missing is a team, and no argument.
    workspaceId: refuse,
    stillLoggedIn: () => undefined,
    recheckLogin: () => undefined,
  };
}

export const tokensOutside = (failure: Failure): TokenSource => ({
  get: async () => {
    throw failure;
  },
  mayHaveEnded: () => false,
  discard: () => undefined,
});

/** Nobody's actions: there are none, and none can be made. */
export function actionsOutside(failure: Failure): ServiceActions {
  const refuse = async (): Promise<never> => {
    throw failure;
  };
  return {
    perform: refuse,
    findKnown: refuse,
    recall: refuse,
    conclude: refuse,
    list: refuse,
    unresolved: refuse,
    find: refuse,
    overview: refuse,
    about: refuse,
    argumentsOf: refuse,
  };
}
