// A person at an MCP client: keeps what the client is given, and signs in by a browser without a screen.
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { AGENT, type IdentityProvider } from "../support/identity-provider.ts";

export interface TestUserOptions {
  readonly name?: string;
  /** How the client is known to the provider: its owner has registered it, it registers itself, or its id is the URL of its metadata. */
  readonly registration: "its id" | "registering" | { readonly url: string };
}

export interface TestUser extends OAuthClientProvider {
  /** What the browser brought back, once for each sign-in. */
  callback(): Promise<URLSearchParams>;
  /** Scopes that were asked for, in the order of sign-ins. */
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
      if (!callbackUrl) throw new Error("nobody was sent to sign in");
      return (await callbackUrl).searchParams;
    },
    requestedScopes,
  };
}
