// What clients find out before they sign in: which resource this is and who issues its tokens (RFC 9728), and, for clients that ask
// here, that issuer's own metadata (RFC 8414).
import { oauthMetadataResponse } from "@modelcontextprotocol/server";
import type { AccessTokens } from "../oauth/access-tokens.ts";
import type { Resource } from "./resources.ts";

const AUTHORIZATION_SERVER_PATH = "/.well-known/oauth-authorization-server";
const PROTECTED_RESOURCE_PATH = "/.well-known/oauth-protected-resource";

export interface WellKnownOptions {
  readonly tokens: AccessTokens;
  readonly scopes: readonly string[];
  resourceAt(path: string): Resource | undefined;
  /** The path of the resource that the root stands for. */
  readonly rootPath: string;
}

/** The document at this path; undefined where there is none. Throws ProviderUnavailable. */
export function createWellKnown({ tokens, scopes, resourceAt, rootPath }: WellKnownOptions) {
  /** Which resource a path is about. Old clients ask for the issuer's metadata under a resource's path, too. */
  function resourceOf(path: string): Resource | undefined {
    if (path.startsWith(AUTHORIZATION_SERVER_PATH))
      return resourceAt(path.slice(AUTHORIZATION_SERVER_PATH.length) || rootPath);
    if (path.startsWith(PROTECTED_RESOURCE_PATH))
      return resourceAt(path.slice(PROTECTED_RESOURCE_PATH.length) || rootPath);
    return undefined;
  }

  return async (method: string, path: string): Promise<Response | undefined> => {
    const resource = resourceOf(path);
    if (!resource) return undefined;
    const oauthMetadata = await tokens.metadata();
    const place = path.startsWith(AUTHORIZATION_SERVER_PATH)
      ? new URL(AUTHORIZATION_SERVER_PATH, resource.url)
      : new URL(resource.metadataUrl);
    return oauthMetadataResponse(new Request(place, { method }), {
      oauthMetadata,
      resourceServerUrl: resource.url,
      scopesSupported: [...scopes],
      resourceName: "mic-mcp",
    });
  };
}
