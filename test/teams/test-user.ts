// A user of an MCP client: stores the client's credentials, and signs in with a browser that has no screen.
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { AGENT, type IdentityProvider } from "../support/identity-provider.ts";

export interface TestUserOptions {
  readonly name?: string;
  /**
   * How the provider knows the client: its owner has registered it, it registers itself, or its id is the URL of its metadata.
   */
  readonly registration: "its id" | "registering" | { readonly url: string };
}

export interface TestUser extends OAuthClientProvider {
  /** The query parameters of the browser's redirect, once for each sign-in. */
  callback(): Promise<URLSearchParams>;
  /** Requested scopes, in the order of sign-ins. */
  readonly requestedScopes: readonly string[];
}

export function createTestUser(
  provider: IdentityProvider,
  { name = "alice", registration }: TestUserOptions,
): TestUser {
  let client: StoredOAuthClientInformation | undefined =
    registration === "its id" ? { client_id: AGENT.id, issuer: provider.issuer } : undefined;
  let discovered: OAuthDiscoveryState | undefined;
  let tokens: StoredOAuthTokens | undefined;
  let verifier = "";
  let callbackUrl: Promise<URL> | undefined;
  const requestedScopes: string[] = [];
  return {
    redirectUrl: AGENT.redirectUrl,
    ...(typeof registration === "object" && { clientMetadataUrl: registration.url }),
    clientMetadata: {
      client_name: "An agent",
      application_type: "native",
      redirect_uris: [AGENT.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: "none",
    },
    clientInformation: () => client,
    saveClientInformation(value) {
      client = value;
    },
    tokens: () => tokens,
    saveTokens(value) {
      tokens = value;
    },
    discoveryState: () => discovered,
    saveDiscoveryState(value) {
      discovered = value;
    },
    saveCodeVerifier(value) {
      verifier = value;
    },
    codeVerifier: () => verifier,
    redirectToAuthorization(url) {
      requestedScopes.push(url.searchParams.get("scope") ?? "");
      callbackUrl = provider.browse(url, name);
    },
    async callback() {
      if (!callbackUrl) throw new Error("no user was redirected to sign in");
      return (await callbackUrl).searchParams;
    },
    requestedScopes,
  };
}
