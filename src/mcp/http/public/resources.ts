// The paths that tokens are issued for: /mcp, and /mcp/{team} for whoever belongs to several teams. Each is a resource of its own
// (RFC 9728, 3.3).
import { getOAuthProtectedResourceMetadataUrl } from "@modelcontextprotocol/server";
import { MCP_PATH } from "../routes.ts";

/** As `mic-mcp teams add` takes them. */
const TEAM_PATH = /^\/mcp\/(?<team>[A-Za-z0-9][A-Za-z0-9._-]{0,63})$/;

export interface Resource {
  readonly url: URL;
  readonly metadataUrl: string;
  readonly team: string | undefined;
}

/** Undefined: no such path. Whether there is such a team is nobody's business who has not signed in. */
export function resourceAt(publicOrigin: string, path: string): Resource | undefined {
  const team = TEAM_PATH.exec(path)?.groups?.["team"];
  if (path !== MCP_PATH && team === undefined) return undefined;
  const url = new URL(path, publicOrigin);
  return { url, metadataUrl: getOAuthProtectedResourceMetadataUrl(url), team };
}
