// An issuer of access tokens as callers of a deployment bring them: discovery, keys, and a token for whoever is named. It has no
// sign-in: that is identity-provider.ts.
import { createServer, type Server } from "node:http";
import { exportJWK, generateKeyPair, SignJWT } from "jose";

export interface Grant {
  readonly subject: string;
  /** The teams' claims. */
  readonly groups?: readonly string[];
  /** Default: all that a deployment knows. */
  readonly scope?: string;
  readonly audience: string;
}

export interface TokenIssuer {
  readonly issuer: string;
  token(grant: Grant): Promise<string>;
  stop(): Promise<void>;
}

const LIFE = "12h";

const portOf = (server: Server): number => {
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the issuer does not listen");
  return address.port;
};

export async function startTokenIssuer(): Promise<TokenIssuer> {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const key = { ...(await exportJWK(publicKey)), kid: "of-the-tests", alg: "ES256", use: "sig" };
  let issuer = "";
  const pages = (): Readonly<Record<string, object>> => {
    const metadata = {
      issuer,
      jwks_uri: `${issuer}/jwks`,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
    };
    return {
      "/.well-known/openid-configuration": metadata,
      "/.well-known/oauth-authorization-server": metadata,
      "/jwks": { keys: [key] },
    };
  };
  const server = createServer((request, response) => {
    const page = pages()[request.url ?? ""];
    response.writeHead(page === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(page ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  issuer = `http://127.0.0.1:${portOf(server)}`;
  return {
    issuer,
    token: ({ subject, groups = [], scope = "mic:read mic:act", audience }) =>
      new SignJWT({ scope, groups, client_id: "mic-mcp-tests" })
        .setProtectedHeader({ alg: "ES256", kid: key.kid, typ: "at+jwt" })
        .setIssuer(issuer)
        .setSubject(subject)
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime(LIFE)
        .sign(privateKey),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
