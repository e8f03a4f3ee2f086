// mic:// URIs: made from a template and its variables, and read back (docs/interface.md, "Resources").
import { isWellFormed } from "../contract/text.ts";

const VARIABLE = /\{(\w+)\}/g;

export type UriVariables = Readonly<Record<string, string>>;

export const variableNames = (template: string): readonly string[] =>
  [...template.matchAll(VARIABLE)].flatMap(([, name]) => name ?? []);

interface Segment {
  readonly text: string;
  /** Of a variable. */
  readonly name: string | undefined;
}

interface Template {
  /** All that stands before the first variable. */
  readonly prefix: string;
  readonly segments: readonly Segment[];
}

const templates = new Map<string, Template>();

function parseTemplate(template: string): Template {
  const known = templates.get(template);
  if (known) return known;
  const segments = template.split("/").map((text) => ({ text, name: /^\{(\w+)\}$/.exec(text)?.[1] }));
  const made = { prefix: template.replace(/\{.*$/, ""), segments };
  templates.set(template, made);
  return made;
}

const encodeSegment = (value: string): string =>
  encodeURIComponent(isWellFormed(value) ? value : value.replace(/\p{Surrogate}/gu, "\ufffd"));

/** Ids may hold characters that end a path segment: each goes in percent-encoded. A lone surrogate has no such form. */
export const expand = (template: string, variables: UriVariables): string =>
  parseTemplate(template)
    .segments.map(({ text, name }) => (name === undefined ? text : encodeSegment(variables[name] ?? "")))
    .join("/");

/** For ids that the service gives: one with a lone surrogate has no URI (doubt 23). */
const expandIfPossible = (template: string, variables: UriVariables): string | undefined =>
  Object.values(variables).every(isWellFormed) ? expand(template, variables) : undefined;

/** The URIs that results link to. */
export const uris = {
  states: "mic://geography/states",
  districts: (code: string) => expand("mic://geography/states/{code}/districts", { code }),
  jobs: (workspaceId: string) => expand("mic://workspaces/{workspaceId}/jobs", { workspaceId }),
  recipes: (workspaceId: string) => expand("mic://workspaces/{workspaceId}/recipes", { workspaceId }),
  job: (jobId: string) => expandIfPossible("mic://jobs/{jobId}", { jobId }),
  recipe: (versionId: string) => expand("mic://recipes/{versionId}", { versionId }),
  input: (inputId: string) => expandIfPossible("mic://inputs/{inputId}", { inputId }),
  operation: (operationId: string) => expandIfPossible("mic://operations/{operationId}", { operationId }),
  processingRequest: (requestId: string) => expand("mic://processing-requests/{requestId}", { requestId }),
  actions: "mic://actions",
} as const;

function decodeSegment(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** The template's variables in this URI; undefined when it is none of the template's. */
export function matchTemplate(template: string, uri: string): UriVariables | undefined {
  const { prefix, segments } = parseTemplate(template);
  if (!uri.startsWith(prefix)) return undefined;
  const parts = uri.split("/");
  if (segments.length !== parts.length) return undefined;
  const variables: Record<string, string> = {};
  for (const [index, { text: part, name }] of segments.entries()) {
    const value = parts[index] ?? "";
    if (name === undefined) {
      if (part !== value) return undefined;
      continue;
    }
    const text = /[?#]/.test(value) ? undefined : decodeSegment(value);
    if (text === undefined || text === "") return undefined;
    variables[name] = text;
  }
  return variables;
}
