// A user of an MCP client: stores the client's credentials, and signs in with a browser that has no screen.
import {
  Client,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport as Transport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { UnauthorizedError as OlderUnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, onTestFinished } from "vitest";
import { AGENT, type IdentityProvider } from "../support/identity-provider.ts";

/** How the provider knows the client: its owner has registered it, it registers itself, or its id is the URL of its metadata. */
export type Registration = "its id" | "registering" | { readonly url: string };

export interface TestUser extends OAuthClientProvider {
  /** The query parameters of the browser's redirect, once for each sign-in. */
  callback(): Promise<URLSearchParams>;
  /** Requested scopes, in the order of sign-ins. */
  readonly requestedScopes: readonly string[];
}

export function createTestUser(
  provider: Pick<IdentityProvider, "issuer" | "browse">,
  registration: Registration = "its id",
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
      callbackUrl = provider.browse(url);
    },
    async callback() {
      if (!callbackUrl) throw new Error("no user was redirected to sign in");
      return (await callbackUrl).searchParams;
    },
    requestedScopes,
  };
}

const identity = { name: "test", version: "1" };
const modes = { legacy: "legacy", modern: { pin: "2026-07-28" } } as const;
export type Mode = keyof typeof modes;

export const createClient = (mode: Mode): Client => new Client(identity, { versionNegotiation: { mode: modes[mode] } });

/** Connects as hosts do: the first attempt fails with UnauthorizedError, and the second one follows the sign-in. */
export async function connectSignedIn(url: string, mode: Mode, user: TestUser) {
  const createConnection = () => {
    const client = createClient(mode);
    onTestFinished(() => client.close());
    return { client, transport: new Transport(new URL(url), { authProvider: user }) };
  };
  const first = createConnection();
  await expect(first.client.connect(first.transport)).rejects.toThrow(UnauthorizedError);
  await first.transport.finishAuth(await user.callback());
  const second = createConnection();
  await second.client.connect(second.transport);
  return second;
}

/** Signs the user in with the older SDK, and returns the connected client. */
export async function signInWithOlderSdk(url: string, user: TestUser): Promise<OlderClient> {
  const createTransport = () => new OlderTransport(new URL(url), { authProvider: user });
  const first = createTransport();
  await expect(new OlderClient(identity).connect(first)).rejects.toThrow(OlderUnauthorizedError);
  await first.finishAuth((await user.callback()).get("code") ?? "");
  const client = new OlderClient(identity);
  onTestFinished(() => client.close());
  await client.connect(createTransport());
  return client;
}
