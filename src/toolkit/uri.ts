// This module refers to resources: by template and variables in results, by mic:// URIs in messages (docs/interface.md, "Resources").
import { percentDecode } from "../core/percent-decode.ts";

export type UriVariables = Readonly<Record<string, string>>;

/** A resource. In the template of its URI, each variable is a whole path segment: `mic://jobs/{jobId}`. */
export interface ResourceReference {
  readonly template: string;
  readonly variables: UriVariables;
}

/** The resources that results link to. */
export const references = {
  states: { template: "mic://geography/states", variables: {} },
  districts: (code: string) => ({ template: "mic://geography/states/{code}/districts", variables: { code } }),
  jobs: (workspaceId: string) => ({ template: "mic://workspaces/{workspaceId}/jobs", variables: { workspaceId } }),
  recipes: (workspaceId: string) => ({
    template: "mic://workspaces/{workspaceId}/recipes",
    variables: { workspaceId },
  }),
  job: (jobId: string) => ({ template: "mic://jobs/{jobId}", variables: { jobId } }),
  recipe: (versionId: string) => ({ template: "mic://recipes/{versionId}", variables: { versionId } }),
  input: (inputId: string) => ({ template: "mic://inputs/{inputId}", variables: { inputId } }),
  operation: (operationId: string) => ({ template: "mic://operations/{operationId}", variables: { operationId } }),
  processingRequest: (requestId: string) => ({
    template: "mic://processing-requests/{requestId}",
    variables: { requestId },
  }),
  actions: { template: "mic://actions", variables: {} },
} as const;

const VARIABLE = /\{(\w+)\}/g;

export const variableNames = (template: string): readonly string[] =>
  [...template.matchAll(VARIABLE)].flatMap(([, name]) => name ?? []);

/** Percent-encodes each variable, since ids may contain characters that end a path segment. A lone surrogate becomes U+FFFD. */
export const expand = (template: string, variables: UriVariables): string =>
  template.replace(VARIABLE, (_, name: string) =>
    encodeURIComponent((variables[name] ?? "").replace(/\p{Surrogate}/gu, "\ufffd")),
  );

const decodeSegment = (part: string): string | undefined =>
  part === "" || /[?#]/.test(part) ? undefined : percentDecode(part);

/** Returns the values of the template's variables in the URI; undefined if the URI does not match. */
export function matchTemplate(template: string, uri: string): UriVariables | undefined {
  const segments = template.split("/");
  const parts = uri.split("/");
  if (segments.length !== parts.length) return undefined;
  const variables: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const part = parts[index] ?? "";
    const name = /^\{(\w+)\}$/.exec(segment)?.[1];
    if (name === undefined && part !== segment) return undefined;
    if (name === undefined) continue;
    const value = decodeSegment(part);
    if (value === undefined) return undefined;
    variables[name] = value;
  }
  return variables;
}
