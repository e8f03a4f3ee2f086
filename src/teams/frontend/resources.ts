// The paths that tokens are issued for: /mcp, and /mcp/{team} for whoever belongs to several teams. Each is a resource of its own
// (RFC 9728, 3.3).
import { getOAuthProtectedResourceMetadataUrl } from "@modelcontextprotocol/server";
import { MCP_PATH } from "../../mcp/http/routes.ts";

/** As `mic-mcp teams add` takes them. */
const TEAM_PATH = /^\/mcp\/(?<team>[a-z0-9][a-z0-9-]{0,62})$/;

export interface Resource {
  readonly url: URL;
  readonly metadataUrl: string;
  readonly team: string | undefined;
}

function resource(publicOrigin: string, path: string, team: string | undefined): Resource {
  const url = new URL(path, publicOrigin);
  return { url, metadataUrl: getOAuthProtectedResourceMetadataUrl(url), team };
}

export const rootResource = (publicOrigin: string): Resource => resource(publicOrigin, MCP_PATH, undefined);

/** Undefined: no such path. Whether there is such a team is nobody's business who has not signed in. */
export function resourceAt(publicOrigin: string, path: string): Resource | undefined {
  if (path === MCP_PATH) return rootResource(publicOrigin);
  const team = TEAM_PATH.exec(path)?.groups?.["team"];
  return team === undefined ? undefined : resource(publicOrigin, path, team);
}
