// This module has the names of the views that a host shows to the user (MCP Apps, SEP-1865), and detects clients that show them.
import { memberAt } from "../contract/json.ts";

export const UI_EXTENSION = "io.modelcontextprotocol/ui";

/** The MIME type of all views. */
export const APP_HTML = "text/html;profile=mcp-app";

export const VIEW_NAMES = ["job", "divisions", "usage", "actions"] as const;
export type ViewName = (typeof VIEW_NAMES)[number];

export const viewUri = (name: ViewName): string => `ui://mic-mcp/${name}.html`;

/** `capabilities`: the capabilities that the client declares, in any protocol revision. */
export function declaresViews(capabilities: unknown): boolean {
  const mimeTypes = memberAt(capabilities, "extensions", UI_EXTENSION, "mimeTypes");
  return Array.isArray(mimeTypes) && mimeTypes.includes(APP_HTML);
}
