// From a request's bearer token to who calls, or to the challenge that tells a client how to get a better one (RFC 6750, RFC 9728).
import type { IncomingMessage } from "node:http";
import { bearerAuthChallengeResponse, OAuthError, OAuthErrorCode } from "@modelcontextprotocol/server";
import { type Caller, RIGHTS, type Right } from "../../caller.ts";
import { reasonOf } from "../../failure.ts";
import { bearerTokenOf } from "../../mcp/http/bearer.ts";
import { refusal } from "../../mcp/http/refusal.ts";
import type { Log } from "../../mcp/runtime.ts";
import type { AccessTokens } from "../oauth/access-tokens.ts";
import type { Presented } from "../oauth/claims.ts";
import { ProviderUnavailable, SigningKeyUnknown, TokenRefused } from "../oauth/refused.ts";
import { type Resource, resourceAt } from "./resources.ts";

export interface SignInOptions {
  readonly tokens: AccessTokens;
  /** An audience that is good at every path, beside the path's own URL. */
  readonly audience: string;
  readonly scopes: Readonly<Record<Right, string>>;
  readonly log: Log;
}

const RETRY_AFTER_SECONDS = 5;

/** On 401 clients would throw their login away, and it may be good. */
export function providerUnavailable(error: ProviderUnavailable, log: Log): Response {
  log.warn({ reason: reasonOf(error) }, "the identity provider cannot be asked");
  return refusal(503, "Who calls cannot be told now: the identity provider does not answer. Call again in a moment.", {
    headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
  });
}

/** No good token is refused while the provider's keys change. */
const signingKeyUnknown = ({ retryAfterSeconds: seconds }: SigningKeyUnknown): Response =>
  refusal(503, `The key that signed this token is not known yet. Call again in ${seconds} s.`, {
    headers: { "retry-after": String(seconds) },
  });

export type SignIn = ReturnType<typeof createSignIn>;

export function createSignIn({ tokens, audience, scopes, log }: SignInOptions) {
  const challenge = (code: OAuthErrorCode, message: string, { metadataUrl }: Resource, rights: readonly Right[]) =>
    bearerAuthChallengeResponse(new OAuthError(code, message), {
      requiredScopes: rights.map((right) => scopes[right]),
      resourceMetadataUrl: metadataUrl,
    });

  /** RFC 6750, 3.1: an error is named only where a token was given. */
  const invitation = ({ metadataUrl }: Resource): Response =>
    refusal(401, "This server takes requests with an access token only.", {
      headers: { "www-authenticate": `Bearer scope="${scopes.read}", resource_metadata="${metadataUrl}"` },
    });

  /** 403 with all scopes that are needed: a client asks for just those. */
  const lacking = (resource: Resource, rights: readonly Right[]): Response =>
    challenge(
      OAuthErrorCode.InsufficientScope,
      `This takes the scope ${rights.map((right) => scopes[right]).join(" ")}.`,
      resource,
      rights,
    );

  /** Whom a token may be for, beside the deployment as a whole. */
  type IsOurs = (audience: string) => boolean;

  function judged({ caller, audiences }: Presented, isOurs: IsOurs): Caller {
    if (audiences.some((each) => each === audience || isOurs(each))) return caller;
    throw new TokenRefused("The token was issued for another server.");
  }

  async function admitted(
    request: IncomingMessage,
    { address, resource, isOurs }: { address: string; resource: Resource; isOurs: IsOurs },
  ): Promise<Caller | Response> {
    const token = bearerTokenOf(request);
    if (token === undefined) return invitation(resource);
    try {
      return judged(await tokens.present(token), isOurs);
    } catch (error) {
      if (error instanceof SigningKeyUnknown) {
        log.info({ address, reason: error.message }, "a token cannot be checked yet");
        return signingKeyUnknown(error);
      }
      if (error instanceof ProviderUnavailable) return providerUnavailable(error, log);
      if (!(error instanceof TokenRefused)) throw error;
      log.info({ address, reason: error.message }, "a token was refused");
      return challenge(OAuthErrorCode.InvalidToken, error.message, resource, ["read"]);
    }
  }

  return {
    /** The caller, whatever his rights, or why nobody can tell who he is. */
    callerOf: (request: IncomingMessage, address: string, resource: Resource) =>
      admitted(request, { address, resource, isOurs: (each) => each === resource.url.href }),

    /** The same, beside the resources: a token for any of them will do. */
    callerAtAny: (request: IncomingMessage, address: string, resource: Resource) =>
      admitted(request, {
        address,
        resource,
        isOurs: (each) => {
          const { origin, pathname } = URL.canParse(each) ? new URL(each) : { origin: "", pathname: "" };
          return origin === resource.url.origin && resourceAt(origin, pathname) !== undefined;
        },
      }),

    /** Undefined where the caller has the right. */
    refusalFor({ rights }: Caller, needed: Right, resource: Resource): Response | undefined {
      return rights.has(needed) ? undefined : lacking(resource, needed === "read" ? ["read"] : RIGHTS);
    },
  };
}
