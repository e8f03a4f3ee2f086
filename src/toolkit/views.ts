// The views that a host draws for a person (MCP Apps, SEP-1865): their names, and which clients show them.

export const UI_EXTENSION = "io.modelcontextprotocol/ui";

/** The one kind of view that there is. */
export const APP_HTML = "text/html;profile=mcp-app";

export const VIEW_NAMES = ["job", "divisions", "usage", "actions"] as const;
export type ViewName = (typeof VIEW_NAMES)[number];

export const viewUri = (name: ViewName): string => `ui://mic-mcp/${name}.html`;

/** MIC_APPS, docs/interface.md, "Configuration". */
export type AppsSetting = "auto" | "always" | "never";

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};

/** `capabilities`: what the client declares, in either protocol era. */
function declaresViews(capabilities: unknown): boolean {
  const { extensions } = fieldsOf(capabilities);
  const { mimeTypes } = fieldsOf(fieldsOf(extensions)[UI_EXTENSION]);
  return Array.isArray(mimeTypes) && mimeTypes.includes(APP_HTML);
}

export const showsViews = (setting: AppsSetting, capabilities: unknown): boolean =>
  setting === "always" || (setting === "auto" && declaresViews(capabilities));
