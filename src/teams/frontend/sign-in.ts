// Implements OAuth at the front end (RFC 6750, RFC 9728): a bearer token becomes its caller, or a challenge; serves the metadata documents.
import type { IncomingMessage } from "node:http";
import {
  bearerAuthChallengeResponse,
  getOAuthProtectedResourceMetadataUrl,
  OAuthError,
  OAuthErrorCode,
  oauthMetadataResponse,
} from "@modelcontextprotocol/server";
import type { Log } from "../../mcp/runtime.ts";
import { bearerTokenOf } from "../../transports/http/access.ts";
import { errorResponse, MCP_PATH, RequestRefused } from "../../transports/http/responses.ts";
import { type Caller, RIGHTS, type Right } from "../caller.ts";
import { type AccessTokens, readUnverifiedFacts, type TokenFacts } from "../oauth/access-tokens.ts";
import { TokenRefused } from "../oauth/provider.ts";
import type { SignInSettings } from "../settings.ts";
import { TEAM_NAME } from "../tenancy/teams.ts";
import type { RecordRefusal } from "./refusals.ts";

/** A path for which tokens are issued: /mcp, or /mcp/{team} for callers in several teams (RFC 9728, 3.3). */
export interface Resource {
  readonly url: string;
  readonly team: string | undefined;
}

const metadataUrlOf = ({ url }: Resource): string => getOAuthProtectedResourceMetadataUrl(new URL(url));

/** Undefined if the path is not a resource. The result does not depend on which teams exist, because only members may learn that. */
export function resourceAt(publicOrigin: string, path: string): Resource | undefined {
  const url = `${publicOrigin}${path}`;
  if (path === MCP_PATH) return { url, team: undefined };
  const team = path.startsWith(`${MCP_PATH}/`) ? path.slice(MCP_PATH.length + 1) : "";
  return TEAM_NAME.test(team) ? { url, team } : undefined;
}

/** Whether an audience is the URL of a resource of this deployment. */
export function isResourceOf(publicOrigin: string, audience: string): boolean {
  const { origin, pathname } = URL.canParse(audience) ? new URL(audience) : { origin: "", pathname: "" };
  return origin === publicOrigin && resourceAt(origin, pathname) !== undefined;
}

export interface SignInOptions extends Pick<SignInSettings, "audience" | "scopes" | "signInScopes" | "teamClaim"> {
  readonly tokens: AccessTokens;
  readonly recordRefusal: RecordRefusal;
  readonly log: Log;
}

const MAX_LOGGED = 20;
const MAX_LOGGED_CHARS = 200;
const shorten = (values: readonly string[]): readonly string[] =>
  values.slice(0, MAX_LOGGED).map((value) => value.slice(0, MAX_LOGGED_CHARS));

export function createSignIn(options: SignInOptions) {
  const { tokens, audience, scopes, signInScopes, teamClaim, recordRefusal, log } = options;

  /** Describes a token and the required values for the log. Nothing in it is secret, and it does not identify a user. */
  const describe = ({ issuer, audiences, scopes: granted, groups }: Partial<TokenFacts>, { url }: Resource) => ({
    token: {
      ...(issuer !== undefined && { issuer: shorten([issuer]) }),
      ...(audiences && { audiences: shorten(audiences) }),
      ...(granted && { scopes: shorten(granted) }),
      ...(groups && { groups: shorten(groups) }),
    },
    required: { audiences: [...new Set([url, audience])], scopes: Object.values(scopes), groupsClaim: teamClaim },
  });

  const record = (
    reason: "insufficient_scope" | "no_team",
    { id: caller, clientId: client, scopes, groups }: Caller,
    resource: Resource,
  ): void => recordRefusal(reason, { caller, client, ...describe({ scopes, groups }, resource) });

  /** Clients request exactly the scopes of a challenge next, so each one contains the scopes of the sign-in. */
  const challenge = (code: OAuthErrorCode, message: string, resource: Resource, rights: readonly Right[] = []) =>
    bearerAuthChallengeResponse(new OAuthError(code, message), {
      requiredScopes: [...new Set([...signInScopes, ...rights.map((right) => scopes[right])])],
      resourceMetadataUrl: metadataUrlOf(resource),
    });

  /** This challenge has no error code, because the request has no token (RFC 6750, 3.1). */
  const challengeWithoutToken = (resource: Resource): Response =>
    errorResponse(401, "An access token is required.", {
      headers: {
        "www-authenticate": `Bearer scope="${signInScopes.join(" ")}", resource_metadata="${metadataUrlOf(resource)}"`,
      },
    });

  const insufficientScope = (resource: Resource, rights: readonly Right[]): Response =>
    challenge(
      OAuthErrorCode.InsufficientScope,
      `This request requires the scope ${rights.map((right) => scopes[right]).join(" ")}.`,
      resource,
      rights,
    );

  /** Resolves with the caller, without a check of rights. Throws RequestRefused and ProviderUnavailable. */
  async function callerOf(request: IncomingMessage, address: string, resource: Resource): Promise<Caller> {
    const token = bearerTokenOf(request);
    if (token === undefined) {
      recordRefusal("no_token", {});
      throw new RequestRefused(challengeWithoutToken(resource));
    }
    let facts: TokenFacts | undefined;
    try {
      const caller = await tokens.verify(token);
      if (caller.audiences.some((each) => each === audience || each === resource.url)) return caller;
      facts = caller;
      throw new TokenRefused("The token was issued for another server.", "wrong_audience");
    } catch (error) {
      if (!(error instanceof TokenRefused)) throw error;
      facts ??= readUnverifiedFacts(token, teamClaim);
      recordRefusal(error.reason, { address, reason: error.message, ...describe(facts ?? {}, resource) });
      log.debug({ address, reason: error.message }, "a token was refused");
      throw new RequestRefused(challenge(OAuthErrorCode.InvalidToken, error.message, resource));
    }
  }

  return {
    callerOf,

    /** Returns the refusal of a call for which the caller lacks the right. */
    refuseForRight(caller: Caller, needed: Right, resource: Resource): Response {
      record("insufficient_scope", caller, resource);
      return insufficientScope(resource, needed === "read" ? ["read"] : RIGHTS);
    },

    recordNoTeam: (caller: Caller, resource: Resource): void => record("no_team", caller, resource),
  };
}

const AUTHORIZATION_SERVER_PATH = "/.well-known/oauth-authorization-server";
const PROTECTED_RESOURCE_PATH = "/.well-known/oauth-protected-resource";

interface WellKnownOptions {
  readonly tokens: AccessTokens;
  readonly scopes: readonly string[];
  readonly publicOrigin: string;
}

/** Serves the metadata of a resource (RFC 9728) or its issuer (RFC 8414); undefined for another path. Throws ProviderUnavailable. */
export const createWellKnown =
  ({ tokens, scopes, publicOrigin }: WellKnownOptions) =>
  async (method: string, path: string): Promise<Response | undefined> => {
    // Older clients request the issuer's metadata under the path of the resource.
    const prefix = [AUTHORIZATION_SERVER_PATH, PROTECTED_RESOURCE_PATH].find((each) => path.startsWith(each));
    if (prefix === undefined) return undefined;
    const resource = resourceAt(publicOrigin, path.slice(prefix.length) || MCP_PATH);
    if (!resource) return undefined;
    const documentUrl = prefix === AUTHORIZATION_SERVER_PATH ? new URL(prefix, resource.url) : metadataUrlOf(resource);
    return oauthMetadataResponse(new Request(documentUrl, { method }), {
      oauthMetadata: await tokens.metadata(),
      resourceServerUrl: new URL(resource.url),
      scopesSupported: [...scopes],
      resourceName: "mic-mcp",
    });
  };
