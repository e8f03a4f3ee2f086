// This module builds mic:// URIs from templates and variables, and parses them (docs/interface.md, "Resources").
import { isWellFormed } from "../contract/scalars.ts";

const VARIABLE = /\{(\w+)\}/g;

export type UriVariables = Readonly<Record<string, string>>;

export const variableNames = (template: string): readonly string[] =>
  [...template.matchAll(VARIABLE)].flatMap(([, name]) => name ?? []);

interface Segment {
  readonly text: string;
  /** The name of the variable; undefined for fixed text. */
  readonly name: string | undefined;
}

interface Template {
  /** The text before the first variable. */
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

/** Percent-encodes each variable, since ids may contain characters that end a path segment. A lone surrogate becomes U+FFFD. */
export const expand = (template: string, variables: UriVariables): string =>
  parseTemplate(template)
    .segments.map(({ text, name }) => (name === undefined ? text : encodeSegment(variables[name] ?? "")))
    .join("/");

/** For ids from the API. Returns undefined for an id with a lone surrogate, which has no URI (open question 23). */
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

/** Returns the values of the template's variables in the URI; undefined if the URI does not match. */
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
