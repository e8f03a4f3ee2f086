// An identity provider in this process, based on oidc-provider: every user is logged in, and a test may sign with its keys.
import { createServer, type RequestListener } from "node:http";
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import Provider from "oidc-provider";
import { createMemoryAdapter } from "oidc-provider/lib/adapters/memory_adapter.js";
import * as z from "zod/v4";
import { memoizeUntilFailure } from "../../src/core/async.ts";
import { closeServer, listeningUrl } from "./free-port.ts";

export const SCOPES = { read: "mic:read", write: "mic:write" } as const;
/** A public client, as agents are. */
export const AGENT = { id: "agent", redirectUrl: "http://127.0.0.1/callback" } as const;
/** A client that acts on its own behalf (client credentials). */
export const ROBOT = { id: "robot", secret: "robot-secret-0123456789" } as const;
/** A client that is not registered: its id is the URL of its metadata. */
export const METADATA_URL = "https://agent.example/oauth/client.json";

/** Metadata of clients by client id, because the provider cannot fetch them here. */
const METADATA: Readonly<Record<string, object>> = {
  [METADATA_URL]: { client_name: "An agent that nobody registered", redirect_uris: [AGENT.redirectUrl] },
  "https://claude.ai/oauth/claude-code-client-metadata": {
    client_name: "Claude Code",
    redirect_uris: ["http://localhost/callback", "http://127.0.0.1/callback"],
  },
};

const MAX_STEPS = 20;
const TOKEN_SECONDS = 600;

export interface TokenOptions {
  readonly subject?: string;
  readonly scope?: string;
  readonly groups?: readonly string[];
  readonly seconds?: number;
  /** Overrides the claims; undefined removes a claim. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
}

export interface IdentityProviderOptions {
  /** Groups of a user, for tokens that it issues itself. */
  groupsOf?(subject: string): readonly string[];
}

async function generateKey(kid: string) {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), kid, alg: "RS256", use: "sig" };
  return { kid, privateKey, publicKey, jwk };
}
type Key = Awaited<ReturnType<typeof generateKey>>;

/** Generating a key takes long, so all providers of a run start with the same one. */
const firstKey = memoizeUntilFailure(() => generateKey("key-1"));

const withoutUsers = { redirect_uris: [], response_types: [] };
const publicClient = {
  application_type: "native",
  grant_types: ["authorization_code", "refresh_token"],
  token_endpoint_auth_method: "none",
};

const createConfiguration = (key: Key, { groupsOf }: IdentityProviderOptions) => ({
  // The default adapter, created explicitly to avoid its warning.
  adapter: createMemoryAdapter(0),
  jwks: { keys: [key.jwk] },
  cookies: { keys: ["of a test"] },
  scopes: ["openid", "offline_access", SCOPES.read, SCOPES.write],
  pkce: { required: () => true },
  clients: [
    { ...publicClient, client_id: AGENT.id, redirect_uris: [AGENT.redirectUrl] },
    { ...withoutUsers, client_id: ROBOT.id, client_secret: ROBOT.secret, grant_types: ["client_credentials"] },
  ],
  findAccount: (_context: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
  issueRefreshToken: () => true,
  ttl: {
    AccessToken: TOKEN_SECONDS,
    ClientCredentials: TOKEN_SECONDS,
    ...Object.fromEntries(
      ["AuthorizationCode", "Grant", "IdToken", "Interaction", "RefreshToken", "Session"].map((name) => [name, 3_600]),
    ),
  },
  extraTokenClaims: (_context: unknown, token: { accountId?: string; clientId?: string }) => ({
    groups: groupsOf?.(token.accountId ?? token.clientId ?? "") ?? [],
  }),
  interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
  fetch: async (url: string | URL) => {
    const metadata = METADATA[String(url)];
    if (!metadata) return new Response(undefined, { status: 404 });
    return Response.json({ ...publicClient, client_id: String(url), ...metadata });
  },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    registration: { enabled: true },
    clientIdMetadataDocument: { enabled: true, ack: "draft-02" },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_context: unknown, resource: string) => ({
        audience: resource,
        scope: Object.values(SCOPES).join(" "),
        accessTokenFormat: "jwt",
        accessTokenTTL: TOKEN_SECONDS,
      }),
    },
  },
});

const InteractionParameters = z.looseObject({
  client_id: z.string(),
  scope: z.string().default(""),
  resource: z.union([z.string(), z.array(z.string())]).default([]),
});

/** Logs in the user that the browser names, and grants everything that is requested. */
function createListener(provider: Provider): RequestListener {
  const serve = provider.callback();
  return (request, response) => {
    if (!request.url?.startsWith("/interaction/")) return serve(request, response);
    const accountId = /\bwho=([^;]+)/.exec(request.headers.cookie ?? "")?.[1] ?? "nobody";
    (async () => {
      const { params } = await provider.interactionDetails(request, response);
      const { client_id: clientId, scope, resource } = InteractionParameters.parse(params);
      const grant = new provider.Grant({ accountId, clientId });
      grant.addOIDCScope(scope);
      for (const each of [resource].flat()) grant.addResourceScope(each, scope);
      const grantId = await grant.save();
      await provider.interactionFinished(request, response, { login: { accountId }, consent: { grantId } });
    })().catch((error: unknown) => response.writeHead(500).end(String(error)));
  };
}

/** Follows redirects as a browser does, with the cookies in `jar`, and resolves with the first address outside of `origin`. */
export async function followRedirects(url: URL, origin: string, jar: Map<string, string>): Promise<URL> {
  let at = url;
  for (let steps = 0; at.origin === origin; steps++) {
    if (steps > MAX_STEPS) throw new Error(`the provider goes in circles: ${at.pathname}`);
    const cookie = [...jar].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(at, { redirect: "manual", headers: { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      jar.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) throw new Error(`${at.pathname}: ${response.status} ${await response.text()}`);
    at = new URL(location, at);
  }
  return at;
}

export async function startIdentityProvider(options: IdentityProviderOptions = {}) {
  const requests: string[] = [];
  let handle: RequestListener;
  let failingPath: string | undefined;
  const server = createServer((request, response) => {
    const path = request.url?.split("?")[0];
    requests.push(`${request.method} ${path}`);
    if (path === failingPath) response.writeHead(500).end();
    else handle(request, response);
  });
  const issuer = await listeningUrl(server);
  let keys = 1;
  let key = await firstKey.get();
  const publish = () => {
    handle = createListener(new Provider(issuer, createConfiguration(key, options)));
  };
  publish();

  return {
    issuer,
    requests,
    /** Answers 500 at this path from now on. */
    failAt(path: string) {
      failingPath = path;
    },
    /** Signs with a new key from now on, and publishes only that one. */
    async rotateKeys() {
      key = await generateKey(`key-${++keys}`);
      publish();
    },
    exportPublicKey: () => exportSPKI(key.publicKey),

    /** Returns a token for this audience, like those that the provider issues to users. */
    async issueToken(audience: string, token: TokenOptions = {}) {
      const { subject = "alice", scope, groups, seconds = 600, claims = {}, header = {} } = token;
      const iat = Math.floor(Date.now() / 1_000);
      const payload: JWTPayload = {
        ...{ iss: issuer, sub: subject, aud: audience, iat, exp: iat + seconds },
        client_id: AGENT.id,
        scope: scope ?? Object.values(SCOPES).join(" "),
        groups: groups ?? options.groupsOf?.(subject) ?? [],
        ...claims,
      };
      return await new SignJWT(payload)
        .setProtectedHeader({ alg: "RS256", typ: "at+jwt", kid: key.kid, ...header })
        .sign(key.privateKey);
    },

    async fetchRobotToken(resource: string, scope: string = SCOPES.read) {
      const response = await fetch(`${issuer}/token`, {
        method: "POST",
        headers: { authorization: `Basic ${Buffer.from(`${ROBOT.id}:${ROBOT.secret}`).toString("base64")}` },
        body: new URLSearchParams({ grant_type: "client_credentials", resource, scope }),
      });
      return z.object({ access_token: z.string() }).parse(await response.json()).access_token;
    },

    stop: () => closeServer(server),
    start: () => listeningUrl(server, Number(new URL(issuer).port)),
    /** Opens a URL as the user's browser does. Resolves with the first address outside the provider. */
    browse: (url: URL, accountId = "alice") => followRedirects(url, issuer, new Map([["who", accountId]])),
  };
}
export type IdentityProvider = Awaited<ReturnType<typeof startIdentityProvider>>;
